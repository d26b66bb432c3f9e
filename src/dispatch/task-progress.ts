/** How far the job of a running attempt is, as it reports itself. Kept in memory only. */
export interface TaskProgress {
  /** From 0 to 1. */
  readonly fraction: number;
  readonly done?: number;
  readonly total?: number;
  readonly message?: string;
}

/** Never throws, and never waits. */
export type OnProgress = (attemptId: string, progress: TaskProgress) => void;
