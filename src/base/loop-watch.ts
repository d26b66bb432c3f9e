/** Kind of user code that occupies the event loop: the code of a workflow, a decision of a DAG, or an inline job. */
export type LoopWorkKind = "code" | "decision" | "job";

export interface LoopWork {
  readonly kind: LoopWorkKind;
  readonly instanceId: string;
  readonly workflowName: string;
  /** The name of a task, or how many steps the code of a workflow has taken. */
  readonly step: string;
}

/** Tracks which users' code runs on the event loop, so that a watchdog can name it while the loop is blocked. */
export interface LoopWatch {
  /** Called when users' code is about to be called. Returns the number of the work, for the calls below. */
  enter(kind: LoopWorkKind, instanceId: string, workflowName: string, step: string): number;
  /**
   * Called when promises that the work awaits are about to be settled: what runs because of them belongs to the work.
   */
  follow(work: number): void;
  /**
   * Called when the call has returned a promise that is still pending. Returns the number with which the work has to
   * leave.
   */
  suspend(work: number): number;
  leave(work: number): void;
}
