import { messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import { type Changes, type InstanceRow, type MarkRow, noChanges } from "../stores/store.ts";
import { startsOfChildren } from "./children.ts";
import type { Effect, InstanceActor } from "./instance-actor.ts";
import type { InstanceEntry } from "./instance-entry.ts";
import type { Message, Origin } from "./message.ts";
import { parkedError, type Residents } from "./residents.ts";
import type { WakeQueue } from "./wake-queue.ts";
import type { WorkflowGates } from "./workflow-gate.ts";

/** What parking needs of its shard. */
export interface ParkingShard {
  readonly logger: Logger;
  readonly dispatcher: Dispatcher;
  readonly gates: WorkflowGates;
  readonly residents: Residents;
  readonly wakes: WakeQueue<InstanceEntry>;
  /** A commit of the shard's own, when it is its turn. */
  readonly commit: (changes: Changes) => Promise<void>;
  /** Letters that will not be read count as read. */
  readonly consumed: (origins: readonly Origin[]) => MarkRow[];
  /** Nobody waits for it any longer; gives back what it had not read. */
  readonly dismiss: (entry: InstanceEntry, error: unknown) => Message[];
  readonly withActor: (id: string, use: (actor: InstanceActor) => void) => Promise<void>;
  /** Writes letters of the instance outside of its turns, and posts them. */
  readonly send: (actor: InstanceActor, effects: readonly Effect[]) => Promise<void>;
}

/**
 * Instances out of service. A turn that broke an invariant, or that the store will never take, must harm nobody else and
 * must not be hidden: its instance is taken out, marked in the store, and waits for a user. What it goes on from is its
 * last durable state.
 */
export class Parking {
  readonly #shard: ParkingShard;

  constructor(shard: ParkingShard) {
    this.#shard = shard;
  }

  /** `row` is what the store has of it; undefined if it has none that is unfinished. */
  async park(entry: InstanceEntry, row: InstanceRow | undefined, error: unknown): Promise<void> {
    const { logger } = this.#shard;
    const { id: instanceId, workflow } = entry;
    const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    logger.error({ instanceId, workflow, reason }, "an instance was parked after an internal error");
    const origins = this.#evict(entry, reason);
    if (row === undefined) return;
    try {
      const changes = noChanges();
      changes.instances.push({ ...row, parked: reason });
      changes.marks = this.#shard.consumed(origins);
      await this.#shard.commit(changes);
    } catch (cause) {
      logger.error({ instanceId, error: messageOf(cause) }, "a parked instance could not be marked in the store");
    }
  }

  isParked(id: string): boolean {
    return this.#shard.residents.get(id)?.parked !== undefined;
  }

  /** Puts a parked instance back into service. */
  async unpark(id: string): Promise<void> {
    const { residents, commit, withActor } = this.#shard;
    const entry = residents.get(id);
    if (entry?.parked === undefined) return;
    const changes = noChanges();
    changes.instances.push({ ...(await residents.row(entry)), parked: null });
    await commit(changes);
    // Another call may have been quicker.
    if (entry.parked === undefined) return;
    entry.parked = undefined;
    await withActor(id, (actor) => this.#goOn(entry, actor));
  }

  /** Gives back which letters it will not read. */
  #evict(entry: InstanceEntry, reason: string): Origin[] {
    const { actor } = entry;
    const { dispatcher, wakes, dismiss } = this.#shard;
    entry.parked = reason;
    wakes.set(entry, undefined);
    const unread = dismiss(entry, parkedError(entry));
    entry.actor = undefined;
    const runs = [...dispatcher.listWaiting(), ...dispatcher.listRunning()].map(({ run }) => run);
    dispatcher.abort(runs.filter(({ owner }) => owner === actor).map(({ attemptId }) => attemptId));
    return unread.flatMap((message) => ("origin" in message ? message.origin : []));
  }

  #goOn(entry: InstanceEntry, actor: InstanceActor): void {
    const { dispatcher, gates, wakes } = this.#shard;
    wakes.set(entry, actor.machine.nextWake());
    for (const run of actor.resumeTasks(false)) dispatcher.enqueue(run);
    // Nobody gave it a place while it was parked.
    const { maxInstances } = actor.definition.spec;
    if (actor.machine.status === "Ready") gates.rejoin(entry.workflow, entry.id, maxInstances);
    void this.#askChildren(actor);
  }

  /** Letters that came while it was parked were dropped. Starting a child that is there makes it tell its end again. */
  async #askChildren(actor: InstanceActor): Promise<void> {
    try {
      await this.#shard.send(actor, startsOfChildren(actor.machine));
    } catch (error) {
      const fields = { instanceId: actor.id, error: messageOf(error) };
      this.#shard.logger.error(fields, "the children of an instance could not be asked");
    }
  }
}
