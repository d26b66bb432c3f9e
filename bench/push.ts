/**
 * What it costs a busy engine to be watched: one-task workflows per second on SQLite, by turns with nobody listening and
 * with many WebSocket clients that watch everything.
 *
 *   node bench/push.ts [--clients 1000] [--seconds 4] [--rounds 5]
 *
 * Server and engine are in this process. The clients are in another one, as raw sockets that read and count bytes and do
 * not look into them; on a machine of two cores they still take time from the engine, and that is part of the figure.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import Fastify from "fastify";
import { readFlags } from "../scripts/command-line.ts";
import { silentLogger } from "../src/base/logger.ts";
import { systemClock } from "../src/engine/system-clock.ts";
import { Engine } from "../src/index.ts";
import { ChangeFeed } from "../src/server/push/change-feed.ts";
import { pushRoutes } from "../src/server/push/push-routes.ts";
import { WorkerNewsFeed } from "../src/server/push/worker-news.ts";
import { addCallerDecorator } from "../src/server/request/caller.ts";
import { Guard } from "../src/server/security/guard.ts";
import type { Tokens } from "../src/server/security/tokens.ts";
import { sqlite } from "../src/sqlite.ts";
import { inFolder } from "./folder.ts";
import { engineFor } from "./no-op.ts";
import { oneTaskWorkflow } from "./one-task.ts";
import { median } from "./statistics.ts";

const inFlight = 1000;

interface Heard {
  readonly open: number;
  readonly frames: number;
  readonly megabytes: number;
}

/** The other process: opens and closes sockets as it is told. */
function runClients(port: number): void {
  const sockets: Socket[] = [];
  let bytes = 0;
  let reads = 0;
  let open = 0;
  // Read into the same place again and again: nobody looks at it.
  const buffer = Buffer.alloc(1024 * 1024);
  const onread = {
    buffer,
    callback: (length: number): boolean => {
      bytes += length;
      reads++;
      return true;
    },
  };
  const openOne = async (): Promise<void> => {
    const socket = connect({ port, host: "127.0.0.1", onread });
    sockets.push(socket);
    socket.once("close", () => open--);
    socket.on("error", () => undefined);
    await once(socket, "connect");
    open++;
    socket.write(
      `GET /ws HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`,
    );
    const subscribe = Buffer.from('{"type":"subscribe","id":"1","all":true}');
    socket.write(Buffer.concat([Buffer.from([0x81, 0x80 | subscribe.length, 0, 0, 0, 0]), subscribe]));
  };
  process.on("message", (count: number) => {
    void (async () => {
      const heard: Heard = { open, frames: reads, megabytes: bytes / 1e6 };
      bytes = 0;
      reads = 0;
      while (sockets.length > count) sockets.pop()?.destroy();
      while (sockets.length < count) await openOne();
      process.send?.(heard);
    })();
  });
}

async function workflowsPerSecond(engine: Engine, seconds: number): Promise<number> {
  const workflow = oneTaskWorkflow();
  const begun = performance.now();
  const until = begun + seconds * 1000;
  let done = 0;
  const client = async (): Promise<void> => {
    while (performance.now() < until) {
      await (await engine.submitWorkflow(workflow)).result();
      done++;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, client));
  return (done / (performance.now() - begun)) * 1000;
}

async function measure(options: { clients: number; seconds: number; rounds: number }, folder: string): Promise<void> {
  const { clients, seconds, rounds } = options;
  const storage = sqlite(join(folder, "heddle.db"));
  const engine = new Engine({ ...engineFor(inFlight), storage, logger: silentLogger, watchCode: false });
  await engine.start();
  const unheard = await workflowsPerSecond(engine, seconds);
  console.log(`without a feed:           ${unheard.toFixed(0)} workflows/s (the first run, not yet warm)`);
  const feed = new ChangeFeed({ engine });
  const app = Fastify();
  addCallerDecorator(app);
  const tokens = { isEmpty: true } as unknown as Tokens;
  const guard = new Guard({ tokens, clock: systemClock, isLoopback: true, ratePerSecond: 1e9 });
  const origins = { isLoopback: true, origins: [] };
  await pushRoutes(app, {
    inNamespace: () => ({ feed, engine, workers: new WorkerNewsFeed(engine.cluster) }),
    guard,
    origins,
    logs: { follow: () => () => undefined },
  });
  const { port } = new URL(await app.listen({ port: 0, host: "127.0.0.1" }));
  const child = fork(import.meta.filename, ["--clients-of", port], { execArgv: [] });
  const tell = async (count: number): Promise<Heard> => {
    child.send(count);
    const [heard] = (await once(child, "message")) as [Heard];
    while (feed.followers !== count) await new Promise((resolve) => setTimeout(resolve, 20));
    return heard;
  };
  const alone: number[] = [];
  const watched: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    await tell(0);
    const without = await workflowsPerSecond(engine, seconds);
    await tell(clients);
    const before = feed.cursor.seq;
    const rate = await workflowsPerSecond(engine, seconds);
    const changes = (feed.cursor.seq - before) / seconds;
    const { open, frames, megabytes } = await tell(clients);
    if (round === 0) continue;
    alone.push(without);
    watched.push(rate);
    const each = `${changes.toFixed(0)} changes/s; ${(frames / open / seconds).toFixed(1)} reads/s and ${(megabytes / open / seconds).toFixed(3)} MB/s each`;
    console.log(
      `round ${round}: ${without.toFixed(0)} alone, ${rate.toFixed(0)} watched by ${open} (${each}): ${percent(rate / without)}`,
    );
  }
  // What else the machine does hits the two halves of a round alike, and rounds differently.
  const ratio = median(watched.map((rate, round) => rate / (alone[round] ?? Number.NaN)));
  console.log(
    `medians of ${rounds} rounds: ${median(alone).toFixed(0)} alone, ${median(watched).toFixed(0)} watched, ${percent(ratio)} of a round's own`,
  );
  console.log(`costs ${percent(1 - ratio)}; target: less than 20 % ${ratio > 0.8 ? "✔" : "✘"}`);
  child.kill();
  feed.stop();
  await app.close();
  await engine.stop();
}

function percent(part: number): string {
  return `${(part * 100).toFixed(1)} %`;
}

const values = readFlags(import.meta.url, {
  clients: { type: "string", default: "1000" },
  seconds: { type: "string", default: "4" },
  rounds: { type: "string", default: "5" },
  "clients-of": { type: "string" },
});
const { clients, seconds, rounds, "clients-of": port } = values;
if (port === undefined) {
  await inFolder((folder) =>
    measure({ clients: Number(clients), seconds: Number(seconds), rounds: Number(rounds) }, folder),
  );
} else runClients(Number(port));
