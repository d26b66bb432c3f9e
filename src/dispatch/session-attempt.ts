import type { Answer } from "./worker.ts";
import type { AttemptDescriptor } from "./attempt-descriptor.ts";
import type { Grant } from "./session-message.ts";

/** An attempt that a remote worker runs, or is about to, seen from the member. */
export class SessionAttempt {
  readonly descriptor: AttemptDescriptor;
  readonly outcome: Promise<Answer>;
  readonly settle: (answer: Answer | Promise<Answer>) => void;
  readonly fail: (error: unknown) => void;
  /** Undefined until it is sent; 0 if the worker brought it along from another connection. */
  grant: number | undefined;
  /** Kept until the worker has shown that it has it. */
  message: Grant | undefined;
  /** The worker has said that it runs. */
  isConfirmed: boolean;
  /** Somebody here wants it. */
  isFollowed: boolean;
  /** Says that the worker has brought it along: said again with each sign of life until somebody knows what to do. */
  announce: (() => void) | undefined;

  constructor(descriptor: AttemptDescriptor, origin: "granted" | "announced") {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
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
