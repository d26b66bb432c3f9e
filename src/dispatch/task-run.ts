import type { Execution } from "../kernel/event.ts";
import type { Outcome } from "../kernel/input.ts";
import type { GrantFence } from "./grant-fence.ts";
import type { WorkerSelector } from "./worker-selector.ts";

/** Identifies an attempt, with its task, job and domain. */
export interface AttemptIdentity {
  /** The id under which slots are counted. */
  readonly attemptId: string;
  readonly instanceId: string;
  readonly workflowName: string;
  readonly taskName: string;
  /** The task's number in its instance. */
  readonly task: number;
  readonly attempt: number;
  /** The generation of the instance. */
  readonly generation: number;
  /** The job's registered id. */
  readonly job: string;
  readonly domain: string;
  /** W3C trace context of whoever started the instance. */
  readonly traceparent?: string | undefined;
}

/** A task by its name, with its instance: the names that it uses are those of the instance's namespace. */
export type TaskOfInstance = Pick<AttemptIdentity, "instanceId" | "taskName">;

/** An attempt for the dispatcher: its place in the order, and what a worker needs to run it. */
export interface TaskRun extends AttemptIdentity, WorkerSelector {
  /** JSON text. */
  readonly params: string;
  /** Lower ranks start first within a domain: sub-tasks go before others. */
  readonly rank: number;
  /** Tasks with more successors start first within a rank. */
  readonly successors: number;
  readonly timeoutMs: number;
  /** Time without a heartbeat after which its worker ends it as timed out; undefined if none is expected. */
  readonly heartbeatTimeoutMs?: number | undefined;
  /** The number of times this attempt was lost. Attempts that were lost twice run one at a time. */
  readonly interruptions: number;
  /** The attempt fails if it is lost once more, so nothing else starts during its first moments. */
  readonly isLastTry?: boolean;
  /**
   * True if the start must be durable before the job runs, so that the loss is counted if the job kills its process.
   */
  readonly isCautious: boolean;
  /** True once the shard of its instance is closing, and another member will run it: it is not queued here again. */
  readonly isHandedOver?: boolean;
  /** True while its instance is paused, or about to be: it does not go to a worker, nor back to the queue. */
  readonly isPaused?: boolean;
  /** True if a slot of another member may run it: it belongs to an instance of a shard. */
  readonly travels?: boolean;
  /** True for a reservation, which takes a slot for an attempt of another member: `confirmStart` resolves with the grant. */
  readonly awaitsGrant?: boolean;
  /** The epoch of its shard; absent for a task of no shard. */
  readonly fence?: GrantFence;
  /**
   * Resolves when the start that `listener` was notified of is durable. Awaited before the job of a cautious run is called, and
   * before any run goes to a remote worker, so that a new owner of the instance knows where to look for it. If it rejects,
   * the job does not run and the listener is not notified any more.
   */
  confirmStart(): Promise<void>;
  /** The committed context of the instance and the outputs of the task's dependencies at the start of the attempt. */
  readonly inputs: () => TaskInputs | Promise<TaskInputs>;
  /** The token by which the attempt can be completed from outside; undefined for a task of no instance. */
  readonly completionToken: string | undefined;
  readonly listener: AttemptListener;
}

/** JSON texts by key and by task name. */
export interface TaskInputs {
  readonly context: Readonly<Record<string, string>>;
  readonly outputs: Readonly<Record<string, string>>;
  /** The item that an attempt of a map is about. */
  readonly item?: TaskItem;
  /** The details of the last heartbeat that an earlier run of the task has left: JSON text. */
  readonly heartbeat?: string;
}

/** An item of a map: its place in the list, and its value as JSON text. */
export interface TaskItem {
  readonly index: number;
  readonly value: string;
}

/** Notified about a run: of one end at most, and of nothing after an abort. */
export interface AttemptListener {
  /**
   * Called when the run starts; again if the worker refused it and it starts on another. A job in this process that ends
   * inside its call has no start of its own: `onEnded` says when it started. The start of a cautious run comes before its
   * job is called.
   */
  onStarted(run: TaskRun, execution: Required<Execution>): void;
  /**
   * Called when the run has ended. Payloads in the outcome are plain JSON text, whatever their size. The listener calls
   * `acknowledge` when the outcome is durable or not wanted any more: a remote worker keeps its result until then, and a
   * suspect in this process stays isolated until then.
   */
  onEnded(run: TaskRun, outcome: Outcome, execution: Execution, acknowledge?: () => void): void;
  /**
   * Called when `withdraw` removed the run before its start. Called also when its worker stopped and returned it, if it was
   * adopted, or has sent details with a heartbeat, or its instance is paused, or its shard moves. `heartbeat` are the last
   * details that it sent.
   */
  onWithdrawn(run: TaskRun, heartbeat?: string): void;
  /**
   * Called when the run was stopped with this process, whose dispatcher shuts down, with the details of its last heartbeat.
   * Runs without details are stopped in silence.
   */
  onStopped?(run: TaskRun, heartbeat: string): void;
}
