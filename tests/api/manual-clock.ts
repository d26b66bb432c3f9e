import { setImmediate as turn } from "node:timers/promises";
import type { Clock, Timer } from "../../src/index.ts";

interface Alarm {
  readonly at: number;
  readonly callback: () => void;
}

/** Time stands still until the test moves it. */
export class ManualClock implements Clock {
  #now: number;
  readonly #alarms = new Set<Alarm>();

  constructor(now = Date.UTC(2030, 0, 1)) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  soon(callback: () => void): void {
    setImmediate(callback);
  }

  after(delayMs: number, callback: () => void): Timer {
    const alarm = { at: this.#now + delayMs, callback };
    this.#alarms.add(alarm);
    return { cancel: () => void this.#alarms.delete(alarm) };
  }

  /** Alarms go off in their order, and what they lead to happens before the next. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (;;) {
      await settle();
      const next = [...this.#alarms].filter(({ at }) => at <= end).toSorted((a, b) => a.at - b.at)[0];
      if (next === undefined) break;
      this.#alarms.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.callback();
    }
    this.#now = end;
    await settle();
  }
}

/** Lets everything happen that needs no time to pass. */
async function settle(): Promise<void> {
  for (let turns = 0; turns < 10; turns++) await turn();
}
