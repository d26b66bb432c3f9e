import type { RaisedEvent } from "./arrival.ts";

type Taker = (event: RaisedEvent) => void;

/** Events that were raised and not waited for yet, and waits for which none was raised yet: first come, first served. */
export class RaisedEvents {
  /** Made when they are first used. */
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

  /** The oldest that nobody took, if there is one. */
  take(name: string): RaisedEvent | undefined {
    return this.#raised?.get(name)?.shift();
  }

  /** It was taken by somebody who does not want it any more: it is the oldest again. */
  putBack(event: RaisedEvent): void {
    const taker = this.#takers?.get(event.name)?.shift();
    if (taker !== undefined) return taker(event);
    this.#raised ??= new Map();
    this.#raised.set(event.name, [event, ...(this.#raised.get(event.name) ?? [])]);
  }

  /** Unless somebody else has taken it since it was put back. */
  takeAgain(event: RaisedEvent): void {
    const raised = this.#raised?.get(event.name) ?? [];
    const place = raised.indexOf(event);
    if (place !== -1) raised.splice(place, 1);
  }

  /** Gives back how to give up waiting. */
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

  /** Removes everybody who waits. */
  forgetTakers(): void {
    this.#takers = undefined;
  }

  /** Raised events that nobody took. */
  untaken(): RaisedEvent[] {
    return [...(this.#raised?.values() ?? [])].flat();
  }
}
