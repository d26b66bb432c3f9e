import { eventsIn } from "../../src/kernel/event-text.ts";
import type { Event } from "../../src/kernel/event.ts";
import { hasEnded, type InstanceStatus } from "../../src/kernel/status.ts";
import type { Batch, Store } from "../../src/stores/store.ts";
import { NewTurns } from "../../src/stores/batch-turns.rig.ts";

/**
 * What a store has answered for: the events of commits whose promise was resolved. Read without waiting, so that whoever
 * sees an effect can look at that very moment whether its cause was durable and known to be.
 */
export class Ledger {
  readonly #keys = new Map<string, number>();
  readonly #ids = new Map<number, string>();
  readonly #events = new Map<number, Event[]>();
  readonly #statuses = new Map<number, InstanceStatus>();
  readonly #newTurns = new NewTurns();

  /** Who is in the batch, whether or not it lands: keys and ids belong together before anything is written. */
  meet({ changes }: Batch): void {
    for (const { key, id } of [...changes.instances, ...changes.finished]) {
      this.#keys.set(id, key);
      this.#ids.set(key, id);
    }
  }

  acknowledge({ changes }: Batch): void {
    for (const { instance, events } of this.#newTurns.in(changes)) {
      const all = this.#events.get(instance) ?? [];
      all.push(...eventsIn(events));
      this.#events.set(instance, all);
    }
    for (const { key, status } of [...changes.instances, ...changes.finished]) this.#statuses.set(key, status);
  }

  /** What the next process finds, also what an earlier one had written and never heard about. */
  async readFrom(store: Store): Promise<void> {
    for (const { key, id, status } of await store.listInstances({ limit: 1_000_000 })) {
      this.#keys.set(id, key);
      this.#ids.set(key, id);
      this.#statuses.set(key, status);
      const turns = await store.loadHistory([key]);
      this.#newTurns.noteTurn(key, turns.at(-1)?.turn ?? -1);
      this.#events.set(
        key,
        turns.flatMap(({ events }) => eventsIn(events)),
      );
    }
  }

  /** Ids of the instances that the batch writes history of. */
  idsIn({ changes }: Batch): string[] {
    const instances = new Set(this.#newTurns.peek(changes).map(({ instance }) => instance));
    return Array.from(instances, (instance) => this.#ids.get(instance) ?? `key ${instance}`);
  }

  events(id: string): readonly Event[] {
    return this.#events.get(this.#keys.get(id) ?? -1) ?? [];
  }

  /** The newest status on record; undefined if nothing is. */
  status(id: string): InstanceStatus | undefined {
    return this.#statuses.get(this.#keys.get(id) ?? -1);
  }

  hasEnded(id: string): boolean {
    const status = this.status(id);
    return status !== undefined && hasEnded(status);
  }

  key(id: string): number {
    const key = this.#keys.get(id);
    if (key === undefined) throw new Error(`no commit ever named instance ${id}`);
    return key;
  }

  /** How often a task was handed to the dispatcher. */
  scheduled(id: string, task: number): number {
    return this.events(id).filter((event) => event.type === "TasksScheduled" && event.tasks.includes(task)).length;
  }

  count(id: string, type: Event["type"]): number {
    return this.events(id).filter((event) => event.type === type).length;
  }
}
