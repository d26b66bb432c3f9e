import type { Clock, Timer } from "../base/clock.ts";
import { messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { EndStatus } from "../kernel/status.ts";
import type { CallClient } from "../runtime/call-client.ts";
import type { Region } from "../runtime/region.ts";
import type { Store } from "../stores/store.ts";

const minuteMs = 60_000;

/** For this long the same request is recognised when it comes again. */
const requestKeptMs = 24 * 60 * minuteMs;
const forgetEveryMs = 60 * minuteMs;

/** How many ended instances are removed at a time: short commits, so that work goes on between them. */
const purgeChunk = 500;

const endStatuses: readonly EndStatus[] = ["Success", "Failed", "Terminated"];

export interface MaintenanceOptions {
  /** Idle instances leave memory after this long. */
  readonly idleMs: number;
  /** Instances that have not moved for this long are reported. */
  readonly stuckMs: number;
  /** Ended instances are purged after this long, by status; 0 means never. */
  readonly retentionMs: Readonly<Record<EndStatus, number>>;
}

/** What has to be done now and then: letting idle instances go, finding stuck ones, purging old ones. */
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
      this.#logger.warn({ error: messageOf(error) }, "a care round did not finish; the next will try again");
    }
    if (!this.#isStopped) this.start();
  }

  #sweep(): void {
    const now = this.#clock.now();
    const { idleMs, stuckMs } = this.#options;
    for (const entry of this.#region.sweep({ idleBefore: now - idleMs, stuckBefore: now - stuckMs })) {
      const { id: instanceId, workflow, lastTurnAt } = entry;
      this.#logger.warn({ instanceId, workflow, lastTurnAt }, "an instance has made no progress for a long time");
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

  /** Wherever they live. Gives back how many were removed. */
  purgeEnded(status: EndStatus, endedBefore: number): Promise<number> {
    return this.#purgeEnded(status, endedBefore, (found) => this.#calls.purge(found));
  }

  /** One that somebody is about to reopen is left alone. */
  async #purgeEnded(
    status: EndStatus,
    endedBefore: number,
    purge: (found: readonly { key: number; id: string }[]) => Promise<number>,
  ): Promise<number> {
    for (let purged = 0; ;) {
      const found = await this.#store.finishedBefore({ status, endedBefore, limit: purgeChunk });
      const gone = found.length === 0 || this.#isStopped ? 0 : await purge(found);
      if (gone === 0) return purged;
      purged += gone;
    }
  }
}
