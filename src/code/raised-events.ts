import type { RaisedEvent } from "./arrival.ts";

type Taker = (event: RaisedEvent) => void;

/** Events that were raised and not waited for yet, and waits for which none was raised yet: first come, first served. */
export class RaisedEvents {
  /** Created on first use, like `#takers`. */
  #raised: Map<string, RaisedEvent[]> | undefined;
  #takers: Map<string, Taker[]> | undefined;

  raise(event: RaisedEvent): void {
    const taker = this.#takers?.get(event.name)?.shift();
    if (taker !== undefined) return taker(event);
    this.#raised ??= new Map();
    const before = this.#raised.get(event.name);
    if (before === undefined) this.#raised.set(event.name, [event]);
    else before.push(event);
  }

  /** Takes the oldest event of that name; undefined if there is none. */
  take(name: string): RaisedEvent | undefined {
    return this.#raised?.get(name)?.shift();
  }

  /** Returns a taken event whose wait was given up: it goes to the next wait, or becomes the oldest event again. */
  putBack(event: RaisedEvent): void {
    const taker = this.#takers?.get(event.name)?.shift();
    if (taker !== undefined) return taker(event);
    this.#raised ??= new Map();
    this.#raised.set(event.name, [event, ...(this.#raised.get(event.name) ?? [])]);
  }

  /** Takes an event that was put back; does nothing if another wait has taken it. */
  takeAgain(event: RaisedEvent): void {
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
  untaken(): RaisedEvent[] {
    return [...(this.#raised?.values() ?? [])].flat();
  }
}
