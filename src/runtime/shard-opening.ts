import { messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { InstanceRow, ShardClaim, Store } from "../stores/store.ts";
import type { FencingToken } from "./fencing-token.ts";
import type { InboundMessages } from "./inbound-messages.ts";
import type { InstanceActor } from "./instance-actor.ts";
import type { InstanceEntry } from "./instance-entry.ts";
import type { InstanceTable } from "./instance-table.ts";
import type { InstanceTaskRun } from "./instance-task-run.ts";
import type { InstanceWakes } from "./instance-wakes.ts";
import type { Outbox } from "./outbox.ts";
import type { AttemptHosting, DelegatedAttempts } from "./delegated-attempts.ts";

export interface ShardOpeningParts {
  readonly shard: number;
  readonly token: FencingToken;
  readonly logger: Logger;
  readonly claim: ShardClaim;
  readonly store: Store;
  readonly dispatcher: Dispatcher;
  readonly hosting: AttemptHosting;
  readonly table: InstanceTable;
  readonly inbound: InboundMessages;
  readonly outbox: Outbox;
  readonly wakes: InstanceWakes;
  readonly delegatedAttempts: DelegatedAttempts;
}

/** Recovery: brings back what was unfinished when the shard was claimed. */
export class ShardOpening {
  readonly #parts: ShardOpeningParts;
  #loaded: { rows: readonly InstanceRow[]; actors: readonly InstanceActor[] } = { rows: [], actors: [] };

  constructor(parts: ShardOpeningParts) {
    this.#parts = parts;
  }

  /** Reads the shard from the store. Nothing runs before `resume`. */
  async load(): Promise<void> {
    const { shard, store, table, inbound, outbox } = this.#parts;
    // Nobody else writes rows of the shard since it was claimed, and the shard has no owner until it is open.
    const reads = [store.loadOffsets(shard), store.loadSent(shard), table.loadEntries()] as const;
    const [offsets, sent, entries] = await Promise.all(reads);
    inbound.restore(offsets);
    outbox.restore(sent);
    const rows = entries.filter(({ quarantined }) => quarantined === null);
    this.#loaded = { rows, actors: await table.restoreAll(rows.filter(({ active }) => active)) };
  }

  /** Sets the timers of all instances, and gives their attempts to the dispatcher again. */
  resume(): void {
    const { claim, dispatcher, table, wakes } = this.#parts;
    const { rows, actors } = this.#loaded;
    this.#loaded = { rows: [], actors: [] };
    for (const row of rows) wakes.set(table.get(row.id) as InstanceEntry, row.wakeAt ?? undefined);
    for (const actor of actors) {
      const runs = actor.resumeTasks(claim.released, (run, worker) => this.#find(run, worker));
      for (const run of runs) dispatcher.enqueue(run);
    }
    for (const [host, runs] of this.#parts.delegatedAttempts.inPools) void this.#takeBackMissing(host, runs);
  }

  /** The last owner may have recorded a start on another member and be gone before its grant left. */
  async #takeBackMissing(host: string, runs: readonly InstanceTaskRun[]): Promise<void> {
    const { hosting, delegatedAttempts, token, logger } = this.#parts;
    const { incarnation, shard, epoch } = token;
    try {
      const ids = runs.map(({ attemptId }) => attemptId);
      const missing = new Set(await hosting.findMissing(host, { incarnation, shard, epoch }, ids));
      for (const run of runs) if (missing.has(run.attemptId)) delegatedAttempts.takeBack(run);
    } catch (error) {
      logger.debug({ host, error: messageOf(error) }, "a host did not say which attempts it has; their leases decide");
    }
  }

  /** Finds an attempt that was running when the shard was opened. */
  #find(run: InstanceTaskRun, worker: string): "here" | "elsewhere" | "stopped" | "lost" {
    const { dispatcher, hosting, delegatedAttempts } = this.#parts;
    if (dispatcher.rebind(run)) {
      hosting.reclaim(run.attemptId);
      return "here";
    }
    delegatedAttempts.add(run, worker);
    return delegatedAttempts.classify(run.attemptId);
  }
}
