import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "pg";
import { accountFor } from "./account.ts";
import { findPrograms } from "./programs.ts";
import { newPlace, ServerProcess } from "./server-process.ts";

const user = "heddle";

export interface DatabaseServer {
  readonly process: ServerProcess;
  /** Of a user who may do everything. */
  readonly url: string;
}

/** PostgreSQL as it comes, on the loopback interface, with passwords. */
export async function startPostgres(): Promise<DatabaseServer> {
  const bin = findPrograms({
    server: "postgres",
    package: "postgresql",
    folders: ["/usr/lib/postgresql/*/bin", "/opt/homebrew/opt/postgresql*/bin"],
    variable: "HEDDLE_TEST_POSTGRES_URL",
  });
  const account = accountFor("postgres");
  const password = randomUUID();
  const place = await newPlace("postgres", account);
  const passwordFile = join(place.folder, "password");
  writeFileSync(passwordFile, password, { mode: 0o644 });
  const data = join(place.folder, "data");
  const made = ["-D", data, "-U", user, "--pwfile", passwordFile, "--auth=scram-sha-256", "--encoding=UTF8"];
  execFileSync(join(bin, "initdb"), [...made, "--no-locale", "--no-sync"], {
    ...account,
    cwd: place.folder,
    stdio: "pipe",
  });
  const url = `postgresql://${user}:${password}@127.0.0.1:${place.port}/postgres`;
  const server = new ServerProcess(
    {
      name: "PostgreSQL",
      program: join(bin, "postgres"),
      account,
      args: ({ port, folder }) => [
        "-D",
        data,
        "-p",
        `${port}`,
        "-h",
        "127.0.0.1",
        "-k",
        folder,
        "-c",
        "max_connections=300",
      ],
      stopSignal: "SIGINT",
      probe: async () => {
        const client = new Client({ connectionString: url });
        await client.connect();
        await client.end();
      },
    },
    place,
  );
  await server.start();
  return { process: server, url };
}
