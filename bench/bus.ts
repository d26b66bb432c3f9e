/**
 * Latency of a call from one member of a cluster to an instance that another process owns, over each bus; and what a
 * member costs that has nothing to do.
 *
 *   node bench/bus.ts [--storage postgresql|mysql] [--calls 300] [--idle 20]
 *
 * Two members, this process and another, on a server that is started for the run, as a NATS server is. Instances are
 * started from here; those that this member does not hear of belong to the other. They are then called one after the
 * other: a read of their status, which is answered from memory, and an event, which is answered after a commit.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { readFlags } from "../scripts/command-line.ts";
import { startNats } from "../scripts/servers/nats-server.ts";
import type { DatabaseServer } from "../scripts/servers/postgres-server.ts";
import { startMariadb } from "../scripts/servers/mariadb-server.ts";
import { startPostgres } from "../scripts/servers/postgres-server.ts";
import { silentLogger } from "../src/base/logger.ts";
import { type Bus, defineWorkflow, Engine } from "../src/index.ts";
import { nats } from "../src/nats.ts";
import { storage } from "../src/storage.ts";
import { percentile, sum } from "./statistics.ts";

/** As servers have it. */
const timings = { pollWithoutBusMs: 100 };

const shards = 16;

const ears = defineWorkflow("ears", async (ctx) => {
  for (;;) await ctx.waitForEvent("word");
});

interface Place {
  readonly storage: string;
  /** `poll`, `notify` or the address of a NATS server. */
  readonly bus: string;
}

async function startMember(place: Place, name: string): Promise<Engine> {
  const bus: Bus | "poll" | "notify" =
    place.bus === "poll" || place.bus === "notify" ? place.bus : nats(place.bus, { prefix: "bench" });
  const engine = new Engine({
    storage: await storage(place.storage),
    workflows: [ears],
    cluster: { bus, name, shards, timings },
    logger: silentLogger,
    watchCode: false,
  });
  await engine.start();
  return engine;
}

/** The other process: a member that says what it has used of a processor, when it is asked. */
async function runOther(place: Place): Promise<void> {
  const engine = await startMember(place, "other");
  process.on("message", () => process.send?.(process.cpuUsage()));
  process.once("disconnect", () => void engine.stop());
  process.send?.("ready");
}

async function cpuMs(other: ChildProcess): Promise<number> {
  const answer = once(other, "message") as Promise<[NodeJS.CpuUsage]>;
  other.send("cpu");
  const [{ user, system }] = await answer;
  return (user + system) / 1000;
}

async function untilBothOwn(engine: Engine): Promise<void> {
  const isShared = (): boolean => {
    const owned = engine.members().map((member) => member.shards);
    return owned.length === 2 && owned.every((count) => count > 0) && sum(owned) === shards;
  };
  while (!isShared()) await sleep(50);
}

async function startAway(engine: Engine, count: number): Promise<string[]> {
  const heardHere = new Set<string>();
  const stop = engine.subscribe(({ instanceId }) => void heardHere.add(instanceId), { scope: "process" });
  const ids: string[] = [];
  for (let number = 0; number < count; number++) {
    ids.push((await engine.startWorkflow(ears, undefined)).instanceId);
  }
  await sleep(500);
  stop();
  return ids.filter((id) => !heardHere.has(id));
}

async function measure(call: (turn: number) => Promise<unknown>, calls: number): Promise<number[]> {
  for (let turn = 0; turn < Math.min(50, calls); turn++) await call(turn);
  const latencies: number[] = [];
  for (let turn = 0; turn < calls; turn++) {
    const began = performance.now();
    await call(turn);
    latencies.push(performance.now() - began);
  }
  return latencies;
}

function report(bus: string, what: string, latencies: readonly number[]): void {
  const [p50, p99] = [percentile(latencies, 0.5), percentile(latencies, 0.99)];
  console.log(`${bus.padEnd(8)} ${what.padEnd(28)} p50 ${p50.toFixed(2)} ms   p99 ${p99.toFixed(2)} ms`);
}

async function runBus(name: string, place: Place, flags: { calls: number; idle: number }): Promise<void> {
  const other = fork(import.meta.filename, ["--member", JSON.stringify(place)], { execArgv: [] });
  await once(other, "message");
  const engine = await startMember(place, "here");
  try {
    await untilBothOwn(engine);
    const away = await startAway(engine, 30);
    const one = (turn: number): string => away[turn % away.length] ?? "";
    const calls = name === "poll" ? Math.min(50, flags.calls) : flags.calls;
    report(name, "status of an instance", await measure((turn) => engine.getWorkflowInstanceStatus(one(turn)), calls));
    report(name, "event to an instance", await measure((turn) => engine.raiseEvent(one(turn), "word"), calls));
    const [before, began] = [await cpuMs(other), performance.now()];
    await sleep(flags.idle * 1000);
    const used = ((await cpuMs(other)) - before) / (performance.now() - began);
    console.log(`${name.padEnd(8)} an idle member                ${(100 * used).toFixed(2)} % of a core`);
  } finally {
    const ended = once(other, "exit");
    await engine.stop();
    other.disconnect();
    await ended;
  }
}

const member = process.argv[2] === "--member" ? process.argv[3] : undefined;

async function main(): Promise<void> {
  const given = readFlags(import.meta.url, {
    storage: { type: "string", default: "postgresql" },
    calls: { type: "string", default: "300" },
    idle: { type: "string", default: "20" },
  });
  const flags = { calls: Number(given.calls), idle: Number(given.idle) };
  const servers: DatabaseServer[] = [];
  const start = async (server: Promise<DatabaseServer>): Promise<string> => {
    servers.push(await server);
    return servers.at(-1)?.url ?? "";
  };
  try {
    const isPostgres = given.storage === "postgresql";
    const url = await start(isPostgres ? startPostgres() : startMariadb());
    const natsUrl = await start(startNats());
    const buses = { poll: "poll", ...(isPostgres && { notify: "notify" }), nats: natsUrl };
    for (const [name, bus] of Object.entries(buses)) await runBus(name, { storage: url, bus }, flags);
  } finally {
    for (const { process: server } of servers) {
      await server.stop();
      server.remove();
    }
  }
}

await (member === undefined ? main() : runOther(JSON.parse(member) as Place));
