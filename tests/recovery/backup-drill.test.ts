/** A drill with backups of a SQLite database: `VACUUM INTO`, the online backup, and a copy of the file. */
import { copyFileSync, rmSync } from "node:fs";
import { describe, test } from "node:test";
import { backup, DatabaseSync } from "node:sqlite";
import { SqliteStore } from "../../src/stores/sqlite/sqlite-store.ts";
import { drill } from "../support/backup-drill.ts";
import { temporaryFile } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";

const ways: Readonly<Record<string, (file: string, copy: string) => Promise<void> | void>> = {
  "VACUUM INTO": (file, copy) => inDatabase(file, (db) => db.exec(`VACUUM INTO '${copy}'`)),
  "the online backup": (file, copy) => inDatabase(file, (db) => backup(db, copy).then(() => undefined)),
  "a copy of the file and its log": (file, copy) => {
    copyFileSync(file, copy);
    copyFileSync(`${file}-wal`, `${copy}-wal`);
  },
};

describe("a backup that is restored under a running engine", () => {
  for (const [way, backUp] of Object.entries(ways)) {
    for (const isBusy of [false, true]) {
      test(`made by ${way}, ${isBusy ? "busy" : "idle"}`, { timeout: 60_000 }, async (t) => {
        const file = temporaryFile(t);
        const copy = `${file}.backup`;
        await drill(
          {
            connect: () => new SqliteStore({ file }),
            backUp: () => backUp(file, copy),
            restore: () => until(() => isRestored(copy, file)),
            // Two seconds, and as much again for a machine that has other things to do.
            noticeMs: 4000,
            test: t,
          },
          { isBusy },
        );
        rmSync(copy);
      });
    }
  }
});

/** The engine may have the database locked at that moment; then nothing is restored. */
async function isRestored(copy: string, file: string): Promise<boolean> {
  try {
    await inDatabase(copy, (db) => backup(db, file).then(() => undefined));
    return true;
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ERR_SQLITE_ERROR")) throw error;
    return false;
  }
}

async function inDatabase(file: string, use: (db: DatabaseSync) => Promise<void> | void): Promise<void> {
  const db = new DatabaseSync(file, { timeout: 5000 });
  try {
    await use(db);
  } finally {
    db.close();
  }
}
