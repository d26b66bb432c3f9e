import type { Clock, Timer } from "../base/clock.ts";
import { messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import { instanceFields, localName, qualify } from "../base/namespace.ts";
import type { EndStatus } from "../kernel/status.ts";
import type { CallClient } from "../runtime/call-client.ts";
import type { Region } from "../runtime/region.ts";
import type { InstanceSummary, Store } from "../stores/store.ts";
import { listInstances } from "./list-instances.ts";

const minuteMs = 60_000;

/** Retention of call keys, by which repeated calls are recognised. */
const requestKeptMs = 24 * 60 * minuteMs;
const forgetEveryMs = 60 * minuteMs;

/** Number of ended instances purged per commit: short commits let other work in between. */
const purgeChunk = 500;

const endStatuses: readonly EndStatus[] = ["Success", "Failed", "Terminated"];

export interface MaintenanceOptions {
  /** Time after which idle instances are evicted from memory. */
  readonly idleMs: number;
  /** Time without progress after which instances are reported as stuck. */
  readonly stuckMs: number;
  /** Time after which ended instances are purged, by status; 0 means never. */
  readonly retentionMs: Readonly<Record<EndStatus, number>>;
}

/** Periodic cleanup: evicts idle instances, reports stuck ones, purges ended ones, and deletes old keys of calls. */
export class Maintenance {
  readonly #region: Region;
  readonly #calls: CallClient;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #options: MaintenanceOptions;
  #timer: Timer | undefined;
  #isStopped = false;
  #forgotAt = 0;

  constructor(parts: {
    region: Region;
    calls: CallClient;
    store: Store;
    clock: Clock;
    logger: Logger;
    options: MaintenanceOptions;
  }) {
    this.#region = parts.region;
    this.#calls = parts.calls;
    this.#store = parts.store;
    this.#clock = parts.clock;
    this.#logger = parts.logger;
    this.#options = parts.options;
  }

  start(): void {
    this.#timer = this.#clock.after(minuteMs, () => void this.#round());
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  async #round(): Promise<void> {
    try {
      this.#sweep();
      await this.#purge();
      await this.#forgetRequests();
    } catch (error) {
      this.#logger.warn({ error: messageOf(error) }, "a maintenance round failed; the next one tries again");
    }
    if (!this.#isStopped) this.start();
  }

  #sweep(): void {
    const now = this.#clock.now();
    const { idleMs, stuckMs } = this.#options;
    for (const entry of this.#region.sweep({ idleBefore: now - idleMs, stuckBefore: now - stuckMs })) {
      const { id, workflow, lastTurnAt } = entry;
      const fields = { ...instanceFields(id), workflow: localName(workflow), lastTurnAt };
      this.#logger.warn(fields, "an instance has made no progress for a long time");
    }
  }

  async #purge(): Promise<void> {
    for (const status of endStatuses) {
      const keepMs = this.#options.retentionMs[status];
      if (keepMs === 0) continue;
      await this.#purgeEnded(status, this.#clock.now() - keepMs, (found) => this.#region.purgeOwn(found));
    }
  }

  async #forgetRequests(): Promise<void> {
    const now = this.#clock.now();
    if (now - this.#forgotAt < forgetEveryMs) return;
    this.#forgotAt = now;
    await this.#region.forgetRequests(now - requestKeptMs);
  }

  /** Purges ended instances of a namespace, whoever owns them. Returns how many were removed. */
  async purgeEnded(
    namespace: string,
    { status, endedBefore }: { readonly status: EndStatus; readonly endedBefore: number },
  ): Promise<number> {
    let purged = 0;
    let page: InstanceSummary[] = [];
    do {
      const before = page.at(-1);
      const filter = { status: [status], limit: purgeChunk, ...(before && { before }) };
      page = await listInstances(this.#store, namespace, filter);
      const old = page.filter(({ endedAt }) => endedAt !== null && endedAt < endedBefore);
      if (this.#isStopped) break;
      purged += await this.#calls.purge(old.map(({ key, id }) => ({ key, id: qualify(namespace, id) })));
    } while (page.length > 0);
    return purged;
  }

  /** An instance that is being reopened is not removed. */
  async #purgeEnded(
    status: EndStatus,
    endedBefore: number,
    purge: (found: readonly { key: number; id: string }[]) => Promise<number>,
  ): Promise<number> {
    for (let purged = 0; ;) {
      const found = await this.#store.listFinishedBefore({ status, endedBefore, limit: purgeChunk });
      const gone = found.length === 0 || this.#isStopped ? 0 : await purge(found);
      if (gone === 0) return purged;
      purged += gone;
    }
  }
}
