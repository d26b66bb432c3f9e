import type { TurnState } from "./turn-state.ts";

/**
 * Actors whose next turn is delayed. An actor leaves when it is queued, in constant time. In a list that it leaves only
 * when the delay is over, instances that have ended meanwhile survive several collections of the young generation.
 */
export class DelayedActors<Actor extends TurnState> {
  #actors: Actor[] = [];

  /** False if the actor is delayed or queued already. */
  add(actor: Actor): boolean {
    if (actor.isQueued || actor.delayPlace !== -1) return false;
    actor.delay(this.#actors.push(actor) - 1);
    return true;
  }

  delete(actor: Actor): void {
    const place = actor.delayPlace;
    if (place === -1) return;
    actor.endDelay();
    const last = this.#actors.pop();
    if (last === undefined || last === actor) return;
    this.#actors[place] = last;
    last.delay(place);
  }

  /** Ends the delay of all. */
  takeAll(): Actor[] {
    const actors = this.#actors;
    this.#actors = [];
    for (const actor of actors) actor.endDelay();
    return actors;
  }

  /** Removes actors that will have no further turn. */
  remove(which: (actor: Actor) => boolean): void {
    for (const actor of this.takeAll()) if (!which(actor)) this.add(actor);
  }
}
