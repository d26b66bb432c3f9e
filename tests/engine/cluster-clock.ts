import type { Clock, Timer } from "../../src/base/clock.ts";

/** One member's machine as far as time goes: it can be set wrong, sleep, and die. */
export class MemberClock implements Clock {
  readonly #clock: Clock;
  /** Of the wall clock. */
  skewMs = 0;
  #isDead = false;
  #asleepSince: number | undefined;
  #sleptMs = 0;
  /** What was to happen while it slept. */
  readonly #missed: (() => void)[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  now(): number {
    return this.#clock.now() + this.skewMs;
  }

  /** Stands still during sleep, as that of a machine does which is suspended. */
  monotonic(): number {
    return (this.#asleepSince ?? this.#clock.monotonic()) - this.#sleptMs;
  }

  after(delayMs: number, callback: () => void): Timer {
    const dueAt = this.monotonic() + delayMs;
    let timer: Timer;
    let isCanceled = false;
    const fire = (): void => {
      if (isCanceled) return;
      if (this.monotonic() < dueAt) timer = this.#clock.after(dueAt - this.monotonic(), () => this.#whenAwake(fire));
      else callback();
    };
    timer = this.#clock.after(delayMs, () => this.#whenAwake(fire));
    return {
      cancel: () => {
        isCanceled = true;
        timer.cancel();
      },
    };
  }

  soon(callback: () => void): void {
    this.#clock.soon(() => this.#whenAwake(callback));
  }

  /** For what reaches the machine from outside. */
  arrives(callback: () => void): void {
    this.#whenAwake(callback);
  }

  sleep(): void {
    this.#asleepSince = this.#clock.monotonic();
  }

  wake(): void {
    this.#sleptMs += this.#clock.monotonic() - (this.#asleepSince ?? this.#clock.monotonic());
    this.#asleepSince = undefined;
    for (const callback of this.#missed.splice(0)) this.#whenAwake(callback);
  }

  die(): void {
    this.#isDead = true;
  }

  #whenAwake(callback: () => void): void {
    if (this.#isDead) return;
    if (this.#asleepSince === undefined) callback();
    else this.#missed.push(callback);
  }
}
