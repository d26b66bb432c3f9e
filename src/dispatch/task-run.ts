import type { Execution } from "../kernel/event.ts";
import type { Outcome } from "../kernel/input.ts";

/** One attempt on its way to a worker: what the dispatcher orders by, and what the worker needs to run it. */
export interface TaskRun {
  /** Slots are sets of these, never counters. */
  readonly attemptId: string;
  readonly instanceId: string;
  readonly workflowName: string;
  readonly taskName: string;
  readonly attempt: number;
  /** The job's registered id. */
  readonly job: string;
  /** JSON text. */
  readonly params: string;
  readonly domain: string;
  /** Lower goes first within a domain: the sub-task rule. */
  readonly rank: number;
  /** More goes first within a rank. */
  readonly successors: number;
  readonly timeoutMs: number;
  /** How often this attempt was lost already; one that was lost twice runs with no other such beside it. */
  readonly interruptions: number;
  /** Lost with its process once more, it fails: so it gets its first moments to itself. */
  readonly isLastChance?: boolean;
  /**
   * Await this before the job runs: its start is made durable first, so that a job that kills its process is counted.
   * The owner has heard of the start by then. If it rejects, the job does not run and nothing more is told.
   */
  readonly confirmStart?: () => Promise<void>;
  /** The instance's committed context and the outputs of what the task waited for, as the attempt starts. */
  readonly inputs: () => TaskInputs | Promise<TaskInputs>;
  readonly owner: TaskOwner;
}

/** JSON texts by key and by task name. */
export interface TaskInputs {
  readonly context: Readonly<Record<string, string>>;
  readonly outputs: Readonly<Record<string, string>>;
}

/** Whoever is told how a run goes on. Told at most once of each; nothing is told after an abort. */
export interface TaskOwner {
  started(run: TaskRun, execution: Required<Execution>): void;
  /** Payloads in the outcome are plain JSON text, whatever their size. */
  ended(run: TaskRun, outcome: Outcome, execution: Execution): void;
  /** Taken back by `withdraw` before it started. */
  withdrawn(run: TaskRun): void;
}
