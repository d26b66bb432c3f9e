import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { chownSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { accountFor } from "./account.ts";
import type { DatabaseServer } from "./postgres-server.ts";
import { findPrograms } from "./programs.ts";
import { newPlace, type Place, ServerProcess } from "./server-process.ts";

const user = "heddle";

export interface NatsSettings {
  /** Lines for the configuration file in place of a user with a password, such as another way to log in, TLS, or limits. */
  readonly lines?: (place: Place) => readonly string[];
}

/** NATS on the loopback interface, with a password, and nothing on disk but its configuration. */
export async function startNats({ lines }: NatsSettings = {}): Promise<DatabaseServer> {
  const sbin = findPrograms({
    server: "nats-server",
    package: "nats-server",
    folders: ["/usr/sbin", "/usr/local/bin", "/opt/homebrew/bin"],
    variable: "HEDDLE_TEST_NATS_URL",
  });
  const account = accountFor("nobody");
  const place = await newPlace("nats", account);
  const password = randomUUID();
  const login = [`authorization { user: ${user}, password: "${password}" }`];
  const config = join(place.folder, "nats.conf");
  const base = [`listen: "127.0.0.1:${place.port}"`, `pid_file: "${join(place.folder, "pid")}"`];
  writeFileSync(config, [...base, ...(lines?.(place) ?? login)].join("\n"), { mode: 0o600 });
  if (account.uid !== undefined && account.gid !== undefined) chownSync(config, account.uid, account.gid);
  const server = new ServerProcess(
    {
      name: "NATS",
      program: join(sbin, "nats-server"),
      account,
      args: () => ["--config", config],
      stopSignal: "SIGTERM",
      probe: async ({ port }) => {
        const socket = connect(port, "127.0.0.1");
        // The server greets everybody, before they log in.
        await once(socket, "data");
        socket.destroy();
      },
    },
    place,
  );
  await server.start();
  const secret = lines === undefined ? `${user}:${password}@` : "";
  return { process: server, url: `nats://${secret}127.0.0.1:${place.port}` };
}
