/** A server that a test ends with SIGKILL: `node server-process.ts <folder> <port of gRPC>`. */
import { join } from "node:path";
import { loadConfig } from "../../src/server/config/load-config.ts";
import { Server } from "../../src/server/server.ts";
import { sqlite } from "../../src/sqlite.ts";

const [folder = "", grpcPort = "0"] = process.argv.slice(2);
const cluster = { enabled: false, shards: 1, remoteWorkers: true, timings: { workerBeatMs: 300, workerLostMs: 2000 } };
const server = await Server.start(
  { ...loadConfig({ folder }), port: 0, grpcPort: Number(grpcPort), cluster },
  { store: sqlite(join(folder, "heddle.db")) },
);
process.stdout.write(`listening ${server.grpcPort}\n`);
process.once("SIGTERM", () => void server.stop());
