import type { RaisedEvent } from "./arrival.ts";

/** An event and the time at which the code got it. */
export interface ReceivedEvent extends RaisedEvent {
  readonly at: number;
}

type Taker = (event: ReceivedEvent) => void;

/** Events that were raised and not waited for yet, and waits for which none was raised yet: first come, first served. */
export class RaisedEvents {
  /** Created on first use, like `#takers`. */
  #raised: Map<string, ReceivedEvent[]> | undefined;
  #takers: Map<string, Taker[]> | undefined;

  raise({ name, data }: RaisedEvent, at: number): void {
    const event = { name, data, at };
    const taker = this.#takers?.get(event.name)?.shift();
    if (taker !== undefined) return taker(event);
    this.#raised ??= new Map();
    const before = this.#raised.get(event.name);
    if (before === undefined) this.#raised.set(event.name, [event]);
    else before.push(event);
  }

  /** Takes the oldest event of that name; undefined if there is none. */
  take(name: string): ReceivedEvent | undefined {
    return this.#raised?.get(name)?.shift();
  }

  /** Returns a taken event whose wait was given up: it goes to the next wait, or becomes the oldest event again. */
  putBack(event: ReceivedEvent): void {
    const taker = this.#takers?.get(event.name)?.shift();
    if (taker !== undefined) return taker(event);
    this.#raised ??= new Map();
    this.#raised.set(event.name, [event, ...(this.#raised.get(event.name) ?? [])]);
  }

  /** Takes an event that was put back; does nothing if another wait has taken it. */
  takeAgain(event: ReceivedEvent): void {
    const raised = this.#raised?.get(event.name) ?? [];
    const place = raised.indexOf(event);
    if (place !== -1) raised.splice(place, 1);
  }

  /** Waits for an event of that name. Returns a function that cancels the wait. */
  wait(name: string, taker: Taker): () => void {
    this.#takers ??= new Map();
    const takers = this.#takers.get(name) ?? [];
    this.#takers.set(name, takers);
    takers.push(taker);
    return () => {
      const place = takers.indexOf(taker);
      if (place !== -1) takers.splice(place, 1);
    };
  }

  /** Removes all waits. */
  forgetTakers(): void {
    this.#takers = undefined;
  }

  /** Returns the raised events that no wait has taken. */
  untaken(): ReceivedEvent[] {
    return [...(this.#raised?.values() ?? [])].flat();
  }

  /** The raised events that no wait has taken, counted by name; `since` is the time of the oldest. */
  countUntaken(): { name: string; count: number; since: number }[] {
    const lists = [...(this.#raised ?? [])].filter(([, events]) => events.length > 0);
    return lists.map(([name, events]) => ({
      name,
      count: events.length,
      since: Math.min(...events.map(({ at }) => at)),
    }));
  }
}
