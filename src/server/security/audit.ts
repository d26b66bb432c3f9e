import type { Clock, Timer } from "../../base/clock.ts";
import { messageOf } from "../../base/error.ts";
import type { Logger } from "../../base/logger.ts";
import type { LineRow, Store } from "../../stores/store.ts";
import type { AuditEntry } from "./audit-entry.ts";
import { RefusalWindows } from "./refusal-windows.ts";

export interface AuditFilter {
  /** Only entries of this namespace. */
  readonly namespace?: string | undefined;
  readonly who?: string | undefined;
  readonly what?: string | undefined;
  readonly target?: string | undefined;
  readonly since?: number | undefined;
}

export interface AuditPage {
  /** Newest first. */
  readonly lines: readonly AuditLine[];
  /** Position of the next page; undefined on the last one. */
  readonly before: number | undefined;
}

export type AuditLine = AuditEntry & { readonly number: number; readonly at: number };

export interface AuditParts {
  readonly store: Pick<Store, "appendLines" | "listLines" | "deleteLines">;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Retention; 0 for ever. */
  readonly keepMs: number;
}

const topic = "audit";

/** Batching interval, so that a busy server does not wait for the disk once per entry. */
const gatherMs = 5;

/** Maximum wait of a response for its entry. */
const patienceMs = 5000;

const purgeEveryMs = 3_600_000;

/** Limit of entries scanned for one page; a partial page has the next position. */
const scannedMax = 20_000;
const scannedAtOnce = 1000;

/** Tolerated clock skew between members: entries are only nearly ordered by time. */
const skewMs = 300_000;

/** The audit log. Concurrent entries are written in one batch; each response waits for its own. */
export class Audit {
  readonly #parts: AuditParts;
  readonly #refusals: RefusalWindows;
  #gathered: { at: number; entry: AuditEntry }[] = [];
  #written: Promise<void> | undefined;
  #lastWriteAt = -Infinity;
  #purgeTimer: Timer | undefined;

  constructor(parts: AuditParts) {
    this.#parts = parts;
    this.#refusals = new RefusalWindows(parts.clock, (entry) => void this.append(entry));
  }

  start(): void {
    if (this.#parts.keepMs > 0) void this.#purge();
  }

  /** Writes pending counts of refusals. */
  async stop(): Promise<void> {
    this.#purgeTimer?.cancel();
    this.#purgeTimer = undefined;
    this.#refusals.close();
    await this.#written;
  }

  /** Writes an entry. Resolves when it is durable, when it is in the server's log because the store failed, or after some seconds. */
  append(entry: AuditEntry): Promise<void> {
    this.#gathered.push({ at: this.#parts.clock.now(), entry });
    this.#written ??= this.#write();
    return this.#written;
  }

  /** Writes the first refusal of a kind at once; those of the next minute are counted in one entry. */
  async appendRefusal(entry: AuditEntry): Promise<void> {
    if (this.#refusals.isFirst(entry)) await this.append(entry);
  }

  async read(filter: AuditFilter, page: { readonly before?: number; readonly limit: number }): Promise<AuditPage> {
    const found: AuditLine[] = [];
    let { before } = page;
    for (let scanned = 0; scanned < scannedMax;) {
      const limit = Math.min(scannedAtOnce, Math.max(page.limit, 100));
      const rows = await this.#parts.store.listLines(topic, {
        last: true,
        limit,
        ...(before !== undefined && { before }),
      });
      for (const row of rows.toReversed()) {
        if (filter.since !== undefined && row.at < filter.since - skewMs) return { lines: found, before: undefined };
        const line = lineOf(row);
        if (fits(line, filter) && found.push(line) === page.limit) return { lines: found, before: row.number };
      }
      if (rows.length < limit) return { lines: found, before: undefined };
      before = rows[0]?.number;
      scanned += rows.length;
    }
    return { lines: found, before };
  }

  async #write(): Promise<void> {
    const { clock } = this.#parts;
    const waitMs = this.#lastWriteAt + gatherMs - clock.monotonic();
    await new Promise<void>((resolve) => {
      if (waitMs > 0) clock.after(waitMs, resolve);
      else clock.soon(resolve);
    });
    this.#lastWriteAt = clock.monotonic();
    const entries = this.#gathered;
    this.#gathered = [];
    this.#written = undefined;
    const late = Promise.withResolvers<void>();
    const timer = clock.after(patienceMs, late.resolve);
    await Promise.race([this.#save(entries), late.promise]);
    timer.cancel();
  }

  async #save(entries: readonly { at: number; entry: AuditEntry }[]): Promise<void> {
    const { store, logger } = this.#parts;
    try {
      await store.appendLines(entries.map(({ at, entry }) => ({ topic, at, body: JSON.stringify(entry) })));
    } catch (error) {
      for (const { at, entry } of entries) {
        logger.error({ ...entry, at, error: messageOf(error) }, "an entry of the audit log could not be stored");
      }
    }
  }

  /** Deletes expired entries in small batches. */
  async #purge(): Promise<void> {
    const { store, clock, logger, keepMs } = this.#parts;
    this.#purgeTimer = clock.after(purgeEveryMs, () => void this.#purge());
    try {
      await store.deleteLines(topic, clock.now() - keepMs);
    } catch (error) {
      logger.warn({ error: messageOf(error) }, "old entries of the audit log could not be deleted; retrying");
    }
  }
}

function lineOf({ number, at, body }: LineRow): AuditLine {
  return { number, at, ...(JSON.parse(body) as AuditEntry) };
}

/** A node, an event or a child of an instance is named below it. */
function isAbout(target: string | null, wanted: string): boolean {
  return target !== null && (target === wanted || target.startsWith(`${wanted}/`));
}

function fits({ who, what, target, at, namespace }: AuditLine, filter: AuditFilter): boolean {
  return (
    (filter.namespace === undefined || namespace === filter.namespace) &&
    (filter.who === undefined || who === filter.who) &&
    (filter.what === undefined || what === filter.what) &&
    (filter.target === undefined || isAbout(target, filter.target)) &&
    (filter.since === undefined || at >= filter.since)
  );
}
