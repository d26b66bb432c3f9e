import type { Clock, Timer } from "../base/clock.ts";

/** Fires at most this many at once, so that ten thousand sleepers due together do not hold up the event loop. */
const firesPerTickMax = 500;

/** Maximum of instances that are woken at a time, which may mean loading them from the store. */
const wakingMax = 1000;

/**
 * Timers do not count the time that a machine is suspended, nor a clock that is set forward. With a check this often, no
 * wake-up is later than that.
 */
const lookAgainMs = 60_000;

/**
 * The next wake-up of every unfinished instance, in memory or not. One clock timer serves them all. An indexed heap:
 * entries know their place, so that a wake-up can be changed or removed.
 */
export class WakeQueue<Sleeper extends object> {
  readonly #clock: Clock;
  readonly #wake: (sleeper: Sleeper) => Promise<void> | void;
  readonly #heap: Alarm<Sleeper>[] = [];
  readonly #alarms = new Map<Sleeper, Alarm<Sleeper>>();
  #timer: Timer | undefined;
  #timerAt = Infinity;
  /** The timer fires without a delay. */
  #isTimerDue = false;
  #waking = 0;
  #isStopped = false;

  /** `wake` never rejects. */
  constructor(clock: Clock, wake: (sleeper: Sleeper) => Promise<void> | void) {
    this.#clock = clock;
    this.#wake = wake;
  }

  /** Replaces the sleeper's earlier wake-up; undefined removes it. */
  set(sleeper: Sleeper, at: number | undefined): void {
    if (this.#isStopped) return;
    const alarm = this.#alarms.get(sleeper);
    if (alarm === undefined) {
      if (at === undefined) return;
      const added = { sleeper, at, place: this.#heap.length };
      this.#alarms.set(sleeper, added);
      this.#heap.push(added);
      this.#rise(added);
    } else if (at === undefined) this.#remove(alarm);
    else if (alarm.at !== at) {
      alarm.at = at;
      this.#rise(alarm);
      this.#sink(alarm);
    } else return;
    this.#arm();
  }

  /** Removes all wake-ups; none can be set any more. */
  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
    this.#heap.length = 0;
    this.#alarms.clear();
  }

  #arm(): void {
    const at = this.#waking < wakingMax ? (this.#heap[0]?.at ?? Infinity) : Infinity;
    const waitMs = Math.max(0, at - this.#clock.now());
    // A clock that was set forward leaves the timer of an earlier time behind, and every wake-up after it.
    if (at === this.#timerAt && (at === Infinity || waitMs > 0 || this.#isTimerDue)) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#timerAt = at;
    if (at === Infinity) return;
    this.#isTimerDue = waitMs === 0;
    const delayMs = Math.min(waitMs, lookAgainMs);
    this.#timer = this.#clock.after(delayMs, () => this.#fire());
  }

  #fire(): void {
    this.#timerAt = Infinity;
    const now = this.#clock.now();
    for (let fired = 0; fired < firesPerTickMax && this.#waking < wakingMax; fired++) {
      const first = this.#heap[0];
      if (first === undefined || first.at > now) break;
      this.#remove(first);
      this.#rouse(first.sleeper);
    }
    this.#arm();
  }

  #rouse(sleeper: Sleeper): void {
    const waking = this.#wake(sleeper);
    if (waking === undefined) return;
    this.#waking++;
    void waking.then(() => {
      if (this.#waking-- === wakingMax && !this.#isStopped) this.#arm();
    });
  }

  #remove(alarm: Alarm<Sleeper>): void {
    this.#alarms.delete(alarm.sleeper);
    const last = this.#heap.pop() as Alarm<Sleeper>;
    if (last === alarm) return;
    this.#put(last, alarm.place);
    this.#rise(last);
    this.#sink(last);
  }

  #put(alarm: Alarm<Sleeper>, place: number): void {
    this.#heap[place] = alarm;
    alarm.place = place;
  }

  #rise(alarm: Alarm<Sleeper>): void {
    while (alarm.place > 0) {
      const above = this.#heap[(alarm.place - 1) >> 1] as Alarm<Sleeper>;
      if (above.at <= alarm.at) return;
      const { place } = above;
      this.#put(above, alarm.place);
      this.#put(alarm, place);
    }
  }

  #sink(alarm: Alarm<Sleeper>): void {
    for (;;) {
      const left = this.#heap[2 * alarm.place + 1];
      const right = this.#heap[2 * alarm.place + 2];
      const earlier = right !== undefined && left !== undefined && right.at < left.at ? right : left;
      if (earlier === undefined || earlier.at >= alarm.at) return;
      const { place } = earlier;
      this.#put(earlier, alarm.place);
      this.#put(alarm, place);
    }
  }
}

interface Alarm<Sleeper> {
  readonly sleeper: Sleeper;
  at: number;
  place: number;
}
