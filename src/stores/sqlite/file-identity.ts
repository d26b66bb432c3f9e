import { type BigIntStats, linkSync, renameSync, statSync, writeFileSync } from "node:fs";
import { EngineError } from "../../base/error.ts";

/** Size that the log has when the first checkpoint comes (`wal_autocheckpoint` in database.ts), and a little less. */
const checkpointBytes = 40_000_000;

/** Commits that follow each other more closely share one check: its two system calls cost a tenth of a small commit. */
export const fileCheckEveryMs = 10;

/**
 * Remembers the inodes that a database was opened from. A deleted or replaced file can still be written through an open
 * handle, but its data is lost when the process ends.
 */
export class FileIdentity {
  readonly #file: string;
  readonly #log: string;
  readonly #expected = new Map<string, string>();
  /** Size and time of the database when nobody but this process had written it. */
  #written: string | undefined;
  #checkedAt = -Infinity;

  constructor(file: string) {
    this.#file = file;
    this.#log = `${file}-wal`;
  }

  /** Checks unless the last check was just now. `STORE_GONE`. */
  checkIfDue(): void {
    if (performance.now() - this.#checkedAt >= fileCheckEveryMs) this.check();
  }

  /**
   * `STORE_GONE` if the database or its log is no longer the file that it was at the first look. The log need not be
   * there at the first look: SQLite makes it when it is first needed.
   */
  check(): void {
    // Windows does not let an open file be deleted or replaced.
    if (process.platform === "win32") return;
    // A check that fails leaves the next one due.
    this.#checkedAt = -Infinity;
    const [database, log] = [statsOf(this.#file), statsOf(this.#log)];
    this.#compare(this.#file, database);
    this.#compare(this.#log, log);
    // SQLite writes to the database itself only at a checkpoint, before which the log has grown.
    if (this.#written === undefined || (log !== undefined && log.size >= checkpointBytes)) {
      this.#written = contentsOf(database);
    }
    this.#checkedAt = performance.now();
  }

  #compare(path: string, stats: BigIntStats | undefined): void {
    const found = identityOf(stats);
    const expected = this.#expected.get(path);
    if (expected === undefined && found !== undefined) this.#expected.set(path, found);
    else if (expected !== found) throw this.#gone(path, found === undefined ? "deleted or moved" : "replaced");
  }

  /**
   * Returns whether somebody wrote another database into the same file, and removed its log: the restore of a backup with
   * `cp`. A log that is removed alone leaves the file as it was.
   */
  get isOverwritten(): boolean {
    const database = statsOf(this.#file);
    if (process.platform === "win32" || this.#expected.get(this.#file) !== identityOf(database)) return false;
    const isLogGone = this.#expected.get(this.#log) !== identityOf(statsOf(this.#log));
    return isLogGone && this.#written !== contentsOf(database);
  }

  /**
   * Calls `close`, which writes the log into the database unless the path leads to another file. A process that ends
   * meanwhile leaves a file that says where the database is, and that no program takes for one.
   */
  whileAside(close: () => void): void {
    const aside = `${this.#file}-restored`;
    const note = `${this.#file}-note`;
    writeFileSync(note, `The database was moved to ${aside} for a moment. Move it back to ${this.#file}.\n`);
    linkSync(this.#file, aside);
    renameSync(note, this.#file);
    try {
      close();
    } finally {
      renameSync(aside, this.#file);
    }
  }

  #gone(path: string, what: string): EngineError {
    return new EngineError(
      "STORE_GONE",
      `${path} was ${what} while it was in use; put the same file back, or save what the process still has open before you stop it (docs/operations.md)`,
    );
  }
}

function statsOf(path: string): BigIntStats | undefined {
  return statSync(path, { bigint: true, throwIfNoEntry: false });
}

function contentsOf(stats: BigIntStats | undefined): string | undefined {
  return stats && `${stats.size}:${stats.mtimeNs}`;
}

function identityOf(stats: BigIntStats | undefined): string | undefined {
  return stats && `${stats.dev}:${stats.ino}`;
}
