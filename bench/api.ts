/**
 * How many requests a second the HTTP interface answers on SQLite: callers that start a one-task workflow and ask how it
 * stands, by turns.
 *
 *   node bench/api.ts [--connections 100] [--seconds 10] [--rounds 3] [--keys]
 *
 * Server and engine are in a process of their own; autocannon is in this one, and takes most of a core itself.
 * With --keys every start carries an Idempotency-Key, as those of `heddle/client` do.
 */
import { fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";
import autocannon from "autocannon";
import { readFlags } from "../scripts/command-line.ts";
import { silentLogger } from "../src/base/logger.ts";
import { loadConfig } from "../src/server/config/load-config.ts";
import { Server } from "../src/server/server.ts";
import { sqlite } from "../src/sqlite.ts";
import { inFolder } from "./folder.ts";
import { noOp } from "./no-op.ts";
import { oneTaskWorkflow } from "./one-task.ts";
import { median } from "./statistics.ts";

const goal = { perSecond: 5000, p99Ms: 50 };

/** The other process. */
async function serve(folder: string): Promise<void> {
  const config = { ...loadConfig({ folder }), port: 0, poolSize: 100, logLevel: "warn" as const };
  const store = sqlite(join(folder, "api.db"));
  const parts = { store, jobs: [noOp], workflows: [oneTaskWorkflow()], logger: silentLogger };
  const server = await Server.start(config, parts);
  process.on("message", () => void server.stop().then(() => process.disconnect()));
  process.send?.(server.url);
}

interface Round {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

async function measure(url: string, options: { connections: number; seconds: number; keys: boolean }): Promise<Round> {
  const start: autocannon.Request = {
    method: "POST",
    path: `/api/workflow/${oneTaskWorkflow().name}/trigger`,
    setupRequest: (request) =>
      options.keys ? { ...request, headers: { ...request.headers, "idempotency-key": randomUUID() } } : request,
    onResponse: (_status, body, context) => {
      (context as { id?: string }).id = /"instanceId":"([^"]+)"/.exec(body)?.[1] ?? "";
    },
  };
  const ask: autocannon.Request = {
    method: "GET",
    setupRequest: (request, context) => ({ ...request, path: `/api/instance/${(context as { id?: string }).id}` }),
  };
  const { connections, seconds: duration } = options;
  const result = await autocannon({ url, connections, duration, requests: [start, ask] });
  if (result.non2xx + result.errors > 0) throw new Error(`${result.non2xx} refusals, ${result.errors} errors`);
  return { perSecond: result.requests.average, p50Ms: result.latency.p50, p99Ms: result.latency.p99 };
}

async function main(folder: string): Promise<void> {
  const values = readFlags(import.meta.url, {
    connections: { type: "string", default: "100" },
    seconds: { type: "string", default: "10" },
    rounds: { type: "string", default: "3" },
    keys: { type: "boolean", default: false },
  });
  const options = { connections: Number(values.connections), seconds: Number(values.seconds), keys: values.keys };
  const child = fork(import.meta.filename, ["--serve", folder]);
  const [url] = (await once(child, "message")) as [string];
  await measure(url, { ...options, seconds: 3 });
  const rounds: Round[] = [];
  for (let round = 0; round < Number(values.rounds); round++) rounds.push(await measure(url, options));
  child.send("stop");
  await once(child, "exit");
  const perSecond = median(rounds.map((round) => round.perSecond));
  const p99Ms = median(rounds.map((round) => round.p99Ms));
  const isMet = perSecond >= goal.perSecond && p99Ms < goal.p99Ms;
  console.table(rounds);
  console.log(
    `${Math.round(perSecond)} requests/s, p99 ${p99Ms} ms, ${options.connections} connections; goal ${goal.perSecond}/s below ${goal.p99Ms} ms: ${isMet ? "met" : "missed"}`,
  );
}

const [mode, folder] = process.argv.slice(2);
if (mode === "--serve" && folder !== undefined) await serve(folder);
else await inFolder(main);
