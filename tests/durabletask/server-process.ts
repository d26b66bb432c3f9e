/**
 * A server that a test ends with SIGKILL: `node server-process.ts <folder> <port of gRPC> [<address of the database>]`. With
 * a database it is a member of a cluster, and takes over soon.
 */
import { join } from "node:path";
import { loadConfig } from "../../src/server/config/load-config.ts";
import { Server } from "../../src/server/server.ts";
import { sqlite } from "../../src/sqlite.ts";
import { storage } from "../../src/storage.ts";

const [folder = "", grpcPort = "0", database] = process.argv.slice(2);
const workers = { workerBeatMs: 300, workerLostMs: 2000 };
const alone = { enabled: false, shards: 1, remoteWorkers: true, timings: workers };
const member = {
  enabled: true,
  shards: 8,
  remoteWorkers: true,
  timings: { ...workers, beatMs: 300, suspectMs: 1500, lostMs: 1500 },
};
const server = await Server.start(
  {
    ...loadConfig({ folder }),
    port: 0,
    grpcPort: Number(grpcPort),
    cluster: database === undefined ? alone : member,
  },
  { store: database === undefined ? sqlite(join(folder, "heddle.db")) : await storage(database) },
);
process.stdout.write(`listening ${server.grpcPort}\n`);
process.once("SIGTERM", () => void server.stop());
