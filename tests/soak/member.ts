/**
 * A member of the cluster in a process of its own: `node member.ts <options as JSON>`, started with a channel to the
 * process that drives it. Says that it is up, carries out what it is asked, and writes all it does into its journal.
 */
import type { Clock } from "../../src/base/clock.ts";
import { SharedLease } from "../../src/cluster/shared-lease.ts";
import { Engine } from "../../src/engine/engine.ts";
import { systemClock } from "../../src/engine/system-clock.ts";
import { simJobs } from "../sim/jobs.ts";
import { findMutation } from "../sim/mutations.ts";
import { Journal } from "./journal.ts";
import { journaled } from "./journal-store.ts";
import { RealTime } from "./machine-time.ts";
import type { MemberOptions } from "./member-options.ts";
import { MemberRecorder } from "./member-recorder.ts";
import { storeAt } from "../databases/database-stores.ts";
import { type PackedTask, problemOf, type Reply, type Request, unpackTask } from "./wire-format.ts";
import { drawWaves } from "./workload.ts";

const options = JSON.parse(process.argv[2] ?? "{}") as MemberOptions;
/** Jobs that take seconds of the simulator's time are over sooner here, where seconds are long. */
const haste = 6;
const jobClock: Clock = {
  ...systemClock,
  after: (delayMs, callback) => systemClock.after(delayMs / haste, callback),
};

const { scenarios } = drawWaves(options.workload);
const workflows = new Map(scenarios.map(({ number, workflow }) => [number, workflow]));
const engine = newEngine();
// Nobody drives it any more.
const giveUp = (): void => process.exit(1);
process.on("disconnect", giveUp);
process.on("message", (request) => void answer(request as Request));
try {
  await engine.start();
  send({ about: "start" });
} catch (error) {
  send({ about: "start", problem: problemOf(error) });
}

function newEngine(): Engine {
  const { kind, url, journalFile, shiftMs, life, machine, shards, timings } = options;
  const time = new RealTime(shiftMs);
  const now = (): number => time.now;
  const journal = new Journal(journalFile, now);
  const recorder = new MemberRecorder(journal, now);
  const mutation = options.mutation === undefined ? undefined : findMutation(options.mutation);
  mutation?.install?.();
  const store = journaled(storeAt(kind, url), journal, now);
  journalThread(journal, now);
  const host = { number: life, machine, isDead: false, clock: jobClock, lingerMs: () => 0 };
  const sizes = Object.entries(options.workload.domains).map(([name, size], priority) => [name, { size, priority }]);
  return new Engine({
    storage: mutation?.store?.(store) ?? store,
    clock: mutation?.clock?.(systemClock) ?? systemClock,
    logger: recorder.loggerOf(),
    jobs: simJobs(host, recorder),
    cluster: { name: machine, shards, timings: mutation?.memberTimings?.(timings) ?? timings },
    poolSize: options.poolSize,
    poolSizeMax: 16,
    domains: Object.fromEntries(sizes) as Record<string, { size: number; priority: number }>,
    maxInterruptions: options.maxInterruptions,
    idleMs: options.idleMs,
    stopGraceMs: options.stopGraceMs,
  });
}

/** Writes down the renewals of the lease by the watchdog's thread, when the event loop sees them. */
function journalThread(journal: Journal, now: () => number): void {
  const before = Object.getOwnPropertyDescriptor(SharedLease.prototype, "renewalOf")?.value as SharedLease["renewalOf"];
  let seen: number | undefined;
  SharedLease.prototype.renewalOf = function (member) {
    const sent = before.call(this, member);
    if (sent !== undefined && sent.monotonic !== seen) {
      seen = sent.monotonic;
      journal.write({ what: "renewal", member, sentAt: now() - (systemClock.monotonic() - seen) });
    }
    return sent;
  };
}

async function answer({ id, method, args }: Request): Promise<void> {
  try {
    send({ about: id, value: await carryOut(method, args) });
  } catch (error) {
    send({ about: id, problem: problemOf(error) });
  }
}

async function carryOut(method: string, args: readonly unknown[]): Promise<unknown> {
  switch (method) {
    case "submitWorkflow": {
      const [number, ...rest] = args as [number, Parameters<Engine["submitWorkflow"]>[1]];
      const workflow = workflows.get(number);
      if (workflow === undefined) throw new Error(`no scenario has the number ${number}`);
      const { instanceId } = await engine.submitWorkflow(workflow, ...rest);
      return { instanceId };
    }
    case "addSubTask": {
      const [id, packed, parent] = args as [string, PackedTask, string];
      return await engine.addSubTask(id, unpackTask(packed), parent);
    }
    case "stop":
      await engine.stop();
      // It ends by itself, when nothing keeps it.
      process.off("disconnect", giveUp);
      return undefined;
    case "setDomainPoolSize": {
      const [domain, size] = args as [string, number];
      return await engine.executor.setDomainPoolSize(domain, size);
    }
    default: {
      const act: unknown = Reflect.get(engine, method);
      if (typeof act !== "function") throw new Error(`an engine has no ${method}`);
      return await (act.apply(engine, [...args]) as Promise<unknown>);
    }
  }
}

/** Whoever drives it lets go when it has stopped, and wants no answer then to what was still under way. */
function send(reply: Reply): void {
  process.send?.(reply, undefined, undefined, () => undefined);
}
