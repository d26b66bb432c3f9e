/**
 * One instance on the pools of several members: how much faster it ends on three than on one.
 *
 *   node bench/spread.ts [--tasks 300] [--wait 1000] [--slots 10]
 *
 * Each member is a process of its own with that many slots, on a PostgreSQL and a NATS server that are started for the run.
 * The instance has so many independent tasks, each of which waits for so many milliseconds, and `maxConcurrentTasks` of all
 * of them. Some such instances of short tasks go before it. The time counts from the start of the instance to its result.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { readFlags } from "../scripts/command-line.ts";
import { startNats } from "../scripts/servers/nats-server.ts";
import { type DatabaseServer, startPostgres } from "../scripts/servers/postgres-server.ts";
import { silentLogger } from "../src/base/logger.ts";
import { defineJob, Engine, TaskBuilder, type Workflow, WorkflowBuilder } from "../src/index.ts";
import { nats } from "../src/nats.ts";
import { storage } from "../src/storage.ts";
import { sum } from "./statistics.ts";

interface Place {
  readonly storage: string;
  readonly bus: string;
  readonly slots: number;
}

const shards = 16;

/** Instances of short tasks before the measured one, so that every member has owned some. */
const warmUps = 12;

const wait = defineJob("wait", async (ms: number) => {
  await sleep(ms);
  return ms;
});

async function startMember(place: Place, name: string): Promise<Engine> {
  const engine = new Engine({
    storage: await storage(place.storage),
    jobs: [wait],
    poolSize: place.slots,
    poolSizeMax: place.slots,
    maxConcurrentTasks: 100_000,
    cluster: { bus: nats(place.bus, { prefix: "spread" }), name, shards },
    logger: silentLogger,
  });
  await engine.start();
  return engine;
}

async function runOther(place: Place): Promise<void> {
  const engine = await startMember(place, `other-${process.pid}`);
  process.once("disconnect", () => void engine.stop());
  process.send?.("ready");
}

async function untilAllOwn(engine: Engine, count: number): Promise<void> {
  const isSpread = (): boolean => {
    const owned = engine.members().map((member) => member.shards);
    return owned.length === count && owned.every((number) => number > 0) && sum(owned) === shards;
  };
  while (!isSpread()) await sleep(50);
}

function wide(name: string, tasks: number, ms: number): Workflow {
  const builder = new WorkflowBuilder().withName(name);
  for (let number = 0; number < tasks; number++) {
    builder.withTask(new TaskBuilder(`t${number}`).withJobFunction("wait", ms));
  }
  return builder.build();
}

/** The seconds that one instance takes on so many members. */
async function measure(members: number, place: Place, flags: { tasks: number; wait: number }): Promise<number> {
  const others: ChildProcess[] = [];
  for (let number = 1; number < members; number++) {
    const other = fork(import.meta.filename, ["--member", JSON.stringify(place)], { execArgv: [] });
    await once(other, "message");
    others.push(other);
  }
  const engine = await startMember(place, "here");
  try {
    await untilAllOwn(engine, members);
    for (let number = 0; number < warmUps; number++) {
      await (await engine.submitWorkflow(wide(`warm-up-${members}`, flags.tasks, 10))).result();
    }
    const workflow = wide(`wide-${members}`, flags.tasks, flags.wait);
    const began = performance.now();
    const run = await engine.submitWorkflow(workflow);
    await run.result();
    return (performance.now() - began) / 1000;
  } finally {
    await engine.stop();
    for (const other of others) {
      const ended = once(other, "exit");
      other.disconnect();
      await ended;
    }
  }
}

const member = process.argv[2] === "--member" ? process.argv[3] : undefined;

async function main(): Promise<void> {
  const given = readFlags(import.meta.url, {
    tasks: { type: "string", default: "300" },
    wait: { type: "string", default: "1000" },
    slots: { type: "string", default: "10" },
  });
  const flags = { tasks: Number(given.tasks), wait: Number(given.wait), slots: Number(given.slots) };
  const servers: DatabaseServer[] = [];
  const start = async (server: Promise<DatabaseServer>): Promise<string> => {
    servers.push(await server);
    return servers.at(-1)?.url ?? "";
  };
  try {
    const place = { storage: await start(startPostgres()), bus: await start(startNats()), slots: flags.slots };
    const one = await measure(1, place, flags);
    const three = await measure(3, place, flags);
    const what = `${flags.tasks} tasks of ${flags.wait} ms, ${flags.slots} slots per member`;
    console.log(
      `${what}: 1 member ${one.toFixed(2)} s, 3 members ${three.toFixed(2)} s, ${(one / three).toFixed(2)} x`,
    );
  } finally {
    for (const { process: server } of servers) {
      await server.stop();
      server.remove();
    }
  }
}

await (member === undefined ? main() : runOther(JSON.parse(member) as Place));
