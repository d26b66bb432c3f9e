import type { Clock } from "../base/clock.ts";
import type { InstanceActor } from "./instance-actor.ts";

/** How long a start may wait for company before it is written down; most tasks are over sooner. */
const laterMs = 100;

/** What shares one commit, at most: it should take milliseconds, and fit into a database's packet. The last may pass it. */
const turnsPerCommitMax = 5000;
const bytesPerCommitMax = 4 * 1024 * 1024;

/**
 * Says when turns are opened: with everything at hand, as soon as no commit is under way. While one is, messages gather
 * in inboxes; so one turn and one commit carry more, the busier it is.
 */
export class Pump {
  readonly #clock: Clock;
  readonly #commitTurns: () => Promise<void>;
  readonly #onLost: (error: unknown) => void;
  /** Actors with something in their inbox, in the order it came. */
  #dirty: InstanceActor[] = [];
  /** Those whose turn is being prepared. */
  readonly #preparing = new Set<InstanceActor>();
  /** Those of them that wait for what may still be told in the same breath. */
  #aboutToPrepare: InstanceActor[] = [];
  #somePrepared: PromiseWithResolvers<void> | undefined;
  /** Those with nothing but what can wait; and some that have had their turn since. */
  #later: InstanceActor[] = [];
  #isLaterArmed = false;
  #commitUnderWay: Promise<void> | undefined;
  #isQueued = false;

  constructor(parts: {
    clock: Clock;
    /** Opens turns by `drain`, writes them and lets out what they caused. */
    commitTurns: () => Promise<void>;
    /** `commitTurns` failed for good. */
    onLost: (error: unknown) => void;
  }) {
    this.#clock = parts.clock;
    this.#commitTurns = parts.commitTurns;
    this.#onLost = parts.onLost;
  }

  wake(actor: InstanceActor, urgency: "now" | "later"): void {
    if (actor.isDirty) return;
    if (urgency === "later") {
      if (actor.isDelayed) return;
      actor.isDelayed = true;
      this.#later.push(actor);
      this.#armLater();
      return;
    }
    // What has to be prepared waits for the turn before it; the shard says so again when that is durable.
    if (actor.needsPreparation && actor.isBusy) return;
    actor.isDirty = true;
    if (actor.needsPreparation) this.#prepare(actor);
    else this.#addReady(actor);
  }

  /** What is told in the same breath comes along. */
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
    this.#dirty.push(actor);
    this.#queue();
  }

  /** Takes actors in the order they came, until the commit is full: `open` says how many bytes each brings, or infinitely many. */
  drain(open: (actor: InstanceActor) => number): void {
    let taken = 0;
    let bytes = 0;
    for (const actor of this.#dirty) {
      if (taken === turnsPerCommitMax || bytes >= bytesPerCommitMax) break;
      taken++;
      actor.isDirty = false;
      actor.isDelayed = false;
      bytes += open(actor);
    }
    this.#dirty.splice(0, taken);
  }

  /** A commit that is no turn's: it waits until no other is under way. */
  async runExclusive<T>(commit: () => Promise<T>): Promise<T> {
    while (this.#commitUnderWay !== undefined) await this.#commitUnderWay;
    const done = commit();
    this.#commitUnderWay = done.then(
      () => this.#free(),
      () => this.#free(),
    );
    return await done;
  }

  /** Everything told so far to those it concerns is durable when it resolves. */
  async flush(concerns: (actor: InstanceActor) => boolean): Promise<void> {
    this.#flushLater();
    for (;;) {
      const isPreparing = [...this.#preparing].some(concerns);
      if (this.#commitUnderWay === undefined && !isPreparing && !this.#dirty.some(concerns)) return;
      await (this.#commitUnderWay ?? (isPreparing ? this.#whenSomePrepared() : this.#run()));
      this.#flushLater();
    }
  }

  #whenSomePrepared(): Promise<void> {
    return (this.#somePrepared ??= Promise.withResolvers<void>()).promise;
  }

  /** These have no further turn. */
  forget(which: (actor: InstanceActor) => boolean): void {
    this.#dirty = this.#dirty.filter((actor) => !which(actor));
    for (const actor of this.#preparing) if (which(actor)) this.#preparing.delete(actor);
    this.#notifyPrepared();
    this.#later = this.#later.filter((actor) => !which(actor));
  }

  #armLater(): void {
    if (this.#isLaterArmed) return;
    this.#isLaterArmed = true;
    this.#clock.after(laterMs, () => {
      this.#isLaterArmed = false;
      this.#flushLater();
    });
  }

  #flushLater(): void {
    const later = this.#later;
    this.#later = [];
    for (const actor of later) {
      const isNews = actor.isDelayed && actor.hasMessages;
      actor.isDelayed = false;
      if (isNews) this.wake(actor, "now");
    }
  }

  #queue(): void {
    if (this.#isQueued || this.#commitUnderWay !== undefined) return;
    this.#isQueued = true;
    this.#clock.soon(() => {
      this.#isQueued = false;
      if (this.#commitUnderWay === undefined) void this.#run();
    });
  }

  /** It counts as under way before the first turn is opened: what a broken turn wants written has to wait like others. */
  #run(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#commitUnderWay = promise;
    void this.#commitTurns()
      .then(
        () => this.#free(),
        (error: unknown) => {
          this.#commitUnderWay = undefined;
          this.#onLost(error);
        },
      )
      .then(resolve);
    return promise;
  }

  #free(): void {
    this.#commitUnderWay = undefined;
    if (this.#dirty.length > 0) this.#queue();
  }
}
