/**
 * What users notice while the members of a cluster change: throughput and latency under a steady load, while a third member
 * joins, leaves and dies.
 *
 *   node bench/rebalance.ts [--rate 100] [--sleepers 20000] [--shards 128] [--bus nats|notify] [--json]
 *
 * Members are processes on a PostgreSQL and a NATS server that are started for the run. Two of them start one-task
 * workflows at that rate per second, each, and note when each has ended; the third has no clients. A sleeper is an instance
 * asleep, which makes opening a shard take longer.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { readFlags } from "../scripts/command-line.ts";
import { startNats } from "../scripts/servers/nats-server.ts";
import { type DatabaseServer, startPostgres } from "../scripts/servers/postgres-server.ts";
import { silentLogger } from "../src/base/logger.ts";
import { type Bus, defineWorkflow, Engine, WorkflowBuilder, TaskBuilder } from "../src/index.ts";
import { nats } from "../src/nats.ts";
import { storage } from "../src/storage.ts";
import { noOp } from "./no-op.ts";
import { percentile, sum } from "./statistics.ts";

interface Place {
  readonly storage: string;
  readonly bus: string;
  readonly shards: number;
  readonly name: string;
}

/** A workflow: epoch ms of its start, and how long it took. */
type Run = readonly [startedAt: number, ms: number];

type Order =
  | { readonly type: "load"; readonly rate: number }
  | { readonly type: "sleepers"; readonly count: number }
  | { readonly type: "runs" }
  | { readonly type: "shards" }
  | { readonly type: "leave" };

const asleep = defineWorkflow("asleep", (ctx) => ctx.sleep(86_400_000));
const plain = new WorkflowBuilder()
  .withName("plain")
  .withTask(new TaskBuilder("task").withJobFunction("no-op"))
  .build();

const windowMs = 100;
const calmMs = 5000;

/** A member, in a process of its own. */
class MemberProcess {
  readonly #engine: Engine;
  #runs: Run[] = [];
  #failed = 0;

  private constructor(engine: Engine) {
    this.#engine = engine;
  }

  static async start(place: Place): Promise<void> {
    const bus: Bus | "notify" = place.bus === "notify" ? "notify" : nats(place.bus, { prefix: "rebalance" });
    const engine = new Engine({
      storage: await storage(place.storage),
      jobs: [noOp],
      workflows: [asleep],
      cluster: { bus, name: place.name, shards: place.shards },
      logger: silentLogger,
      watchCode: false,
    });
    await engine.start();
    const member = new MemberProcess(engine);
    process.on("message", (order) => void member.#answer(order as Order));
    process.send?.("started");
  }

  async #answer(order: Order): Promise<void> {
    process.send?.((await this.#carryOut(order)) ?? "done");
    if (order.type === "leave") process.disconnect();
  }

  async #carryOut(order: Order): Promise<unknown> {
    if (order.type === "load") {
      this.#load(order.rate);
      return undefined;
    }
    if (order.type === "sleepers") return await this.#sleepers(order.count);
    if (order.type === "shards") return this.#engine.members().map(({ shards }) => shards);
    if (order.type === "leave") {
      await this.#engine.handOver();
      return await this.#engine.stop();
    }
    const [runs, failed] = [this.#runs, this.#failed];
    [this.#runs, this.#failed] = [[], 0];
    return { runs, failed };
  }

  #load(rate: number): void {
    const began = performance.now();
    let started = 0;
    setInterval(() => {
      for (const due = ((performance.now() - began) / 1000) * rate; started < due; started++) void this.#run();
    }, 5);
  }

  async #run(): Promise<void> {
    const began = performance.now();
    try {
      await (await this.#engine.submitWorkflow(plain)).result();
      this.#runs.push([performance.timeOrigin + began, performance.now() - began]);
    } catch {
      this.#failed++;
    }
  }

  async #sleepers(count: number): Promise<void> {
    let started = 0;
    const client = async (): Promise<void> => {
      while (started++ < count) await this.#engine.startWorkflow(asleep, undefined);
    };
    await Promise.all(Array.from({ length: 200 }, client));
  }
}

/** The other end of a member's process. */
class RemoteMember {
  readonly process: ChildProcess;

  constructor(place: Place) {
    this.process = fork(import.meta.filename, ["--member", JSON.stringify(place)], { execArgv: [] });
  }

