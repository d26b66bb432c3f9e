import { messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { InstanceRow, MarkRow } from "../stores/store.ts";
import type { AttachedAttempts } from "./attached-attempts.ts";
import { startsOfChildren } from "./children.ts";
import type { InstanceActor } from "./instance-actor.ts";
import type { InstanceEntry } from "./instance-entry.ts";
import type { OwnRows } from "./lane.ts";
import { letterOf } from "./letter-of.ts";
import type { Message, Origin } from "./message.ts";
import type { Letter } from "./outbox.ts";
import { Quarantined } from "./reaction-caution.ts";
import { parkedError, type Residents } from "./residents.ts";
import type { WakeQueue } from "./wake-queue.ts";

/** What parking needs of its shard. */
export interface ParkingShard {
  readonly logger: Logger;
  readonly dispatcher: Dispatcher;
  readonly attached: AttachedAttempts;
  /** One that waited for a place, and may have been passed over, waits again. */
  readonly rejoinGate: (actor: InstanceActor) => Promise<void>;
  readonly residents: Residents;
  readonly wakes: WakeQueue<InstanceEntry>;
  /** A commit of the shard's own, when it is its turn. */
  readonly commit: (rows: OwnRows) => Promise<void>;
  /** Letters that will not be read count as read. */
  readonly consumed: (origins: readonly Origin[]) => MarkRow[];
  /** Nobody waits for it any longer; gives back what it had not read. */
  readonly dismiss: (entry: InstanceEntry, error: unknown) => Message[];
  readonly withActor: (id: string, use: (actor: InstanceActor) => void) => Promise<void>;
  /** Writes letters outside of turns, and posts them. */
  readonly send: (letters: readonly Letter[]) => Promise<void>;
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
    const what = error instanceof Quarantined ? "quarantined" : "parked after an internal error";
    logger.error({ instanceId, workflow, reason }, `an instance was ${what}`);
    const origins = this.#evict(entry, reason);
    if (row === undefined) return;
    try {
      const instances = [{ ...row, parked: reason }];
      await this.#shard.commit(() => ({ instances, marks: this.#shard.consumed(origins) }));
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
    await commit({ instances: [{ ...(await residents.row(entry)), parked: null }] });
    // Another call may have been quicker.
    if (entry.parked === undefined) return;
    entry.parked = undefined;
    await withActor(id, (actor) => this.#goOn(entry, actor));
  }

  /** Gives back which letters it will not read. */
  #evict(entry: InstanceEntry, reason: string): Origin[] {
    const { actor } = entry;
    const { dispatcher, attached, wakes, dismiss, residents } = this.#shard;
    entry.parked = reason;
    residents.noteWaiting(entry, 0);
    wakes.set(entry, undefined);
    const unread = dismiss(entry, parkedError(entry));
    entry.actor = undefined;
    if (actor !== undefined) attached.forget(actor);
    const runs = [...dispatcher.listWaiting(), ...dispatcher.listRunning()].map(({ run }) => run);
    dispatcher.abort(runs.filter(({ owner }) => owner === actor).map(({ attemptId }) => attemptId));
    return unread.flatMap((message) => ("origin" in message ? message.origin : []));
  }

  #goOn(entry: InstanceEntry, actor: InstanceActor): void {
    const { dispatcher, wakes } = this.#shard;
    wakes.set(entry, actor.machine.nextWake());
    actor.forgetLosses();
    for (const run of actor.resumeTasks(false, () => "lost")) dispatcher.enqueue(run);
    void this.#askOthers(actor);
  }

  /**
   * Letters that came while it was parked were dropped. Starting a child that is there makes it tell its end again; and
   * nobody gave it a place.
   */
  async #askOthers(actor: InstanceActor): Promise<void> {
    try {
      if (actor.machine.status === "Ready") await this.#shard.rejoinGate(actor);
      const letters = startsOfChildren(actor.machine).flatMap((start) => letterOf(actor, start) ?? []);
      if (letters.length > 0) await this.#shard.send(letters);
    } catch (error) {
      const fields = { instanceId: actor.id, error: messageOf(error) };
      this.#shard.logger.error(fields, "an instance that is back in service could not ask what it has missed");
    }
  }
}
