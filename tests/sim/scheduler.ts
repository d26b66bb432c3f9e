import { Heap } from "../../src/base/heap.ts";

/** The owner of an event: a process that may end or be frozen. Events without an owner always run. */
export interface EventOwner {
  readonly isDead: boolean;
  readonly isFrozen: boolean;
}

export interface SimEvent {
  readonly at: number;
  cancel(): void;
}

/**
 * The number of immediates that are requested at once: all promises settle between two of them, without a round of the
 * event loop.
 */
const immediatesAtOnce = 128;

/** More events than any healthy run needs; beyond that, the run is in a loop. */
const eventsMax = 3_000_000;
const eventsPerInstantMax = 100_000;

/**
 * The event queue of a run. Everything that happens is an event here, so the seed determines the order. Events of the
 * same time run in the order they were added. All promises settle between two events.
 */
export class Scheduler {
  #now = 0;
  #asked = 0;
  #happened = 0;
  #atThisInstant = 0;
  readonly #queue = new Heap<QueuedEvent>((a, b) => a.at < b.at || (a.at === b.at && a.order < b.order));
  /** Events of frozen owners, in order. */
  readonly #held = new Map<EventOwner, QueuedEvent[]>();
  readonly #onEvent: (at: number, order: number) => void;
  /** Called after an event with an owner, before the promises that it settled continue. */
  afterEvent: ((owner: EventOwner) => void) | undefined;
  /** Errors that events have thrown. */
  readonly errors: unknown[] = [];

  constructor(onEvent: (at: number, order: number) => void) {
    this.#onEvent = onEvent;
  }

  /** Virtual milliseconds since the run began. */
  get now(): number {
    return this.#now;
  }

  get happened(): number {
    return this.#happened;
  }

  after(delayMs: number, owner: EventOwner | undefined, run: () => void): SimEvent {
    const event = new QueuedEvent(this.#now + Math.max(0, delayMs), this.#asked++, owner, run);
    if (event.at !== Infinity) this.#queue.push(event);
    return event;
  }

  async sleep(delayMs: number): Promise<void> {
    await new Promise<void>((resolve) => this.after(delayMs, undefined, resolve));
  }

  /** Returns false if the promise takes longer. */
  async within(ms: number, work: Promise<unknown>): Promise<boolean> {
    return await Promise.race([work.then(() => true), this.sleep(ms).then(() => false)]);
  }

  /** Runs the events of an owner that is frozen no longer, late and in order. */
  release(owner: EventOwner): void {
    const held = this.#held.get(owner) ?? [];
    this.#held.delete(owner);
    for (const event of held) {
      this.after(0, event.owner, () => {
        if (!event.isCanceled) event.run();
      });
    }
  }

  /** Runs events until the run is over, or none is left. */
  run(isOver: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      let outstanding = 0;
      let isDone = false;
      const step = (): void => {
        outstanding--;
        if (isDone) return;
        if (isOver() || !this.#next()) {
          isDone = true;
          resolve();
        } else if (outstanding === 0) ask();
      };
      const ask = (): void => {
        for (outstanding = 0; outstanding < immediatesAtOnce; outstanding++) setImmediate(step);
      };
      ask();
    });
  }

  /** Runs the next event. False if there is none. */
  #next(): boolean {
    for (let event = this.#queue.pop(); event !== undefined; event = this.#queue.pop()) {
      const { owner } = event;
      if (event.isCanceled || owner?.isDead) continue;
      if (owner?.isFrozen) {
        this.#hold(owner, event);
        continue;
      }
      return this.#happen(event);
    }
    return false;
  }

  #happen(event: QueuedEvent): boolean {
    this.#atThisInstant = event.at === this.#now ? this.#atThisInstant + 1 : 0;
    this.#happened++;
    if (this.#happened > eventsMax || this.#atThisInstant > eventsPerInstantMax) {
      const where = `${this.#atThisInstant} of them at ${this.#now} ms`;
      this.errors.push(new Error(`after ${this.#happened} events, ${where}, the run is still going on`));
      return false;
    }
    this.#now = event.at;
    this.#onEvent(event.at, event.order);
    try {
      event.run();
    } catch (error) {
      this.errors.push(error);
    }
    if (event.owner !== undefined) this.afterEvent?.(event.owner);
    return true;
  }

  #hold(owner: EventOwner, event: QueuedEvent): void {
    const held = this.#held.get(owner);
    if (held === undefined) this.#held.set(owner, [event]);
    else held.push(event);
  }
}

class QueuedEvent implements SimEvent {
  readonly at: number;
  readonly order: number;
  readonly owner: EventOwner | undefined;
  readonly run: () => void;
  isCanceled = false;

  constructor(at: number, order: number, owner: EventOwner | undefined, run: () => void) {
    this.at = at;
    this.order = order;
    this.owner = owner;
    this.run = run;
  }

  cancel(): void {
    this.isCanceled = true;
  }
}
