import { TestClock } from "./test-clock.ts";

/** The activity of an engine that its clock needs to know. */
export interface WatchedWork {
  /** True while jobs run. */
  isBusy(): boolean;
  /** The earliest wake-up of any instance after that time, epoch ms. */
  nextWake(after: number): Promise<number | undefined>;
}

/**
 * The clock of a test engine. It knows the wake-ups of the engine and skips from one to the next, while a `TestClock` passes
 * through every timer in between: a year takes a few milliseconds.
 */
export class SkippingClock extends TestClock {
  #work: WatchedWork | undefined;
  /** The number of unfinished calls of `advance` and `until`. */
  #moves = 0;
  /** A test has advanced it by a number of ms, and not only until a promise settles. */
  hasAdvanced = false;

  /** True while a call of `advance` or `until` is running. */
  get isMoving(): boolean {
    return this.#moves > 0;
  }

  follow(work: WatchedWork): void {
    this.#work = work;
  }

  /** Turns it into an ordinary `TestClock`. */
  unfollow(): void {
    this.#work = undefined;
  }

  /** While a job runs, time advances from timer to timer, so that attempts can time out. */
  override async advance(ms: number): Promise<void> {
    const work = this.#work;
    this.hasAdvanced = true;
    if (work === undefined) return await super.advance(ms);
    await this.#whileMoving(() => this.#leap(work, ms));
  }

  async #leap(work: WatchedWork, ms: number): Promise<void> {
    const end = this.now() + ms;
    await this.settle();
    while (this.now() < end) {
      const next = work.isBusy() ? this.nextTimerAt : await work.nextWake(this.now());
      await this.jump(Math.min(next ?? end, end));
    }
  }

  /**
   * Advances time until the promise settles, and returns its result. No time passes while a job runs. Throws if the promise is
   * still waiting after `maxMs`, by default never, or if nothing is left to wait for.
   */
  override async until<T>(promise: Promise<T>, options: { maxMs?: number } = {}): Promise<T> {
    const work = this.#work;
    if (work === undefined) return await super.until(promise, options);
    const end = this.now() + (options.maxMs ?? Infinity);
    return await this.#whileMoving(() => this.#leapUntil(work, promise, end));
  }

  async #whileMoving<T>(move: () => Promise<T>): Promise<T> {
    this.#moves++;
    try {
      return await move();
    } finally {
      this.#moves--;
    }
  }

  async #leapUntil<T>(work: WatchedWork, promise: Promise<T>, end: number): Promise<T> {
    const settled = { yet: false };
    const note = (): void => void (settled.yet = true);
    promise.then(note, note);
    for (;;) {
      await this.settle();
      const isBusy = work.isBusy();
      const wake = isBusy ? undefined : await work.nextWake(this.now());
      if (settled.yet) return await promise;
      if (isBusy) await realMillisecond();
      else await this.jump(expected(wake, end));
    }
  }
}

/** The time of the next wake-up. Throws if there is none, or it is too late. */
function expected(wake: number | undefined, end: number): number {
  if (wake === undefined) {
    throw new Error("the promise waits for something that no time brings: no instance is asleep and no job runs");
  }
  if (wake > end) throw new Error(`the promise is still waiting at ${new Date(end).toISOString()}`);
  return wake;
}

function realMillisecond(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1));
}
