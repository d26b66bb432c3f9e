import type { Clock } from "../base/clock.ts";

/**
 * Is notified how far the event loop has come with the reactions of promises that are settled by now. It must not
 * throw.
 */
export interface IdleListener {
  /** All microtasks have run, and nothing else: timers, I/O, `setImmediate` and `process.nextTick` come after it. */
  onMicrotasksRun(): void;
  /** The event loop has had a turn since. */
  onIdle(): void;
}

/**
 * Tells when everything has happened that promises settled by now lead to. Only then is it sure what the code of a
 * workflow did about an arrival. Those who ask at the same time share one turn of the event loop.
 *
 * What has to be told apart is over before that turn: a timer or an answer from the network that comes in the same turn
 * was not led to by those promises. So the end of the microtasks is told as well, with a tick that is requested from one
 * of them: Node runs it when no microtask is left, and before anything else.
 */
export class Drain {
  readonly #clock: Clock;
  #waiting: IdleListener[] = [];
  /** Listeners whose microtasks may not all have run. */
  #running: IdleListener[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  wait(waiting: IdleListener): void {
    if (this.#waiting.push(waiting) === 1) this.#clock.soon(() => this.#tellAll());
    if (this.#running.push(waiting) === 1) queueMicrotask(this.#requestTick);
  }

  /** Later listeners may come in a tick before this one, with microtasks that come after it. */
  readonly #requestTick = (): void => {
    process.nextTick(endMicrotasks, this.#running);
    this.#running = [];
  };

  #tellAll(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const each of waiting) each.onIdle();
  }
}

function endMicrotasks(running: readonly IdleListener[]): void {
  for (const each of running) each.onMicrotasksRun();
}
