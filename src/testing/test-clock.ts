import type { Clock, Timer } from "../base/clock.ts";

/** The number of event-loop turns without activity after which nothing more will happen by itself. */
const quietTurns = 10;

const hourMs = 3_600_000;

/** The default start: noon of an ordinary day. */
const firstNow = Date.UTC(2026, 0, 5, 12);

/**
 * A manual clock: stands still until a test advances it, so that days of retries, timeouts and retention pass in
 * milliseconds, in the same way every time.
 *
 * ```ts
 * const clock = new TestClock();
 * const engine = new Engine({ storage: memoryStore(), clock, jobs: [flaky] });
 * await engine.start();
 * const run = await engine.submitWorkflow(nightly);
 * await clock.advance(1000); // the wait before the first retry
 * await clock.until(run.result()); // or: whatever time it takes
 * ```
 */
export class TestClock implements Clock {
  #now: number;
  #started = 0;
  /** Timers, the earliest first; those of the same time in the order they were created. */
  readonly #timers: TestTimer[] = [];
  /** Incremented whenever the clock is used or a timer fires. */
  #news = 0;

  /** `now` is the start time, epoch ms. */
  constructor(options: { now?: number } = {}) {
    this.#now = options.now ?? firstNow;
  }

  /** Whole milliseconds, as those of a real clock; a timer with a random delay may fire between two of them. */
  now(): number {
    return Math.floor(this.#now);
  }

  monotonic(): number {
    return this.#now;
  }

  after(delayMs: number, callback: () => void): Timer {
    const timer: TestTimer = { at: this.#now + Math.max(0, delayMs), order: this.#started++, callback };
    const later = this.#timers.findIndex((other) => isBefore(timer, other));
    this.#timers.splice(later === -1 ? this.#timers.length : later, 0, timer);
    this.#news++;
    return { cancel: () => this.#cancel(timer) };
  }

  /** Runs in the real event loop: work that needs no time proceeds by itself. */
  soon(callback: () => void): void {
    this.#news++;
    setImmediate(() => {
      this.#news++;
      callback();
    });
  }

  /** The number of pending timers. */
  get timerCount(): number {
    return this.#timers.length;
  }

  /** The time of the next timer, epoch ms. */
  get nextTimerAt(): number | undefined {
    return this.#timers[0]?.at;
  }

  /**
   * Advances the clock. Timers fire in order, each at its own time, and the work that a timer causes is finished before the
   * next one fires.
   */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await this.settle();
    for (let at = this.nextTimerAt; at !== undefined && at <= end; at = this.nextTimerAt) {
      this.#fireFirst();
      await this.settle();
    }
    this.#now = Math.max(this.#now, end);
  }

  /**
   * Sets the clock forward at once, as if the machine had been suspended: timers that were due meanwhile fire late, in order.
   */
  async jump(at: number): Promise<void> {
    await this.settle();
    this.#now = Math.max(this.#now, at);
    await this.#fireDue();
  }

  /**
   * Advances from timer to timer until the promise settles, and returns its result. Throws if it is still waiting after
   * `maxMs`, by default 24 hours.
   */
  async until<T>(promise: Promise<T>, options: { maxMs?: number } = {}): Promise<T> {
    const end = this.#now + (options.maxMs ?? 24 * hourMs);
    const settled = { yet: false };
    const note = (): void => void (settled.yet = true);
    promise.then(note, note);
    await this.settle();
    while (!settled.yet) {
      const at = this.nextTimerAt;
      if (at === undefined) throw new Error("the promise waits for something, but no timer is running");
      if (at > end) throw new Error(`the promise is still waiting at ${new Date(end).toISOString()}`);
      this.#fireFirst();
      await this.settle();
    }
    return await promise;
  }

  /**
   * Waits for all work that needs no time: promises, commits to a `memoryStore()`, jobs that wait for neither time nor the
   * outside world, timers that are due, such as those of sleeps that ended while no engine ran.
   */
  async settle(): Promise<void> {
    await this.#becomeQuiet();
    await this.#fireDue();
  }

  async #fireDue(): Promise<void> {
    while ((this.nextTimerAt ?? Infinity) <= this.#now) {
      this.#fireFirst();
      await this.#becomeQuiet();
    }
  }

  async #becomeQuiet(): Promise<void> {
    for (let quiet = 0, seen = this.#news; quiet < quietTurns; quiet++) {
      await new Promise<void>((resolve) => setImmediate(resolve));
      if (seen === this.#news) continue;
      seen = this.#news;
      quiet = 0;
    }
  }

  #fireFirst(): void {
    const timer = this.#timers.shift();
    if (timer === undefined) return;
    this.#now = Math.max(this.#now, timer.at);
    this.#news++;
    timer.callback();
  }

  #cancel(timer: TestTimer): void {
    const place = this.#timers.indexOf(timer);
    if (place !== -1) this.#timers.splice(place, 1);
  }
}

interface TestTimer {
  readonly at: number;
  readonly order: number;
  readonly callback: () => void;
}

function isBefore(one: TestTimer, other: TestTimer): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order);
}
