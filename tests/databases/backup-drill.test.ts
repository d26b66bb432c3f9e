/** A drill with backups of database servers: `pg_dump` and `pg_restore`, `mariadb-dump` and `mariadb`. */
import { execFile } from "node:child_process";
import { createReadStream } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { describe, test } from "node:test";
import { promisify } from "node:util";
import { drill } from "../support/backup-drill.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { storeAt } from "./database-stores.ts";
import { newDatabase, type ServerKind } from "./databases.ts";
import { quickTimings } from "./steady-load.ts";

const run = promisify(execFile);

interface Tools {
  backUp(url: string, file: string): Promise<unknown>;
  restore(url: string, file: string): Promise<unknown>;
}

const tools: Readonly<Record<ServerKind, Tools>> = {
  postgres: {
    backUp: (url, file) => run("pg_dump", ["--format=custom", `--file=${file}`, `--dbname=${url}`]),
    restore: (url, file) =>
      run("pg_restore", ["--clean", "--if-exists", "--single-transaction", `--dbname=${url}`, file]),
  },
  mysql: {
    backUp: (url, file) => run("mariadb-dump", [...account(url), "--single-transaction", `--result-file=${file}`]),
    restore: async (url, file) => {
      const child = execFile("mariadb", account(url));
      if (child.stdin === null) throw new Error("mariadb has no standard input");
      const ended = new Promise<void>((resolve, reject) => {
        child.once("exit", (code) => (code === 0 ? resolve() : reject(new Error(`mariadb ended with ${code}`))));
      });
      await pipeline(createReadStream(file), child.stdin);
      await ended;
    },
  },
};

/** Arguments of MariaDB's programs; the database comes last. */
function account(url: string): string[] {
  const { hostname, port, username, password, pathname } = new URL(url);
  return [
    `--host=${hostname}`,
    `--port=${port}`,
    `--user=${decodeURIComponent(username)}`,
    `--password=${decodeURIComponent(password)}`,
    "--protocol=tcp",
    "--default-character-set=utf8mb4",
    pathname.slice(1),
  ];
}

for (const kind of ["postgres", "mysql"] as const) {
  describe(`a backup of ${kind} that is restored under a running member`, () => {
    for (const isBusy of [false, true]) {
      test(isBusy ? "that is busy" : "that is idle", { timeout: 120_000 }, async (t) => {
        const url = await newDatabase(kind, t);
        const file = join(temporaryFolder(t), "backup");
        await drill(
          {
            connect: () => storeAt(kind, url),
            backUp: async () => void (await tools[kind].backUp(url, file)),
            restore: async () => void (await tools[kind].restore(url, file)),
            noticeMs: 10_000,
            test: t,
            cluster: { name: "drill", shards: 4, timings: quickTimings },
          },
          { isBusy },
        );
      });
    }
  });
}
