import { randomUUID } from "node:crypto";
import type { Clock } from "../base/clock.ts";
import type { Store } from "../stores/store.ts";

const kind = "lock";

/** A lock that was not renewed for this time has expired. */
const expiresMs = 30_000;

/** The holder stops before others may take over. */
const heldMs = 24_000;

/**
 * A lease for work that one member does at a time. The lock is a document that its holder renews; others take
 * it once it has not changed for long enough on their own clocks. The guarded work must tolerate two holders for a moment.
 */
export class DocumentLock {
  readonly #store: Pick<Store, "clusters" | "findDocument" | "saveDocument" | "deleteDocument">;
  readonly #clock: Clock;
  readonly #name: string;
  readonly #me = randomUUID();
  #heldUntil = -Infinity;
  #revision = 0;
  #seen: { readonly revision: number; readonly since: number } | undefined;

  constructor(parts: {
    store: Pick<Store, "clusters" | "findDocument" | "saveDocument" | "deleteDocument">;
    clock: Clock;
    name: string;
  }) {
    this.#store = parts.store;
    this.#clock = parts.clock;
    this.#name = parts.name;
  }

  get isHeld(): boolean {
    return this.#clock.monotonic() < this.#heldUntil;
  }

  /** Acquires or renews the lock. Call it every few seconds. */
  async take(): Promise<boolean> {
    const asked = this.#clock.monotonic();
    if (this.#store.clusters === "never") {
      this.#heldUntil = Infinity;
      return true;
    }
    const row = await this.#store.findDocument(kind, this.#name);
    if (row !== undefined && row.body !== this.#me && !this.#hasExpired(row.revision)) return false;
    const revision = (row?.revision ?? 0) + 1;
    const document = { kind, name: this.#name, revision, at: this.#clock.now(), body: this.#me };
    if (!(await this.#store.saveDocument(document))) return false;
    this.#revision = revision;
    this.#heldUntil = asked + heldMs;
    return this.isHeld;
  }

  /** Releases the lock, so that the next member need not wait for its expiry. */
  async release(): Promise<void> {
    this.#heldUntil = -Infinity;
    if (this.#revision > 0) await this.#store.deleteDocument(kind, this.#name, this.#revision);
  }

  #hasExpired(revision: number): boolean {
    const now = this.#clock.monotonic();
    if (this.#seen?.revision !== revision) this.#seen = { revision, since: now };
    return now - this.#seen.since >= expiresMs;
  }
}
