import type { TaskRun } from "./task-run.ts";
import type { Outcome } from "../kernel/input.ts";
import type { Abort } from "./abort.ts";
import type { HostedWorkflow } from "./code-host.ts";
import type { SelectableWorker } from "./worker-selector.ts";

/**
 * Runs attempts, one call each. The dispatcher manages slots, timeouts and order.
 *
 * The embedded worker runs them in this process. For a remote one, `WorkerSession` turns calls into messages: `execute` is a
 * grant, the abort signal an abort, the answer a result or a refusal.
 */
export interface Worker extends SelectableWorker {
  /** Number of attempts it would take now. The embedded worker takes any number: the pool limits it. */
  readonly freeSlots: number;
  /**
   * Runs the attempt; failures of the job are outcomes. The outcome of a synchronous job is returned without a promise.
   * After an abort the answer is ignored, but should come soon.
   */
  execute(run: TaskRun, abort: Abort): Outcome | Promise<WorkerAnswer>;
  /** Releases resources: terminates threads; disconnects a remote worker, which connects elsewhere. */
  stop(): Promise<void>;
}

export type WorkerAnswer = Outcome | Refused;

/** The worker did not run the attempt: it is requeued, and this counts as no failure. */
export interface Refused {
  readonly kind: "refused";
  readonly why: string;
}

/** A remote worker, which connects and disconnects at any time. */
export interface ConnectedWorker extends Worker {
  readonly isRemote: true;
  readonly slots: number;
  /** True while the link is open and no heartbeat was missed. */
  readonly isReachable: boolean;
  /** Epoch ms of its last message. */
  readonly lastHeardAt: number;
  /** The namespace whose tasks it runs. */
  readonly namespace: string;
  /** The qualified ids of its jobs. */
  readonly jobs: readonly string[];
  /** The workflows whose code it has. */
  readonly workflows: readonly HostedWorkflow[];
  /**
   * Time for which an attempt that has run since that monotonic time may not time out. Infinity while the worker is
   * unreachable: the state of the attempt is unknown then. After it has reconnected, the worker has one heartbeat
   * interval to report results.
   */
  timeoutGraceMs(since: number): number;
  readonly connection: WorkerConnection;
  readonly isDraining: boolean;
  /** Takes no new attempts; running ones continue. */
  drain(): void;
  /** Reserves a slot for an attempt whose start is being made durable; `execute` or `forget` follows. */
  reserve(attemptId: string): void;
  /** Follows an attempt that it runs already; `abort` stops it from now on. False if it does not run here any more. */
  follow(attemptId: string, abort: Abort): boolean;
  /**
   * Resolves when an aborted attempt has stopped, or the worker is gone. `disconnected`: it may keep running for another
   * member. Undefined if there is nothing to wait for.
   */
  whenStopped(attemptId: string): Promise<"stopped" | "disconnected"> | undefined;
  /** Frees the slot of an attempt that this member does not follow any more. If it runs, it keeps running. */
  forget(attemptId: string): void;
  /** Stops following an attempt whose owner is unknown; it is announced again as if the worker had just connected. */
  unfollow(attemptId: string): void;
  /** Lets the worker keep a result until `acknowledge`, if one comes after the attempt has timed out. */
  keepResult(attemptId: string): void;
  /** Lets the worker forget a result, which is durable or not wanted. */
  acknowledge(attemptId: string): void;
}

/**
 * One connection of a worker to a member. `since` is the sequence number of its first hello, so that members can tell which
 * of two connections is the later one.
 */
export interface WorkerConnection {
  readonly worker: string;
  readonly since: number;
}

export function isConnected(worker: Worker): worker is ConnectedWorker {
  return worker.isRemote;
}

/** A connected worker, and how many attempts it runs for this process. */
export interface ConnectedOverview {
  readonly worker: ConnectedWorker;
  readonly runningTasks: number;
}
