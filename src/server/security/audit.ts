import type { Clock } from "../../base/clock.ts";
import { messageOf } from "../../base/error.ts";
import type { Logger } from "../../base/logger.ts";
import type { LineRow, Store } from "../../stores/store.ts";

export interface AuditEntry {
  readonly who: string;
  readonly what: string;
  readonly target: string | null;
  /** HTTP status of the answer. */
  readonly status: number;
}

const topic = "audit";

/** Writes are this far apart, so that a busy server does not wait for the disk once for each entry. */
const gatherMs = 5;

/** Answers do not wait longer for their line; it is written when the store takes it. */
const patienceMs = 5000;

/** Who changed what. Changes that come together are written together; each answer waits for its own line. */
export class Audit {
  readonly #store: Pick<Store, "appendLines" | "readLines">;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #gathered: { at: number; entry: AuditEntry }[] = [];
  #written: Promise<void> | undefined;
  #lastWriteAt = -Infinity;

  constructor(parts: { store: Pick<Store, "appendLines" | "readLines">; clock: Clock; logger: Logger }) {
    this.#store = parts.store;
    this.#clock = parts.clock;
    this.#logger = parts.logger;
  }

  /** Resolves when it is on disk; if the store does not take it, in the log; or after some seconds: the change is made already. */
  append(entry: AuditEntry): Promise<void> {
    this.#gathered.push({ at: this.#clock.now(), entry });
    this.#written ??= this.#write();
    return this.#written;
  }

  /** The newest first. The store reads from either end, so a page further back costs what lies after it. */
  async read({ before = Infinity, limit }: { readonly before?: number; readonly limit: number }): Promise<LineRow[]> {
    for (let count = limit; ; count *= 2) {
      const last = await this.#store.readLines(topic, { last: true, limit: count });
      const older = last.filter(({ number }) => number < before);
      if (older.length >= limit || last.length < count) return older.slice(-limit).reverse();
    }
  }

  async #write(): Promise<void> {
    const waitMs = this.#lastWriteAt + gatherMs - this.#clock.monotonic();
    await new Promise<void>((resolve) => {
      if (waitMs > 0) this.#clock.after(waitMs, resolve);
      else this.#clock.soon(resolve);
    });
    this.#lastWriteAt = this.#clock.monotonic();
    const entries = this.#gathered;
    this.#gathered = [];
    this.#written = undefined;
    const late = Promise.withResolvers<void>();
    const timer = this.#clock.after(patienceMs, late.resolve);
    await Promise.race([this.#save(entries), late.promise]);
    timer.cancel();
  }

  async #save(entries: readonly { at: number; entry: AuditEntry }[]): Promise<void> {
    try {
      await this.#store.appendLines(entries.map(({ at, entry }) => ({ topic, at, body: JSON.stringify(entry) })));
    } catch (error) {
      for (const { at, entry } of entries) {
        this.#logger.error({ ...entry, at, error: messageOf(error) }, "a line of the audit log could not be stored");
      }
    }
  }
}
