import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { DatabaseServer } from "../../scripts/servers/postgres-server.ts";
import { newPlace, ServerProcess } from "../../scripts/servers/server-process.ts";
import { peersFolder } from "../install-peers.ts";

/** The address takes calls; its parameter `admin` is the socket of the admin interface. */
export async function startRestate(): Promise<DatabaseServer> {
  const place = await newPlace("restate", {});
  const origin = `http://127.0.0.1:${place.port}`;
  writeFileSync(join(place.folder, "config.toml"), configFor(place));
  const server = new ServerProcess(
    {
      name: "Restate",
      program: programOfPackage(),
      account: {},
      args: ({ folder }) => ["--no-logo", "--config-file", join(folder, "config.toml")],
      stopSignal: "SIGTERM",
      probe: async () => {
        const { ok } = await fetch(`${origin}/restate/health`);
        if (!ok) throw new Error("it is not healthy yet");
      },
    },
    place,
  );
  await server.start();
  return { process: server, url: `${origin}/?admin=${join(place.folder, "data", nodeName, "admin.sock")}` };
}

const nodeName = "bench";

/**
 * As it comes, its log on disk before it answers, but with fewer partitions: 24 are its default for large machines, and
 * 4 were faster on two cores. Only calls come over the network.
 */
function configFor({ folder, port }: { folder: string; port: number }): string {
  return `node-name = "${nodeName}"
base-dir = "${join(folder, "data")}"
listen-mode = "unix"
default-num-partitions = 4
disable-telemetry = true
log-filter = "warn"

[ingress]
listen-mode = "tcp"
bind-address = "127.0.0.1:${port}"
`;
}

function programOfPackage(): string {
  const { resolve } = createRequire(join(peersFolder, "package.json"));
  return resolve(`@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`);
}
