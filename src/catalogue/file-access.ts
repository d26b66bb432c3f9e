import type { Clock } from "../base/clock.ts";
import { EngineError } from "../base/error.ts";
import { systemClock } from "../engine/system-clock.ts";

/** Default time limit; a healthy file system answers in milliseconds. */
const defaultLimitMs = 10_000;

/**
 * Runs operations on a file system that may stop answering, such as NFS: one at a time, each with a time limit. An
 * operation that is overdue cannot be aborted, and it occupies a thread of the process; until it ends, every other one is
 * refused at once, so only one thread is blocked, and no caller waits.
 */
export class FileAccess {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #limitMs: number;
  #last: Promise<unknown> = Promise.resolve();
  #overdue: string | undefined;

  constructor(path: string, options: { clock?: Clock; limitMs?: number } = {}) {
    this.#path = path;
    this.#clock = options.clock ?? systemClock;
    this.#limitMs = options.limitMs ?? defaultLimitMs;
  }

  /** True if an operation has exceeded its limit and has not ended yet. */
  get isOverdue(): boolean {
    return this.#overdue !== undefined;
  }

  /** Resolves with the operation's result. `FOLDER_UNRESPONSIVE` after the limit, and at once while an earlier one is overdue. */
  run<T>(what: string, operation: () => Promise<T>, limitMs = this.#limitMs): Promise<T> {
    const mine = this.#last.then(() => this.#start(what, operation, limitMs));
    // The caller receives the error; the next operation begins either way.
    this.#last = mine.catch(() => undefined);
    return mine;
  }

  async #start<T>(what: string, operation: () => Promise<T>, limitMs: number): Promise<T> {
    if (this.#overdue !== undefined) throw this.#refusal(`is still busy with an earlier call (${this.#overdue})`);
    const late = Promise.withResolvers<never>();
    const timer = this.#clock.after(limitMs, () => {
      this.#overdue = what;
      late.reject(this.#refusal(`did not answer within ${limitMs / 1000} s (${what})`));
    });
    const onEnd = (): void => {
      timer.cancel();
      this.#overdue = undefined;
    };
    const running = operation();
    running.then(onEnd, onEnd);
    return await Promise.race([running, late.promise]);
  }

  #refusal(problem: string): EngineError {
    return new EngineError("FOLDER_UNRESPONSIVE", `the file system of ${this.#path} ${problem}; it is tried again`);
  }
}
