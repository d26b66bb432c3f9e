import { accessSync, constants, readFileSync, rmSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { EngineError } from "../../base/error.ts";
import { isBusy, isCorrupt } from "./faults.ts";
import { ensurePrivateFile, privateFileMode } from "./private-file.ts";

/**
 * One process owns a database file: it holds an open transaction on a small SQLite file beside it. The lock is the
 * operating system's, so it lasts while its holder is stopped and is gone at once when the holder dies.
 *
 * The lock file must never be opened in any other way: on POSIX systems, closing any handle of a file drops the
 * process's locks on it. That is why the holder's process id, which only serves the message, is in a file of its own.
 * The lock file stays when the lock is released, because removing it would let two takers lock two files of one name.
 */
export class FileLock {
  /**
   * The locks of this process. Nobody reads it: it keeps them from the garbage collector, which closes a database that
   * nothing refers to, and so would give a file free while its owner, waiting for something, is still there.
   */
  static readonly #held = new Set<FileLock>();

  readonly #db: DatabaseSync;
  readonly #ownerFile: string;

  private constructor(db: DatabaseSync, ownerFile: string) {
    this.#db = db;
    this.#ownerFile = ownerFile;
  }

  /** Takes the lock; `STORE_LOCKED` at once if another process holds it. */
  static take(file: string): FileLock {
    const ownerFile = `${file}-owner`;
    const lockFile = `${file}-lock`;
    ensurePrivateFile(lockFile);
    const db = new DatabaseSync(lockFile, { timeout: 0 });
    try {
      db.exec("BEGIN EXCLUSIVE");
      // SQLite opens a file that cannot be written read-only, and then locks nothing.
      accessSync(lockFile, constants.W_OK);
      writeFileSync(ownerFile, `${process.pid}\n`, { mode: privateFileMode });
    } catch (error) {
      db.close();
      if (isBusy(error)) throw lockedError(file, ownerFile);
      if (isCorrupt(error)) throw new EngineError("STORE_CORRUPT", `the lock file ${lockFile} is damaged; remove it`);
      throw error;
    }
    const lock = new FileLock(db, ownerFile);
    FileLock.#held.add(lock);
    return lock;
  }

  release(): void {
    FileLock.#held.delete(this);
    rmSync(this.#ownerFile, { force: true });
    this.#db.close();
  }
}

function lockedError(file: string, ownerFile: string): EngineError {
  return new EngineError(
    "STORE_LOCKED",
    `the database ${file} is in use by ${holder(ownerFile)}; stop that one first, or give another file`,
  );
}

/** The holder may be between taking the lock and writing its id, or may have just left. */
function holder(ownerFile: string): string {
  let pid: string;
  try {
    pid = readFileSync(ownerFile, "utf8").trim();
  } catch {
    return "another process";
  }
  return pid === String(process.pid) ? "another engine of this process" : `process ${pid}`;
}
