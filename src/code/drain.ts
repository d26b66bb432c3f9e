import type { Clock } from "../base/clock.ts";

/**
 * A listener that is notified how far the event loop has come with the reactions of promises that are settled by now.
 * It must not throw.
 */
export interface IdleListener {
  /**
   * Called when all microtasks have run, and nothing else: timers, I/O, `setImmediate` and `process.nextTick` come
   * after it.
   */
  onMicrotasksRun(): void;
  /** Called when the event loop has had a turn since. */
  onIdle(): void;
}

/**
 * Notifies listeners when all reactions of promises that are settled by now have run. Only then is it certain how the
 * code of a workflow reacted to an arrival. Listeners that wait at the same time share one turn of the event loop.
 *
 * The reactions are over before that turn; a timer or an answer from the network that comes within it is not one of
 * them. So listeners are also notified of the end of the microtasks, with a tick that is requested from one of them:
 * Node runs it when no microtask is left, and before anything else.
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
