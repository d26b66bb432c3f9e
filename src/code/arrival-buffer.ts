import type { KeptEvent, KeptUpdate } from "../kernel/event.ts";
import type { Arrival } from "./arrival.ts";

/** Arrivals that the code cannot react to yet, and those that the next generation will get. */
export class ArrivalBuffer {
  #held: Arrival[] | undefined;
  #isPaused = false;
  /** False while an instance above its workflow's maximum exists and its code has not begun. */
  #hasStarted = false;
  /** Events and updates that pass to the next generation, once the code has continued as new. */
  #keptEvents: KeptEvent[] | undefined;
  #keptUpdates: KeptUpdate[] | undefined;

  /** Takes an arrival in, and returns the one to react to now: it, an earlier one, or none before the start and in a pause. */
  accept(arrival: Arrival): Arrival | undefined {
    switch (arrival.type) {
      case "start":
        this.#hasStarted = true;
        return arrival;
      case "paused":
        this.#isPaused = true;
        return undefined;
      case "resumed":
        this.#isPaused = false;
        return this.next();
      default:
        if (this.#mayReact && (this.#held?.length ?? 0) === 0) return arrival;
        (this.#held ??= []).push(arrival);
        return this.next();
    }
  }

  /** The earliest arrival that was held, if the code may react to it. */
  next(): Arrival | undefined {
    return this.#mayReact ? this.#held?.shift() : undefined;
  }

  get #mayReact(): boolean {
    return this.#hasStarted && !this.#isPaused;
  }

  /**
   * Keeps arrivals for the next generation from now on: updates always, because a caller waits for them; events if it
   * wants them.
   */
  keepForNext(events: KeptEvent[] | undefined, updates: KeptUpdate[]): void {
    this.#keptEvents = events;
    this.#keptUpdates = updates;
    for (const arrival of this.#held ?? []) this.keep(arrival);
  }

  keep(arrival: Arrival): void {
    if (arrival.type !== "event" && arrival.type !== "update") return;
    const { name, data } = arrival.type === "event" ? arrival.event : arrival;
    const kept = { name, ...(data !== undefined && { data }) };
    if (arrival.type === "event") this.#keptEvents?.push(kept);
    else this.#keptUpdates?.push({ update: arrival.update, ...kept });
  }
}
