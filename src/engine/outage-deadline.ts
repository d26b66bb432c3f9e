import type { Clock, Timer } from "../base/clock.ts";
import { EngineError, messageOf } from "../base/error.ts";

/** Time a caller waits once the engine knows that the store takes no writes. */
export const outageAnswerMs = 10_000;

interface Caller {
  readonly what: string;
  readonly reject: (error: EngineError) => void;
}

/**
 * Rejects callers whose write is under way while the store takes no writes. The write itself is not given up: it may
 * have landed, or land when the store is back, so the outcome is unknown.
 */
export class OutageDeadline {
  readonly #clock: Clock;
  readonly #callers = new Set<Caller>();
  #problem: unknown;
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Settles as `work` does; `CALL_UNANSWERED` if an outage lasts too long: unlike `STORE_UNAVAILABLE` it says that the write may have landed. */
  bound<Result>(what: string, work: Promise<Result>): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const caller: Caller = { what, reject };
    this.#callers.add(caller);
    this.#arm();
    work.then(
      (result) => {
        this.#callers.delete(caller);
        resolve(result);
      },
      (error: unknown) => {
        this.#callers.delete(caller);
        reject(error);
      },
    );
    return promise;
  }

  /** Undefined when the store takes writes again. */
  onHealth(problem: unknown): void {
    this.#problem = problem;
    if (problem === undefined) this.#disarm();
    else this.#arm();
  }

  /** A stopped engine closes its store, which looks like an outage: no timer is set from then on. */
  stop(): void {
    this.#isStopped = true;
    this.#disarm();
  }

  /** A timer keeps the process alive, so it is set only while a caller waits during an outage. */
  #arm(): void {
    if (this.#isStopped || this.#problem === undefined || this.#callers.size === 0) return;
    this.#timer ??= this.#clock.after(outageAnswerMs, () => this.#answerAll());
  }

  #disarm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #answerAll(): void {
    this.#timer = undefined;
    const callers = [...this.#callers];
    this.#callers.clear();
    for (const { what, reject } of callers) reject(unknownOutcome(what, this.#problem));
  }
}

function unknownOutcome(what: string, problem: unknown): EngineError {
  const message = `the store does not take writes, and whether ${what} is accepted is not known yet: it may still be when the store is back; ask again for the same id or key (${messageOf(problem)})`;
  return new EngineError("CALL_UNANSWERED", message, { cause: problem });
}