  async answer<T>(order?: Order): Promise<T> {
    const answer = once(this.process, "message") as Promise<[T]>;
    if (order !== undefined) this.process.send(order);
    return (await answer)[0];
  }
}

async function untilSpread(member: RemoteMember, count: number, shards: number): Promise<void> {
  for (;;) {
    const owned = await member.answer<number[]>({ type: "shards" });
    if (owned.length === count && owned.every((number) => number > 0) && sum(owned) === shards) return;
    await sleep(20);
  }
}

async function measure(
  what: string,
  clients: readonly RemoteMember[],
  act: () => Promise<unknown>,
): Promise<Record<string, string | number>> {
  for (const client of clients) await client.answer({ type: "runs" });
  const began = Date.now();
  await act();
  const changedMs = Date.now() - began;
  await sleep(calmMs);
  const end = Date.now() - 1000;
  const answers = await Promise.all(
    clients.map((client) => client.answer<{ runs: Run[]; failed: number }>({ type: "runs" })),
  );
  const runs = answers.flatMap((answer) => answer.runs);
  const ended = Array.from({ length: Math.floor((end - began) / windowMs) }, () => 0);
  for (const [startedAt, ms] of runs) {
    const window = Math.floor((startedAt + ms - began) / windowMs);
    if (window >= 0 && window < ended.length) ended[window] = (ended[window] ?? 0) + 1;
  }
  const latencies = runs.map(([, ms]) => ms);
  const mean = sum(ended) / ended.length;
  return {
    what,
    seconds: changedMs / 1000,
    perWindow: Number(mean.toFixed(1)),
    lowest: Math.min(...ended),
    belowHalf: ended.filter((count) => count < mean / 2).length,
    p50: Number(percentile(latencies, 0.5).toFixed(1)),
    p99: Number(percentile(latencies, 0.99).toFixed(1)),
    longest: Number(Math.max(...latencies).toFixed(0)),
    failed: sum(answers.map(({ failed }) => failed)),
  };
}

async function main(): Promise<void> {
  const given = readFlags(import.meta.url, {
    rate: { type: "string", default: "100" },
    sleepers: { type: "string", default: "20000" },
    shards: { type: "string", default: "128" },
    bus: { type: "string", default: "nats" },
    json: { type: "boolean", default: false },
  });
  const shards = Number(given.shards);
  const servers: DatabaseServer[] = [];
  const start = async (server: Promise<DatabaseServer>): Promise<string> => {
    servers.push(await server);
    return servers.at(-1)?.url ?? "";
  };
  const members: RemoteMember[] = [];
  try {
    const bus = given.bus === "notify" ? "notify" : await start(startNats());
    const database = await start(startPostgres());
    const add = async (): Promise<RemoteMember> => {
      const member = new RemoteMember({ storage: database, bus, shards, name: `m${members.length + 1}` });
      members.push(member);
      await member.answer();
      return member;
    };
    const clients = [await add(), await add()];
    const [first] = clients;
    if (first === undefined) return;
    await untilSpread(first, 2, shards);
    await first.answer({ type: "sleepers", count: Number(given.sleepers) });
    for (const client of clients) await client.answer({ type: "load", rate: Number(given.rate) });
    await sleep(3000);
    const report = (line: Record<string, string | number>): void =>
      console.log(
        given.json
          ? JSON.stringify(line)
          : Object.entries(line)
              .map((pair) => pair.join(" "))
              .join("  "),
      );
    report(await measure("nothing changes", clients, () => sleep(1000)));
    let third: RemoteMember | undefined;
    const join = async (): Promise<void> => {
      third = await add();
      await untilSpread(first, 3, shards);
    };
    report(await measure("a member joins", clients, join));
    report(await measure("it leaves", clients, async () => await third?.answer({ type: "leave" })));
    report(await measure("a member joins", clients, join));
    const die = async (): Promise<void> => {
      third?.process.kill("SIGKILL");
      await untilSpread(first, 2, shards);
    };
    report(await measure("it is killed", clients, die));
  } finally {
    for (const { process: child } of members) child.kill("SIGKILL");
    for (const { process: server } of servers) {
      await server.stop();
      server.remove();
    }
  }
}

const member = process.argv[2] === "--member" ? process.argv[3] : undefined;
await (member === undefined ? main() : MemberProcess.start(JSON.parse(member) as Place));
