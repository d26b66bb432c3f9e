import type { Clock, Timer } from "../base/clock.ts";
import { messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import { localName } from "../base/namespace.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import { defaultDomain } from "../dispatch/domain-pools.ts";
import { workerDocument } from "../stores/document-kinds.ts";
import type { Store } from "../stores/store.ts";

export interface WorkerRecordsParts {
  readonly store: Pick<Store, "findDocument" | "listDocuments" | "saveDocument" | "deleteDocument">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly dispatcher: Pick<Dispatcher, "holdSlot">;
  /** A worker that was silent for so long has stopped its attempts. */
  readonly lostMs: number;
}

/** What the store tells of a worker: the domains of which it may run attempts, and how many at a time. */
interface WorkerRecord {
  readonly slots: number;
  readonly domains: readonly string[];
}

interface HeldWorker {
  readonly releases: readonly (() => void)[];
  readonly timer: Timer;
}

/** What the records need to know of a worker's session. */
export interface RecordedWorker {
  readonly id: string;
  readonly slots: number;
  /** True if it may run attempts that nobody follows here. */
  readonly hasStrays: boolean;
}

const pageSize = 500;

/**
 * The workers that an engine alone on its store has granted attempts of named domains, in documents. Workers outlive the
 * process, and histories name only the attempts that are unfinished: one that was aborted just before a crash may run on.
 * So the next process counts all slots of each recorded worker in all its domains, until the worker has said what it
 * runs and has stopped what is not wanted, or must have lost its leases.
 *
 * - R1 A grant is sent only after its worker and its domain are on record.
 * - R2 A record is deleted only when the worker runs nothing: it has left, is lost, or was idle when the engine stopped.
 */
export class WorkerRecords {
  readonly #parts: WorkerRecordsParts;
  readonly #recorded = new Map<string, WorkerRecord>();
  readonly #held = new Map<string, HeldWorker>();
  /** Writes happen one after the other; so many are not done. */
  #writes = 0;
  #written: Promise<unknown> = Promise.resolve();

  constructor(parts: WorkerRecordsParts) {
    this.#parts = parts;
  }

  /** Reads the records of earlier processes and takes the slots of their workers. Called before anything starts. */
  async restore(): Promise<void> {
    const { store } = this.#parts;
    for (let after: string | undefined; ;) {
      const page = await store.listDocuments(workerDocument, {
        ...(after !== undefined && { after }),
        limit: pageSize,
      });
      for (const { name, body } of page) this.#hold(name, JSON.parse(body) as WorkerRecord);
      if (page.length < pageSize) return;
      after = page.at(-1)?.name;
    }
  }

  #hold(worker: string, record: WorkerRecord): void {
    const { clock, dispatcher, lostMs } = this.#parts;
    const releases = record.domains.flatMap((domain) =>
      Array.from({ length: record.slots }, () => dispatcher.holdSlot({ attemptId: `worker ${worker}`, domain })),
    );
    // A start that has failed may be repeated.
    this.#release(worker);
    this.#recorded.set(worker, record);
    this.#held.set(worker, { releases, timer: clock.after(lostMs, () => this.#giveUp(worker)) });
  }

  #release(worker: string): void {
    const held = this.#held.get(worker);
    this.#held.delete(worker);
    held?.timer.cancel();
    for (const release of held?.releases ?? []) release();
  }

  /** The worker has not come back, so its leases have expired. */
  #giveUp(worker: string): void {
    this.#release(worker);
    void this.forget(worker);
  }

  /** Resolves with true when the worker can be granted an attempt of the domain; undefined if it can at once. */
  prepareGrant({ id, slots }: RecordedWorker, domain: string): Promise<boolean> | undefined {
    if (domain === defaultDomain) return undefined;
    // A record may be about to be deleted.
    if (this.#writes === 0 && covers(this.#recorded.get(id), slots, domain)) return undefined;
    return this.#write(async () => {
      const known = this.#recorded.get(id);
      if (covers(known, slots, domain)) return true;
      const domains = [...new Set([...(known?.domains ?? []), domain])];
      const record: WorkerRecord = { slots: Math.max(slots, known?.slots ?? 0), domains };
      try {
        await this.#save(id, record);
      } catch (error) {
        const fields = { worker: id, domain: localName(domain), error: messageOf(error) };
        this.#parts.logger.warn(fields, "a worker could not be recorded; it gets no task of the domain");
        return false;
      }
      this.#recorded.set(id, record);
      return true;
    });
  }

  /** Called when the worker has said what it runs, and again when that has changed. */
  onChanged({ id, hasStrays }: RecordedWorker): void {
    const held = this.#held.get(id);
    if (held === undefined) return;
    // It is in touch; its session takes note if it is lost.
    held.timer.cancel();
    if (!hasStrays) this.#release(id);
  }

  /** Called when the worker has left or is lost. */
  onGone(worker: string): void {
    this.#giveUp(worker);
  }

  /** Deletes the record of a worker that runs nothing. Never rejects. */
  forget(worker: string): Promise<void> {
    return this.#write(async () => {
      if (!this.#recorded.has(worker)) return;
      const { store, logger } = this.#parts;
      this.#recorded.delete(worker);
      try {
        const row = await store.findDocument(workerDocument, worker);
        if (row !== undefined) await store.deleteDocument(workerDocument, worker, row.revision);
      } catch (error) {
        // The next start counts the worker's slots once more, for a while.
        logger.warn({ worker, error: messageOf(error) }, "the record of a worker that is gone could not be deleted");
      }
    });
  }

  stop(): void {
    for (const { timer } of this.#held.values()) timer.cancel();
  }

  async #save(name: string, record: WorkerRecord): Promise<void> {
    const { store, clock } = this.#parts;
    for (;;) {
      const revision = ((await store.findDocument(workerDocument, name))?.revision ?? 0) + 1;
      const row = { kind: workerDocument, name, revision, at: clock.now(), body: JSON.stringify(record) };
      if (await store.saveDocument(row)) return;
    }
  }

  #write<T>(write: () => Promise<T>): Promise<T> {
    this.#writes++;
    const done = this.#written.then(write).finally(() => this.#writes--);
    this.#written = done;
    return done;
  }
}

function covers(record: WorkerRecord | undefined, slots: number, domain: string): boolean {
  return record !== undefined && record.slots >= slots && record.domains.includes(domain);
}
