import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { createConnection } from "mysql2/promise";
import { accountFor } from "./account.ts";
import type { DatabaseServer } from "./postgres-server.ts";
import { findPrograms } from "./programs.ts";
import { newPlace, type Place, ServerProcess } from "./server-process.ts";

const user = "heddle";

/** MariaDB as it comes, on the loopback interface, with a password. */
export async function startMariadb(): Promise<DatabaseServer> {
  const sbin = findPrograms({
    server: "mariadbd",
    package: "mariadb-server",
    folders: ["/usr/sbin", "/usr/local/sbin", "/opt/homebrew/opt/mariadb/bin"],
    variable: "HEDDLE_TEST_MYSQL_URL",
  });
  const account = accountFor("mysql");
  const place = await newPlace("mariadb", account);
  const data = join(place.folder, "data");
  // A server that starts clears away what it takes for its own in this folder, also if it is another's.
  const tmpdir = `--tmpdir=${place.folder}`;
  const made = [`--datadir=${data}`, tmpdir, "--auth-root-authentication-method=normal", "--skip-test-db"];
  execFileSync("mariadb-install-db", ["--no-defaults", ...made], { ...account, cwd: place.folder, stdio: "pipe" });
  const server = new ServerProcess(
    {
      name: "MariaDB",
      program: join(sbin, "mariadbd"),
      account,
      args: ({ port, folder }) => [
        "--no-defaults",
        `--datadir=${data}`,
        tmpdir,
        `--port=${port}`,
        "--bind-address=127.0.0.1",
        "--skip-name-resolve",
        `--socket=${socketIn(folder)}`,
        `--pid-file=${join(folder, "pid")}`,
        "--innodb-flush-log-at-trx-commit=1",
        "--max-connections=300",
      ],
      stopSignal: "SIGTERM",
      probe: async ({ folder }) => {
        const connection = await createConnection({ socketPath: socketIn(folder), user: "root" });
        await connection.end();
      },
    },
    place,
  );
  await server.start();
  return { process: server, url: await makeUser(place) };
}

async function makeUser({ folder, port }: Place): Promise<string> {
  const password = randomUUID();
  const root = await createConnection({ socketPath: socketIn(folder), user: "root" });
  await root.query(`CREATE USER ${user}@'%' IDENTIFIED BY '${password}'`);
  await root.query(`GRANT ALL ON *.* TO ${user}@'%' WITH GRANT OPTION`);
  await root.end();
  return `mysql://${user}:${password}@127.0.0.1:${port}/mysql`;
}

/** Short: the path of a socket has at most 107 bytes. */
function socketIn(folder: string): string {
  return join(folder, "s");
}
