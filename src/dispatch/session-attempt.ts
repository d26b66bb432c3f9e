import type { ConnectedWorker, WorkerAnswer } from "./worker.ts";
import type { AttemptDescriptor } from "./attempt-descriptor.ts";
import type { Grant } from "./session-message.ts";

/** The member's record of an attempt that a remote worker runs or is about to run. */
export class SessionAttempt {
  readonly descriptor: AttemptDescriptor;
  readonly outcome: Promise<WorkerAnswer>;
  readonly settle: (answer: WorkerAnswer | Promise<WorkerAnswer>) => void;
  readonly fail: (error: unknown) => void;
  /** The number of its grant: undefined until it is sent; 0 if it comes from an earlier connection. */
  grant: number | undefined;
  /** The grant message, kept for repetition until the worker has confirmed it. */
  message: Grant | undefined;
  /** True if the worker has listed it in a heartbeat. */
  isConfirmed: boolean;
  /** True if the dispatcher of this member follows it. */
  isFollowed: boolean;
  /** Announces it again; called with each heartbeat until it is adopted or declined. */
  announce: (() => void) | undefined;

  constructor(descriptor: AttemptDescriptor, origin: "granted" | "announced") {
    const { promise, resolve, reject } = Promise.withResolvers<WorkerAnswer>();
    this.descriptor = descriptor;
    this.outcome = promise;
    this.settle = resolve;
    this.fail = reject;
    this.grant = origin === "announced" ? 0 : undefined;
    this.isConfirmed = origin === "announced";
    this.isFollowed = origin === "granted";
  }

  get attemptId(): string {
    return this.descriptor.attemptId;
  }

  confirm(): void {
    this.isConfirmed = true;
    this.message = undefined;
  }
}

export interface AnnouncedAttempt {
  readonly worker: ConnectedWorker;
  readonly descriptor: AttemptDescriptor;
  /** The outcome for `Dispatcher.adopt`; settled at once if the attempt has ended. */
  readonly outcome: Promise<WorkerAnswer>;
  /** Makes the worker stop the attempt, or forget its result, because no owner wants it. */
  decline(): void;
}
