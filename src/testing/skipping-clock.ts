import { TestClock } from "./test-clock.ts";

/** What goes on in an engine, as far as its clock is concerned. */
export interface WatchedWork {
  /** Jobs run. */
  isBusy(): boolean;
  /** When the first of its instances wants to be woken after that time, epoch ms. */
  nextWake(after: number): Promise<number | undefined>;
}

/**
 * The clock of a test engine. It knows what the engine waits for, so it leaps from one wake-up to the next where a
 * `TestClock` goes through every minute between: a year takes a few milliseconds.
 */
export class SkippingClock extends TestClock {
  #work: WatchedWork | undefined;
  /** Calls of `advance` and `until` that have not come to their end. */
  #moves = 0;
  /** A test has moved it by so many ms, and not only until something happens. */
  hasAdvanced = false;

  /** Somebody lets time pass. */
  get isMoving(): boolean {
    return this.#moves > 0;
  }

  follow(work: WatchedWork): void {
    this.#work = work;
  }

  /** From now on it is an ordinary `TestClock`. */
  unfollow(): void {
    this.#work = undefined;
  }

  /** While a job runs, time goes from timer to timer: so an attempt can run into its timeout. */
  override async advance(ms: number): Promise<void> {
    const work = this.#work;
    this.hasAdvanced = true;
    if (work === undefined) return await super.advance(ms);
    await this.#moving(() => this.#leap(work, ms));
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
   * Lets as much time pass as the promise takes, and gives what it gives. No time passes while a job runs: it may take as
   * long as it likes. Throws if it is still waiting after `maxMs`, by default never, or if no time will bring what it
   * waits for.
   */
  override async until<T>(promise: Promise<T>, options: { maxMs?: number } = {}): Promise<T> {
    const work = this.#work;
    if (work === undefined) return await super.until(promise, options);
    const end = this.now() + (options.maxMs ?? Infinity);
    return await this.#moving(() => this.#leapUntil(work, promise, end));
  }

  async #moving<T>(move: () => Promise<T>): Promise<T> {
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

/** What time brings next. Throws where that is nothing, or comes too late. */
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
