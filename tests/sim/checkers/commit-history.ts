import { eventsIn } from "../../../src/kernel/event-text.ts";
import type { Event, InstanceContinued, InstanceCreated } from "../../../src/kernel/event.ts";
import type { Payload } from "../../../src/kernel/payload.ts";
import { NewTurns } from "../../../src/stores/batch-turns.rig.ts";
import type { CommitRecord, Evidence, Moment } from "../evidence.ts";

/** A durable turn. */
export interface TurnRecord {
  readonly turn: number;
  readonly firstEvent: number;
  /** Its time by the clock of the member that wrote it. */
  readonly at: number;
  readonly events: readonly Event[];
  readonly landed: Moment;
  readonly life: number;
}

/** One instance of an id, as the commits contain it. */
export interface InstanceCommits {
  readonly key: number;
  readonly id: string;
  readonly workflow: string;
  readonly version: string;
  readonly turns: TurnRecord[];
}

/** An event and the moment from which it was durable. */
export interface DurableEvent {
  readonly event: Event;
  /** Its number in the instance's history. */
  readonly number: number;
  readonly turnAt: number;
  readonly landed: Moment;
  /** The generation of the instance at that event. */
  readonly generation: number;
}

/** The instances in the commits, in order. A batch that was sent again counts when it was first applied. */
export class CommitHistory {
  readonly instances = new Map<number, InstanceCommits>();
  /** By id, the oldest instance first. */
  readonly #byId = new Map<string, InstanceCommits[]>();
  /** Keyed by `id:generation`. */
  readonly #byGeneration = new Map<string, InstanceCommits>();
  readonly #firstLandings: readonly CommitRecord[];
  readonly #newTurns = new NewTurns();
  /** Keyed by `key:ref`. */
  readonly #payloads = new Map<string, string>();

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

  /** The text of a value, including one in a row of its own that was deleted since. */
  textOf(key: number, payload: Payload): string {
    return typeof payload === "string" ? payload : (this.#payloads.get(`${key}:${payload.ref}`) ?? "");
  }

  /** The marker that a client's start put into the context of a DAG, or into the input of code. */
  markerOf(instance: InstanceCommits): string | undefined {
    const birth = birthOf(instance);
    if (birth === undefined || birth.parent !== undefined) return undefined;
    if (birth.type === "InstanceCreated" && birth.forkedFrom !== undefined) return undefined;
    const inContext = birth.type === "InstanceCreated" ? birth.context["marker"] : undefined;
    if (inContext !== undefined) return JSON.parse(this.textOf(instance.key, inContext)) as string;
    const input = birth.input === undefined ? "{}" : this.textOf(instance.key, birth.input);
    return (JSON.parse(input) as { marker?: string }).marker;
  }

  livesOf(id: string): readonly InstanceCommits[] {
    return this.#byId.get(id) ?? [];
  }

  /** The instance of the id that had that generation. */
  at(id: string, generation: number): InstanceCommits | undefined {
    return this.#byGeneration.get(`${id}:${generation}`);
  }

  #take({ batch, life, at, order }: CommitRecord): void {
    const { instances, finished, payloads } = batch.changes;
    for (const { instance, ref, body } of payloads) this.#payloads.set(`${instance}:${ref}`, body);
    for (const { key, id, workflow, version } of [...instances, ...finished]) {
      if (!this.instances.has(key)) this.instances.set(key, { key, id, workflow, version, turns: [] });
    }
    for (const { instance, turn, firstEvent, at: turnAt, events } of this.#newTurns.in(batch.changes)) {
      this.instances.get(instance)?.turns.push({
        turn,
        firstEvent,
        at: turnAt,
        events: eventsIn(events),
        landed: { at, order },
        life,
      });
    }
  }
}

const histories = new WeakMap<Evidence, CommitHistory>();

export function commitHistoryOf(evidence: Evidence): CommitHistory {
  let commitHistory = histories.get(evidence);
  if (commitHistory === undefined) histories.set(evidence, (commitHistory = new CommitHistory(evidence.commits)));
  return commitHistory;
}

type GenerationEvent = Extract<Event, { type: "InstanceCreated" | "InstanceContinued" | "InstanceReopened" }>;

export function beginsGeneration(event: Event): event is GenerationEvent {
  return event.type === "InstanceCreated" || event.type === "InstanceContinued" || event.type === "InstanceReopened";
}

const events = new WeakMap<InstanceCommits, readonly DurableEvent[]>();

export function eventsOf(instance: InstanceCommits): readonly DurableEvent[] {
  let all = events.get(instance);
  if (all === undefined) events.set(instance, (all = durableEvents(instance)));
  return all;
}

function durableEvents({ turns }: InstanceCommits): DurableEvent[] {
  let generation = 0;
  return turns.flatMap(({ events, firstEvent, at, landed }) =>
    events.map((event, place) => {
      if (beginsGeneration(event)) generation = event.generation;
      return { event, number: firstEvent + place, turnAt: at, landed, generation };
    }),
  );
}

/** The first event. Code may continue as new in its first turn, and what was before that is not recorded. */
export function birthOf({ turns }: InstanceCommits): InstanceCreated | InstanceContinued | undefined {
  const first = turns[0]?.events[0];
  return first?.type === "InstanceCreated" || first?.type === "InstanceContinued" ? first : undefined;
}

/** Whether the event was copied from the instance that this one was forked from. */
export function isCopied(instance: InstanceCommits, { landed }: DurableEvent): boolean {
  const birth = birthOf(instance);
  const isFork = birth?.type === "InstanceCreated" && birth.forkedFrom !== undefined;
  return isFork && landed.order === instance.turns[0]?.landed.order;
}

function generationsOf({ turns }: InstanceCommits): number[] {
  return turns.flatMap(({ events }) => events.flatMap((event) => (beginsGeneration(event) ? [event.generation] : [])));
}

/** A commit that is sent again may leave out a shard that was lost meanwhile: it is known by any of its fences. */
function firstLandings(commits: readonly CommitRecord[]): CommitRecord[] {
  const seen = new Set<string>();
  return commits.filter(({ batch }) => {
    const names = batch.fences.map(({ shard, epoch, number }) => `${shard}/${epoch}/${number}`);
    const isRepeated = names.some((name) => seen.has(name));
    for (const name of names) seen.add(name);
    return !isRepeated;
  });
}
