import { Heap } from "../../src/base/heap.ts";
import type { Clock, Timer } from "../../src/base/clock.ts";

/** The wall clock at virtual time 0. */
const epochMs = Date.UTC(2026, 0, 1);

/** Immediates that are requested at once: all promises settle between two of them. */
const immediatesAtOnce = 128;

/** A process that may end: none of its timers fires after that. */
export interface Owner {
  isDead: boolean;
}

interface TimedEvent {
  readonly at: number;
  readonly order: number;
  readonly owner: Owner | undefined;
  readonly run: () => void;
  isCanceled: boolean;
}

/** One queue of timers for all processes of a run: time passes when one of them fires. */
export class VirtualTime {
  #now = 0;
  #asked = 0;
  readonly #queue = new Heap<TimedEvent>((a, b) => a.at < b.at || (a.at === b.at && a.order < b.order));

  get now(): number {
    return this.#now;
  }

  after(delayMs: number, owner: Owner | undefined, run: () => void): Timer {
    const event: TimedEvent = {
      at: this.#now + Math.max(0, delayMs),
      order: this.#asked++,
      owner,
      run,
      isCanceled: false,
    };
    if (event.at !== Infinity) this.#queue.push(event);
    return { cancel: () => void (event.isCanceled = true) };
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => void this.after(ms, undefined, resolve));
  }

  clockOf(owner: Owner): Clock {
    return {
      now: () => epochMs + Math.floor(this.#now),
      monotonic: () => this.#now,
      after: (delayMs, callback) => this.after(delayMs, owner, callback),
      soon: (callback) => void this.after(0, owner, callback),
    };
  }

  /** Fires timers, in order, until the work has ended. All promises settle between two timers. */
  async runUntil<T>(work: Promise<T>): Promise<T> {
    let isOver = false;
    const end = (): void => void (isOver = true);
    work.then(end, end);
    await new Promise<void>((resolve, reject) => {
      let outstanding = 0;
      const step = (): void => {
        outstanding--;
        if (!isOver && !this.#next())
          reject(new Error("nothing is left that could happen, and the work has not ended"));
        else if (isOver) resolve();
        else if (outstanding === 0) ask();
      };
      const ask = (): void => {
        for (outstanding = 0; outstanding < immediatesAtOnce; outstanding++) setImmediate(step);
      };
      ask();
    });
    return await work;
  }

  #next(): boolean {
    for (let event = this.#queue.pop(); event !== undefined; event = this.#queue.pop()) {
      if (event.isCanceled || event.owner?.isDead === true) continue;
      this.#now = event.at;
      event.run();
      return true;
    }
    return false;
  }
}
