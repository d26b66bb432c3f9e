import type { Clock, Timer } from "../base/clock.ts";

/** A call that its member carries out itself. */
export interface BoundedCall {
  /** Monotonic time at which the call is given up. */
  readonly until: number;
  /** Its place in the list of calls, which is `LocalCalls`'s; -1 outside. */
  place: number;
  /** Called when the time is up. */
  onTime(): void;
  /** Called when all calls are rejected. */
  giveUp(reason: unknown): void;
}

/**
 * Calls to shards of this very member, which carries them out itself. Most calls are local, so they share one timer, which
 * is set for the call that is given up first.
 */
export class LocalCalls {
  readonly #clock: Clock;
  /** In no order. A set would cost every call a hash. */
  #calls: BoundedCall[] = [];
  #timer: Timer | undefined;
  #timerAt = Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Adds a call, until `delete` is called with it, its time is up, or all calls are rejected. */
  add(call: BoundedCall): void {
    call.place = this.#calls.push(call) - 1;
    if (call.until < this.#timerAt) this.#setTimer(call.until);
  }

  /** Returns false if the call was given up before: then its result does not matter any more. */
  delete(call: BoundedCall): boolean {
    const { place } = call;
    if (place === -1) return false;
    call.place = -1;
    const last = this.#calls.pop();
    if (last === undefined || last === call) return true;
    this.#calls[place] = last;
    last.place = place;
    return true;
  }

  rejectAll(reason: unknown): void {
    const calls = this.#calls;
    this.#calls = [];
    for (const call of calls) call.place = -1;
    for (const call of calls) call.giveUp(reason);
    this.#setTimer(Infinity);
  }

  #setTimer(at: number): void {
    this.#timer?.cancel();
    this.#timerAt = at;
    this.#timer =
      at === Infinity
        ? undefined
        : this.#clock.after(Math.max(0, at - this.#clock.monotonic()), () => this.#giveUpOverdue());
  }

  #giveUpOverdue(): void {
    const now = this.#clock.monotonic();
    const overdue = this.#calls.filter(({ until }) => until <= now);
    for (const call of overdue) this.delete(call);
    this.#setTimer(this.#calls.reduce((first, { until }) => Math.min(first, until), Infinity));
    for (const call of overdue) call.onTime();
  }
}
