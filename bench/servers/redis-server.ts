import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import type { DatabaseServer } from "../../scripts/servers/postgres-server.ts";
import { newPlace, ServerProcess } from "../../scripts/servers/server-process.ts";

const program = "redis-server";

/** Redis on the loopback interface; every write is on disk before it is answered. */
export async function startRedis(): Promise<DatabaseServer> {
  if (spawnSync(program, ["--version"]).status !== 0) {
    throw new Error(`BullMQ needs the program ${program}. Install it (on Debian: apt-get install ${program}).`);
  }
  const place = await newPlace("redis", {});
  const settings = {
    port: place.port,
    bind: "127.0.0.1",
    dir: place.folder,
    appendonly: "yes",
    appendfsync: "always",
    save: "",
    "maxmemory-policy": "noeviction",
  };
  const server = new ServerProcess(
    {
      name: "Redis",
      program,
      account: {},
      args: () => Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]),
      stopSignal: "SIGTERM",
      probe: async ({ port }) => {
        const socket = connect(port, "127.0.0.1");
        await once(socket, "connect");
        socket.write("PING\r\n");
        await once(socket, "data");
        socket.destroy();
      },
    },
    place,
  );
  await server.start();
  return { process: server, url: `redis://127.0.0.1:${place.port}` };
}
