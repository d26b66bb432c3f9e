/** The progress of a running attempt, as its job reports it. Kept in memory only. */
export interface TaskProgress {
  /** The completed fraction, from 0 to 1. */
  readonly fraction: number;
  readonly done?: number;
  readonly total?: number;
  readonly message?: string;
}
