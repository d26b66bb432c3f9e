/** Kind of user code that occupies the event loop: the code of a workflow, a decision of a DAG, or an inline job. */
export type LoopWorkKind = "code" | "decision" | "job";

export interface LoopWork {
  readonly kind: LoopWorkKind;
  readonly instanceId: string;
  readonly workflowName: string;
  /** The name of a task, or how many steps the code of a workflow has taken. */
  readonly step: string;
}

/** Is told which users' code runs on the event loop, so that a watchdog can name it while the loop is blocked. */
export interface LoopWatch {
  /** Users' code is about to be called. Gives the number of the work, for the calls below. */
  enter(kind: LoopWorkKind, instanceId: string, workflowName: string, step: string): number;
  /** Promises that the work awaits are about to be settled: what runs because of them belongs to it. */
  follow(work: number): void;
  /** The call has returned, and the work goes on with a promise. Gives the number by which it has to leave. */
  suspend(work: number): number;
  leave(work: number): void;
}
