import type { Clock } from "../base/clock.ts";
import { DelayedActors } from "./delayed-actors.ts";
import type { InstanceActor } from "./instance-actor.ts";

/** Time a start waits for other messages before it is written by itself; most tasks end sooner. */
const delayMs = 100;

/**
 * The actors of a lane that have something in their inbox, in three stages:
 *
 * - delayed: they have nothing but starts of attempts, which share a turn with the next message, or wait 100 ms.
 * - preparing: code reacts to the messages, which is asynchronous (`InstanceActor.prepare`).
 * - ready: their turns can be opened, in the order in which they became ready.
 */
export class TurnQueue {
  readonly #clock: Clock;
  readonly #onReady: () => void;
  #ready: InstanceActor[] = [];
  readonly #preparing = new Set<InstanceActor>();
  /** The preparing actors of this microtask: messages of the same microtask share their turn. */
  #aboutToPrepare: InstanceActor[] = [];
  #somePrepared: PromiseWithResolvers<void> | undefined;
  readonly #delayed = new DelayedActors<InstanceActor>();
  #isDelayArmed = false;

  /** `onReady` is called whenever an actor is ready. */
  constructor(clock: Clock, onReady: () => void) {
    this.#clock = clock;
    this.#onReady = onReady;
  }

  get hasReady(): boolean {
    return this.#ready.length > 0;
  }

  add(actor: InstanceActor, urgency: "now" | "later"): void {
    if (urgency === "later") {
      if (this.#delayed.add(actor)) this.#armDelay();
      return;
    }
    // A turn that has to be prepared waits for the turn before it; the actor is added again when that is released.
    if (actor.needsPreparation && actor.isBusy) return;
    if (!actor.enqueue()) return;
    this.#delayed.delete(actor);
    if (actor.needsPreparation) this.#prepare(actor);
    else this.#addReady(actor);
  }

  /** Takes ready actors for as long as `open`, which opens the turn of each, returns true. */
  take(open: (actor: InstanceActor) => boolean): void {
    let taken = 0;
    for (const actor of this.#ready) {
      taken++;
      actor.takeTurn();
      if (!open(actor)) break;
    }
    this.#ready.splice(0, taken);
  }

  /** Ends the delay of all delayed actors. */
  flushDelayed(): void {
    for (const actor of this.#delayed.takeAll()) if (actor.hasMessages) this.add(actor, "now");
  }

  hasReadyOf(concerns: (actor: InstanceActor) => boolean): boolean {
    return this.#ready.some(concerns);
  }

  isPreparingAny(concerns: (actor: InstanceActor) => boolean): boolean {
    return [...this.#preparing].some(concerns);
  }

  /** Resolves when one more actor is prepared, or some have been removed. */
  whenSomePrepared(): Promise<void> {
    return (this.#somePrepared ??= Promise.withResolvers<void>()).promise;
  }

  /** Removes actors that will have no further turn. */
  remove(which: (actor: InstanceActor) => boolean): void {
    this.#ready = this.#ready.filter((actor) => !which(actor));
    for (const actor of this.#preparing) if (which(actor)) this.#preparing.delete(actor);
    this.#notifyPrepared();
    this.#delayed.remove(which);
  }

  #armDelay(): void {
    if (this.#isDelayArmed) return;
    this.#isDelayArmed = true;
    this.#clock.after(delayMs, () => {
      this.#isDelayArmed = false;
      this.flushDelayed();
    });
  }

  #prepare(actor: InstanceActor): void {
    this.#preparing.add(actor);
    if (this.#aboutToPrepare.push(actor) === 1) queueMicrotask(() => this.#startPreparing());
  }

  #startPreparing(): void {
    const actors = this.#aboutToPrepare;
    this.#aboutToPrepare = [];
    for (const actor of actors) if (this.#preparing.has(actor)) actor.prepare(this.#onPrepared);
  }

  readonly #onPrepared = (actor: InstanceActor): void => {
    if (!this.#preparing.delete(actor)) return;
    this.#addReady(actor);
    this.#notifyPrepared();
  };

  #notifyPrepared(): void {
    this.#somePrepared?.resolve();
    this.#somePrepared = undefined;
  }

  #addReady(actor: InstanceActor): void {
    this.#ready.push(actor);
    this.#onReady();
  }
}
