import { Heap } from "../../src/base/heap.ts";

/** Whose event it is: a life that may die, or be frozen for a while. Events of nobody always happen. */
export interface EventOwner {
  readonly isDead: boolean;
  readonly isFrozen: boolean;
}

export interface SimEvent {
  readonly at: number;
  cancel(): void;
}

/** So many immediates are asked for at once: between two of them all promises are settled, and a round of the loop is not paid. */
const immediatesAtOnce = 128;

/** More events than any healthy run needs: somebody keeps himself busy for nothing. */
const eventsMax = 3_000_000;
const eventsPerInstantMax = 100_000;

/**
 * The one queue of a run: everything that ever happens in it is an event here, so the order is the seed's. Events of one
 * moment happen in the order they were asked for. After each of them all promises are settled before the next comes.
 */
export class Scheduler {
  #now = 0;
  #asked = 0;
  #happened = 0;
  #atThisInstant = 0;
  readonly #queue = new Heap<QueuedEvent>((a, b) => a.at < b.at || (a.at === b.at && a.order < b.order));
  /** What would have happened to those that are frozen, in order. */
  readonly #held = new Map<EventOwner, QueuedEvent[]>();
  readonly #onEvent: (at: number, order: number) => void;
  /** Called after an event of somebody, before the promises it settles go on. */
  afterEvent: ((owner: EventOwner) => void) | undefined;
  /** What was thrown by an event itself. */
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

  /** False if it takes longer. */
  async within(ms: number, work: Promise<unknown>): Promise<boolean> {
    return await Promise.race([work.then(() => true), this.sleep(ms).then(() => false)]);
  }

  /** What was held back from the owner happens now, late and in order. */
  release(owner: EventOwner): void {
    const held = this.#held.get(owner) ?? [];
    this.#held.delete(owner);
    for (const event of held) {
      this.after(0, event.owner, () => {
        if (!event.isCanceled) event.run();
      });
    }
  }

  /** Goes on from event to event until it is over, or nothing is left that could happen. */
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

  /** False if there is none. */
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
