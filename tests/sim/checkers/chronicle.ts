import type { Event } from "../../../src/kernel/event.ts";
import type { CommitRecord, Evidence, Moment } from "../evidence.ts";

/** A turn as it came to be durable. */
export interface TurnRecord {
  readonly turn: number;
  readonly firstEvent: number;
  /** By the clock of whoever wrote it. */
  readonly at: number;
  readonly events: readonly Event[];
  readonly landed: Moment;
  readonly life: number;
}

/** One life of one id, as the store's commits tell it. */
export interface InstanceChronicle {
  readonly key: number;
  readonly id: string;
  readonly workflow: string;
  readonly version: string;
  readonly turns: TurnRecord[];
}

/** An event with the moment from which it was durable. */
export interface DurableEvent {
  readonly event: Event;
  /** Its number in the instance's history. */
  readonly number: number;
  readonly turnAt: number;
  readonly landed: Moment;
}

/** What the commits tell, in order, each once: a batch that was sent again counts when it first landed. */
export class Chronicle {
  readonly instances = new Map<number, InstanceChronicle>();
  /** By id, the oldest life first. */
  readonly #byId = new Map<string, InstanceChronicle[]>();
  /** By `id:generation`. */
  readonly #byGeneration = new Map<string, InstanceChronicle>();
  readonly #firstLandings: readonly CommitRecord[];

  constructor(commits: readonly CommitRecord[]) {
    this.#firstLandings = firstLandings(commits);
    for (const commit of this.#firstLandings) this.#take(commit);
    for (const instance of this.instances.values()) {
      const lives = this.#byId.get(instance.id) ?? [];
      for (const generation of generationsOf(instance))
        this.#byGeneration.set(`${instance.id}:${generation}`, instance);
      this.#byId.set(
        instance.id,
        [...lives, instance].sort((a, b) => a.key - b.key),
      );
    }
  }

  get landings(): readonly CommitRecord[] {
    return this.#firstLandings;
  }

  livesOf(id: string): readonly InstanceChronicle[] {
    return this.#byId.get(id) ?? [];
  }

  /** The life of the id that was at that generation. */
  at(id: string, generation: number): InstanceChronicle | undefined {
    return this.#byGeneration.get(`${id}:${generation}`);
  }

  #take({ batch, life, at, order }: CommitRecord): void {
    const { instances, finished, history } = batch.changes;
    for (const { key, id, workflow, version } of [...instances, ...finished]) {
      if (!this.instances.has(key)) this.instances.set(key, { key, id, workflow, version, turns: [] });
    }
    for (const { instance, turn, firstEvent, at: turnAt, events } of history) {
      this.instances.get(instance)?.turns.push({
        turn,
        firstEvent,
        at: turnAt,
        events: JSON.parse(events) as Event[],
        landed: { at, order },
        life,
      });
    }
  }
}

const chronicles = new WeakMap<Evidence, Chronicle>();

export function chronicleOf(evidence: Evidence): Chronicle {
  let chronicle = chronicles.get(evidence);
  if (chronicle === undefined) chronicles.set(evidence, (chronicle = new Chronicle(evidence.commits)));
  return chronicle;
}

const events = new WeakMap<InstanceChronicle, readonly DurableEvent[]>();

export function eventsOf(instance: InstanceChronicle): readonly DurableEvent[] {
  let all = events.get(instance);
  if (all === undefined) events.set(instance, (all = durableEvents(instance)));
  return all;
}

function durableEvents({ turns }: InstanceChronicle): DurableEvent[] {
  return turns.flatMap(({ events, firstEvent, at, landed }) =>
    events.map((event, place) => ({ event, number: firstEvent + place, turnAt: at, landed })),
  );
}

function generationsOf({ turns }: InstanceChronicle): number[] {
  return turns.flatMap(({ events }) =>
    events.flatMap((event) =>
      event.type === "InstanceCreated" || event.type === "InstanceReopened" ? [event.generation] : [],
    ),
  );
}

function firstLandings(commits: readonly CommitRecord[]): CommitRecord[] {
  const seen = new Set<string>();
  return commits.filter(({ batch }) => {
    const [first] = batch.fences;
    const name = first === undefined ? "" : `${first.shard}/${first.epoch}/${first.number}`;
    if (seen.has(name)) return false;
    seen.add(name);
    return true;
  });
}
