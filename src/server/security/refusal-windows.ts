import type { Clock, Timer } from "../../base/clock.ts";
import type { AuditEntry } from "./audit-entry.ts";

interface Window {
  /** The last refusal of its kind. */
  entry: AuditEntry;
  count: number;
  readonly timer: Timer;
}

const windowMs = 60_000;

/** Limit of distinguished kinds; further ones are counted together. */
const windowsMax = 1000;

/** Aggregates refusals, so that a flood does not fill the disk: equal ones within a minute become one entry with a count. */
export class RefusalWindows {
  readonly #clock: Clock;
  readonly #write: (entry: AuditEntry) => void;
  readonly #windows = new Map<string, Window>();

  constructor(clock: Clock, write: (entry: AuditEntry) => void) {
    this.#clock = clock;
    this.#write = write;
  }

  /** True if the refusal is to be written at once; otherwise it is counted. */
  isFirst(refusal: AuditEntry): boolean {
    const entry = this.#windows.size < windowsMax ? refusal : anyOf(refusal);
    const key = keyOf(entry);
    const window = this.#windows.get(key);
    if (window !== undefined) {
      window.entry = entry;
      window.count++;
      return false;
    }
    const timer = this.#clock.after(windowMs, () => this.#end(key));
    this.#windows.set(key, { entry, count: 0, timer });
    return true;
  }

  /** Writes the pending counts. */
  close(): void {
    for (const [key, { timer }] of this.#windows) {
      timer.cancel();
      this.#end(key);
    }
  }

  #end(key: string): void {
    const window = this.#windows.get(key);
    this.#windows.delete(key);
    if (window !== undefined && window.count > 0) this.#write({ ...window.entry, count: window.count });
  }
}

function keyOf({ who, address, what, target, status, code }: AuditEntry): string {
  return JSON.stringify([who, address, what, target, status, code]);
}

function anyOf(entry: AuditEntry): AuditEntry {
  return { ...entry, who: "many", role: null, address: "many", what: "many", target: null };
}
