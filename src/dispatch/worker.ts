import type { TaskRun } from "./task-run.ts";
import type { Outcome } from "../kernel/input.ts";
import type { Abort } from "./abort.ts";

/**
 * Runs attempts, one call each. Slots, timeouts and order are the dispatcher's.
 *
 * The embedded worker is called, and a remote one is written to, but both are this interface: what is a call here is a
 * message there (`WorkerSession`). `execute` is a grant, the abort signal an order to stop, the answer a result or a
 * refusal.
 */
export interface Worker {
  /** Who ran it, as history tells it. */
  readonly address: string;
  /** It has a process of its own, which outlives this one. Every remote worker is a `ConnectedWorker`. */
  readonly isRemote: boolean;
  /** How many attempts it would take now. The embedded worker takes any number: the pool's size is its limit. */
  readonly freeSlots: number;
  hasJob(id: string): boolean;
  /**
   * Whatever goes wrong in the job is an outcome. A job that ends at once is answered at once, without a promise.
   * After an abort the answer is not used, but it should come soon.
   */
  execute(run: TaskRun, abort: Abort): Outcome | Promise<Answer>;
  /** Gives back what it holds: threads are ended, whatever they do; a remote worker is told to connect elsewhere. */
  stop(): Promise<void>;
}

export type Answer = Outcome | Refused;

/** The worker did not take the attempt: it goes back to the queue, and nothing is counted against it. */
export interface Refused {
  readonly kind: "refused";
  readonly why: string;
}

/** A worker that has come to the dispatcher from outside and may leave it again. */
export interface ConnectedWorker extends Worker {
  readonly isRemote: true;
  readonly slots: number;
  /** It has missed no beat, and its link is open. */
  readonly isReachable: boolean;
  /** Epoch ms of its last message. */
  readonly lastHeardAt: number;
  /** Ids of the jobs that it has. */
  readonly jobs: readonly string[];
  /**
   * For how long no attempt that it has run since that moment, on the monotonic clock, may time out. Infinity while it is
   * out of touch: then nothing is known of the attempt, and it may be lost. When it is back it has a beat to report results.
   */
  timeoutGraceMs(since: number): number;
  readonly connection: WorkerConnection;
  readonly isDraining: boolean;
  /** It is given nothing more; what it runs goes on. */
  drain(): void;
  /** Keeps a slot for an attempt whose start is being made durable; `execute` or `forget` follows. */
  reserve(attemptId: string): void;
  /** The attempt, which it runs already, is wanted here: this is what stops it from now on. False: it is not here any more. */
  follow(attemptId: string, abort: Abort): boolean;
  /**
   * Of an attempt that was just told to stop: resolves when it has, or the worker is gone. `sent away`: it may go on, with
   * another member. Undefined if there is nothing to wait for.
   */
  whenStopped(attemptId: string): Promise<"stopped" | "disconnected"> | undefined;
  /** Nobody here has to do with the attempt any more. If it runs, it runs on. */
  forget(attemptId: string): void;
  /** Whoever wanted the attempt here does not any more, but somebody else may: it is as if the worker had just brought it. */
  release(attemptId: string): void;
  /** The attempt's result is durable: it need not be sent again. */
  acknowledge(attemptId: string): void;
}

/**
 * One of a worker's connections, to whichever member. A later one began with a later sign of life, so that members can tell
 * who has it now.
 */
export interface WorkerConnection {
  readonly worker: string;
  readonly since: number;
}

export function isConnected(worker: Worker): worker is ConnectedWorker {
  return worker.isRemote;
}
