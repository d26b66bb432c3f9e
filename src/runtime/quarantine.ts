import { messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { InstanceRow, OffsetRow } from "../stores/store.ts";
import type { RemoteAttempts } from "./remote-attempts.ts";
import { startsOfChildren } from "./children.ts";
import type { InstanceActor } from "./instance-actor.ts";
import type { InstanceEntry } from "./instance-entry.ts";
import type { OwnRows } from "./lane.ts";
import { outboxMessageOf } from "./outbox-message-of.ts";
import type { Message, Origin } from "./message.ts";
import type { OutboxMessage } from "./outbox.ts";
import { CrashLoop } from "./reaction-caution.ts";
import { quarantinedError, type InstanceTable } from "./instance-table.ts";
import type { WakeQueue } from "./wake-queue.ts";

/** What quarantine needs of its shard. */
export interface QuarantineShard {
  readonly logger: Logger;
  readonly dispatcher: Dispatcher;
  readonly remoteAttempts: RemoteAttempts;
  /** One that waited for a place, and may have been passed over, waits again. */
  readonly rejoinGate: (actor: InstanceActor) => Promise<void>;
  readonly instances: InstanceTable;
  readonly wakes: WakeQueue<InstanceEntry>;
  /** A commit of the shard's own, when it is its turn. */
  readonly commit: (rows: OwnRows) => Promise<void>;
  /** Messages that will not be read count as read. */
  readonly consumed: (origins: readonly Origin[]) => OffsetRow[];
  /** Nobody waits for it any longer; gives back what it had not read. */
  readonly dismiss: (entry: InstanceEntry, error: unknown) => Message[];
  readonly withActor: (id: string, use: (actor: InstanceActor) => void) => Promise<void>;
  /** Writes messages outside of turns, and posts them. */
  readonly send: (messages: readonly OutboxMessage[]) => Promise<void>;
}

/**
 * Instances out of service. A turn that broke an invariant, or that the store will never take, must harm nobody else and
 * must not be hidden: its instance is taken out, marked in the store, and waits for a user. What it goes on from is its
 * last durable state.
 */
export class Quarantine {
  readonly #shard: QuarantineShard;

  constructor(shard: QuarantineShard) {
    this.#shard = shard;
  }

  /** `row` is what the store has of it; undefined if it has none that is unfinished. */
  async add(entry: InstanceEntry, row: InstanceRow | undefined, error: unknown): Promise<void> {
    const { logger } = this.#shard;
    const { id: instanceId, workflow } = entry;
    const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    const cause = error instanceof CrashLoop ? "because of a crash loop of its code" : "after an internal error";
    logger.error({ instanceId, workflow, reason }, `an instance was quarantined ${cause}`);
    const origins = this.#evict(entry, reason);
    if (row === undefined) return;
    try {
      const instances = [{ ...row, quarantined: reason }];
      await this.#shard.commit(() => ({ instances, offsets: this.#shard.consumed(origins) }));
    } catch (failure) {
      logger.error({ instanceId, error: messageOf(failure) }, "a quarantine could not be recorded in the store");
    }
  }

  has(id: string): boolean {
    return this.#shard.instances.get(id)?.quarantined !== undefined;
  }

  /** Puts a quarantined instance back into service. */
  async release(id: string): Promise<void> {
    const { instances, commit, withActor } = this.#shard;
    const entry = instances.get(id);
    if (entry?.quarantined === undefined) return;
    await commit({ instances: [{ ...(await instances.row(entry)), quarantined: null }] });
    // Another call may have been quicker.
    if (entry.quarantined === undefined) return;
    entry.quarantined = undefined;
    await withActor(id, (actor) => this.#goOn(entry, actor));
  }

  /** Gives back which messages it will not read. */
  #evict(entry: InstanceEntry, reason: string): Origin[] {
    const { actor } = entry;
    const { dispatcher, remoteAttempts, wakes, dismiss, instances } = this.#shard;
    entry.quarantined = reason;
    instances.noteWaiting(entry, 0);
    wakes.set(entry, undefined);
    const unread = dismiss(entry, quarantinedError(entry));
    entry.actor = undefined;
    if (actor !== undefined) remoteAttempts.forget(actor);
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
   * Messages that came while it was quarantined were dropped. Starting a child that is there makes it tell its end again; and
   * nobody gave it a place.
   */
  async #askOthers(actor: InstanceActor): Promise<void> {
    try {
      if (actor.machine.status === "Ready") await this.#shard.rejoinGate(actor);
      const messages = startsOfChildren(actor.machine).flatMap((start) => outboxMessageOf(actor, start) ?? []);
      if (messages.length > 0) await this.#shard.send(messages);
    } catch (error) {
      const fields = { instanceId: actor.id, error: messageOf(error) };
      this.#shard.logger.error(fields, "an instance that is back in service could not ask what it has missed");
    }
  }
}
