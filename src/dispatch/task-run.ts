import type { Execution } from "../kernel/event.ts";
import type { Outcome } from "../kernel/input.ts";

/** Which attempt it is: of what, by what job, and in which domain. */
export interface AttemptIdentity {
  /** Slots are sets of these, never counters. */
  readonly attemptId: string;
  readonly instanceId: string;
  readonly workflowName: string;
  readonly taskName: string;
  /** The task's number in its instance. */
  readonly task: number;
  readonly attempt: number;
  /** Of the instance. */
  readonly generation: number;
  /** The job's registered id. */
  readonly job: string;
  readonly domain: string;
  /** W3C trace context of whoever started the instance. */
  readonly traceparent?: string | undefined;
}

/** One attempt on its way to a worker: what the dispatcher orders by, and what the worker needs to run it. */
export interface TaskRun extends AttemptIdentity {
  /** JSON text. */
  readonly params: string;
  /** Lower goes first within a domain: the sub-task rule. */
  readonly rank: number;
  /** More goes first within a rank. */
  readonly successors: number;
  readonly timeoutMs: number;
  /** How often this attempt was lost already; one that was lost twice runs with no other such beside it. */
  readonly interruptions: number;
  /** Lost with its process once more, it fails: so it gets its first moments to itself. */
  readonly isLastTry?: boolean;
  /** Its start is to be durable before the job runs, wherever that is, so that a job that kills its process is counted. */
  readonly isCautious: boolean;
  /**
   * Resolves when the start, of which the owner has just heard, is durable. Awaited before the job of a cautious run is
   * called, and before any run goes to a remote worker, so that whoever takes the instance over knows where to look. If
   * it rejects, the job does not run and nothing more is told.
   */
  confirmStart(): Promise<void>;
  /** The instance's committed context and the outputs of what the task waited for, as the attempt starts. */
  readonly inputs: () => TaskInputs | Promise<TaskInputs>;
  readonly owner: TaskOwner;
}

/** JSON texts by key and by task name. */
export interface TaskInputs {
  readonly context: Readonly<Record<string, string>>;
  readonly outputs: Readonly<Record<string, string>>;
}

/** Whoever is told how a run goes on. Told at most once of an end; nothing is told after an abort. */
export interface TaskOwner {
  /** Told again if the worker did not take it and it starts on another: what counts is that it has started. */
  started(run: TaskRun, execution: Required<Execution>): void;
  /**
   * Payloads in the outcome are plain JSON text, whatever their size. `acknowledge` is to be called when the outcome is
   * durable, or is not wanted any more: it comes with the result of a remote worker, which keeps it until then, and with
   * that of a suspect in this process, which stays isolated until then.
   */
  ended(run: TaskRun, outcome: Outcome, execution: Execution, acknowledge?: () => void): void;
  /** Taken back by `withdraw` before it started; or adopted, and then stopped in good order by its worker. */
  withdrawn(run: TaskRun): void;
}
