import { messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import { instanceFields, localName } from "../base/namespace.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { InstanceRow } from "../stores/store.ts";
import { turnsIn } from "../stores/turn-text.ts";
import type { GateClient } from "./gate-client.ts";
import type { InboundMessages } from "./inbound-messages.ts";
import type { DelegatedAttempts } from "./delegated-attempts.ts";
import { startsOfChildren } from "./children.ts";
import type { InstanceActor } from "./instance-actor.ts";
import type { InstanceEntry } from "./instance-entry.ts";
import type { OwnRows } from "./lane.ts";
import { outboxMessageOf } from "./outbox-message-of.ts";
import type { Origin } from "./message.ts";
import type { OutboxMessage } from "./outbox.ts";
import { CrashLoop } from "./reaction-caution.ts";
import { quarantinedError, type InstanceTable } from "./instance-table.ts";
import type { InstanceWakes } from "./instance-wakes.ts";
import type { ShardInstances } from "./shard-instances.ts";

/** The other parts of the shard. */
export interface QuarantineParts {
  readonly logger: Logger;
  readonly dispatcher: Dispatcher;
  readonly delegatedAttempts: DelegatedAttempts;
  readonly gate: GateClient;
  readonly table: InstanceTable;
  readonly instances: ShardInstances;
  readonly wakes: InstanceWakes;
  readonly inbound: InboundMessages;
  /** Writes rows outside of turns. */
  readonly commit: (rows: OwnRows) => Promise<void>;
  /** Writes messages outside of turns, and posts them. */
  readonly send: (messages: readonly OutboxMessage[]) => Promise<void>;
}

/**
 * Instances out of service. A turn that broke an invariant, or that the store will never take, must harm no other
 * instance and must not be hidden: its instance is evicted, marked in the store, and waits for a user to resume it from
 * its last durable state.
 */
export class Quarantine {
  readonly #parts: QuarantineParts;
  readonly #releases = new Map<InstanceEntry, Promise<void>>();

  constructor(parts: QuarantineParts) {
    this.#parts = parts;
  }

  /** `row` is its row in the store; undefined if it has none, because it has ended or never began. */
  async add(entry: InstanceEntry, row: InstanceRow | undefined, error: unknown): Promise<void> {
    const { logger } = this.#parts;
    const fields = instanceFields(entry.id);
    const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    const cause = error instanceof CrashLoop ? "because of a crash loop of its code" : "after an internal error";
    logger.error({ ...fields, workflow: localName(entry.workflow), reason }, `an instance was quarantined ${cause}`);
    const origins = this.#evict(entry, reason);
    if (row === undefined) return;
    try {
      const instances = [{ ...row, quarantined: reason }];
      await this.#parts.commit(() => ({ instances, offsets: this.#parts.inbound.consume(origins) }));
    } catch (failure) {
      logger.error({ ...fields, error: messageOf(failure) }, "a quarantine could not be recorded in the store");
    }
  }

  has(id: string): boolean {
    return this.#parts.table.get(id)?.quarantined !== undefined;
  }

  /** Resumes a quarantined instance. Calls at the same time share one release. */
  async release(id: string): Promise<void> {
    const entry = this.#parts.table.get(id);
    if (entry?.quarantined === undefined) return;
    const releasing = this.#releases.get(entry) ?? this.#release(entry).finally(() => this.#releases.delete(entry));
    this.#releases.set(entry, releasing);
    await releasing;
  }

  async #release(entry: InstanceEntry): Promise<void> {
    const { table, instances, commit } = this.#parts;
    const { history: text, ...row } = await table.row(entry);
    // An instance that is not in memory is at rest, so its turns are rows.
    const history = text === null ? [] : turnsIn(text, row.key);
    await commit({ instances: [{ ...row, quarantined: null, history: null }], history });
    entry.quarantined = undefined;
    entry.hasTurnsInRow = false;
    await instances.withActor(entry.id, (actor) => this.#resume(entry, actor));
  }

  /** Returns the origins of messages that it will not read. */
  #evict(entry: InstanceEntry, reason: string): Origin[] {
    const { actor } = entry;
    const { dispatcher, delegatedAttempts, wakes, table, instances } = this.#parts;
    entry.quarantined = reason;
    table.noteWaiting(entry, 0);
    wakes.set(entry, undefined);
    const unread = instances.dismiss(entry, quarantinedError(entry));
    entry.actor = undefined;
    if (actor !== undefined) delegatedAttempts.forget(actor);
    const runs = [...dispatcher.status.listWaiting(), ...dispatcher.status.listRunning()].map(({ run }) => run);
    dispatcher.abort(runs.filter(({ listener }) => listener === actor).map(({ attemptId }) => attemptId));
    return unread.flatMap((message) => ("origin" in message ? message.origin : []));
  }

  #resume(entry: InstanceEntry, actor: InstanceActor): void {
    const { dispatcher, wakes } = this.#parts;
    wakes.set(entry, actor.machine.nextWake());
    actor.forgetLosses();
    for (const run of actor.resumeTasks(false, () => "lost")) dispatcher.enqueue(run);
    void this.#askOthers(actor);
  }

  /**
   * Messages that came while it was quarantined were dropped. So `StartChild` is sent again, which makes children that have
   * ended report again, and a queued instance applies again for a place under its workflow's maximum.
   */
  async #askOthers(actor: InstanceActor): Promise<void> {
    try {
      if (actor.machine.status === "Ready") await this.#parts.gate.rejoin(actor);
      const messages = startsOfChildren(actor.machine).flatMap((start) => outboxMessageOf(actor, start) ?? []);
      if (messages.length > 0) await this.#parts.send(messages);
    } catch (error) {
      const fields = { ...instanceFields(actor.id), error: messageOf(error) };
      this.#parts.logger.error(
        fields,
        "a resumed instance could not ask for the messages it missed while it was quarantined",
      );
    }
  }
}
