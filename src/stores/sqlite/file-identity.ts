import { type BigIntStats, statSync } from "node:fs";
import { EngineError } from "../../base/error.ts";

/**
 * Remembers the inodes that a database was opened from. A deleted or replaced file can still be written through an open
 * handle, but its data is lost when the process ends.
 */
export class FileIdentity {
  readonly #file: string;
  readonly #expected = new Map<string, string>();

  constructor(file: string) {
    this.#file = file;
  }

  /**
   * `STORE_GONE` if the database or its log is no longer the file that it was at the first look. The log need not be
   * there at the first look: SQLite makes it when it is first needed.
   */
  check(): void {
    // Windows does not let an open file be deleted or replaced.
    if (process.platform === "win32") return;
    for (const path of [this.#file, `${this.#file}-wal`]) {
      const found = identityOf(path);
      const expected = this.#expected.get(path);
      if (expected === undefined && found !== undefined) this.#expected.set(path, found);
      else if (expected !== found) throw this.#gone(path, found === undefined ? "deleted or moved" : "replaced");
    }
  }

  #gone(path: string, what: string): EngineError {
    return new EngineError(
      "STORE_GONE",
      `${path} was ${what} while it was in use; put the same file back, or save what the process still has open before you stop it (docs/operations.md)`,
    );
  }
}

function identityOf(path: string): string | undefined {
  const stats: BigIntStats | undefined = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats && `${stats.dev}:${stats.ino}`;
}
