import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { DatabaseServer } from "../../scripts/servers/postgres-server.ts";
import type { Workflow } from "../../src/authoring/workflow.ts";
import { hasCode } from "../../src/base/error.ts";
import type { ClusterTimings } from "../../src/cluster/timings.ts";
import { mailboxOf } from "../../src/stores/mailbox.ts";
import type { InstanceSummary, Store } from "../../src/stores/store.ts";
import { execute, type ServerKind, urlOf } from "../databases/databases.ts";
import { Proxy } from "../databases/proxy.ts";
import { SimRandom } from "../sim/sim-random.ts";
import { Client } from "../sim/client.ts";
import { Driver, playResizes } from "../sim/drivers.ts";
import type { Evidence, Setting } from "../sim/evidence.ts";
import type { Machine } from "../sim/machine.ts";
import { Supervisor } from "../sim/supervisor.ts";
import { readFinalState } from "../sim/final-state.ts";
import { needsScript } from "../sim/shapes.ts";
import { keepAudit, readAudit } from "./audit.ts";
import { Faults } from "./faults.ts";
import { RealTime } from "./machine-time.ts";
import { Host, ProcessLife, type ProcessLifeParts } from "./process-life.ts";
import { FileLog, RunRecorder } from "./run-recorder.ts";
import { storeAt } from "../databases/database-stores.ts";
import { hearMembers, type Testimony } from "./testimony.ts";
import { drawWaves } from "./workload.ts";
import type { Workload } from "../sim/workload.ts";

export interface SoakOptions {
  readonly kind: ServerKind;
  /** Of this run's own: it is killed, stopped and started again. */
  readonly server: DatabaseServer;
  readonly seed: number;
  readonly memberCount: number;
  /** Work comes, and faults with it, for so long. */
  readonly spanMs: number;
  /** For journals and logs. */
  readonly folder: string;
  readonly shiftMs: number;
  /** One of the simulator's: a bug put in on purpose. */
  readonly mutation?: string | undefined;
  /** Nothing goes wrong: to see how the rest is. */
  readonly isCalm?: boolean;
}

/** Once the faults are over, everything ends within this time. */
const calmMs = 120_000;

/** The server is there again within this time after the last fault. */
const reachMs = 20_000;

/** Timeout of the observer: it reads everything at once in the end, on a machine that has other things to do. */
const observerLimits = { workMs: 60_000, heartbeatMs: 60_000 };

/** Messages and mail of the last moments are read within this time. */
const quietMs = 20_000;

/** Mean time from one fault to the next. */
const faultEveryMs = 2000;

/** A process that was killed is started again after about so long. */
const downMs = 1500;

const waveMs = 6000;

/** Short, so that a stop is over soon. */
const stopGraceMs = 1000;

const domains: Readonly<Record<string, number>> = { red: 2, blue: 3 };

/** Members are given up after four seconds. */
const timings: ClusterTimings = {
  beatMs: 400,
  suspectMs: 1500,
  lostMs: 2500,
  stallMs: 120_000,
  pollMs: 1000,
  pollWithoutBusMs: 150,
  callMs: 8000,
  workerBeatMs: 1000,
  workerLostMs: 6000,
  rebalanceMs: 300,
};

/** Members in processes of their own, a database server, and faults: one run of it, and what everybody says afterwards. */
export class SoakWorld {
  readonly faults: Faults;
  readonly recorder: RunRecorder;
  readonly #options: SoakOptions;
  readonly #time: RealTime;
  readonly #log: FileLog;
  readonly #random: SimRandom;
  readonly #hosts: readonly Host[];
  readonly #supervisor: Supervisor;
  readonly #client: Client;
  readonly #setting: Setting;
  readonly #shardCount: number;
  readonly #idleMs: number;
  readonly #url: string;
  readonly #store: Store;
  readonly #workload: Workload;
  readonly #numbers: ReadonlyMap<Workflow, number>;
  #leftovers: Evidence["finalState"]["leftovers"] = [];
  #isOver = false;

  private constructor(options: SoakOptions, url: string, proxies: readonly Proxy[]) {
    this.#options = options;
    const { seed, shiftMs, folder, spanMs, server, kind } = options;
    const random = (this.#random = new SimRandom(seed));
    const time = (this.#time = new RealTime(shiftMs));
    const log = (this.#log = new FileLog(join(folder, "log.txt"), () => time.now));
    const recorder = (this.recorder = new RunRecorder(log, () => time.now));
    const hosts = (this.#hosts = proxies.map((proxy, i) => new Host(`m${i + 1}`, proxy)));
    this.#url = url;
    this.#store = storeAt(kind, url, observerLimits);
    this.#shardCount = random.fork("shards").pick([1, 4, 16, 16]);
    this.#workload = drawWaves({ seed, domains, spanMs, waveMs });
    this.#numbers = new Map(this.#workload.scenarios.map(({ number, workflow }) => [workflow, number]));
    this.#idleMs = random.fork("idle").pick([3000, 1_800_000]);
    const poolSize = random.fork("pool").whole(7, 12);
    const maxInterruptions = 1_000_000;
    const calmAt = time.now + spanMs;
    const limits = { maxInterruptions, maxConcurrentActivities: 0, stopGraceMs };
    this.#setting = {
      isCluster: true,
      timings,
      poolSize,
      workerSlots: 0,
      domains,
      ...limits,
      isStoreRough: true,
      calmAt,
    };
    const supervisor = (this.#supervisor = new Supervisor({
      scheduler: time,
      log,
      recorder,
      random: random.fork("supervisor"),
      downMs,
      newLife: (machine) => this.#newLife(machine),
      isOver: () => this.#isOver,
    }));
    const callees = (): ProcessLife[] => hosts.flatMap(({ isUp, life }) => (isUp && life ? [life] : []));
    this.#client = new Client({ scheduler: time, recorder, random: random.fork("client"), callees });
    const lostMs = timings.suspectMs + timings.lostMs;
    const parts = { time, random: random.fork("faults"), recorder, supervisor, hosts, server, url };
    this.faults = new Faults({ ...parts, everyMs: faultEveryMs, lostMs });
  }

  /** With a database of its own, and a proxy to it for every member. */
  static async make(options: SoakOptions): Promise<SoakWorld> {
    const { server, kind, memberCount } = options;
    const name = `soak_${randomUUID().replaceAll("-", "")}`;
    await execute(server.url, `CREATE DATABASE ${name}`);
    const url = urlOf(server.url, name);
    const store = storeAt(kind, url);
    await store.open();
    await store.close();
    await keepAudit(kind, url);
    const proxies = await Promise.all(Array.from({ length: memberCount }, () => Proxy.to(url)));
    return new SoakWorld(options, url, proxies);
  }

  /** Everybody's word after it. The database is dropped. */
  async run(): Promise<Testimony> {
    try {
      await this.#live();
      return await this.#testimony();
    } finally {
      this.#isOver = true;
      await this.faults.mend();
      for (const { life, proxy } of this.#hosts) {
        life?.crash("the run is over");
        await proxy.close();
      }
      await this.#store.close();
      const { server, kind } = this.#options;
      const name = new URL(this.#url).pathname.slice(1);
      await execute(server.url, `DROP DATABASE ${name}${kind === "postgres" ? " WITH (FORCE)" : ""}`);
    }
  }

  async #live(): Promise<void> {
    const { recorder } = this;
    const time = this.#time;
    for (const [place, host] of this.#hosts.entries()) void this.#supervisor.beginLater(host, place === 0 ? 0 : 500);
    const work = this.#play();
    if (this.#options.isCalm) await time.sleep(this.#setting.calmAt - time.now);
    else await this.faults.run(this.#setting.calmAt);
    await this.faults.end();
    recorder.recordFault("none from now on");
    await this.#reachStore();
    const all = work.then(() => this.#untilQuiet());
    if (!(await time.within(calmMs, all))) recorder.recordProblem("the work did not end after the faults had");
    for (const host of this.#hosts) await this.#supervisor.stopForGood(host);
  }

  /** The server may need a moment after the last fault; one that stays away is a failure. */
  async #reachStore(): Promise<void> {
    for (const end = this.#time.now + reachMs; ; await this.#time.sleep(200)) {
      try {
        return await this.#store.open();
      } catch (error) {
        if (!hasCode(error, "STORE_UNAVAILABLE") || this.#time.now > end) throw error;
        this.recorder.recordFault(`the database is not reached yet: ${error.message}`);
      }
    }
  }

  async #play(): Promise<void> {
    const { scenarios, resizes } = this.#workload;
    const random = this.#random.fork("drivers");
    const drivers = scenarios.map((scenario) => {
      return new Driver(scenario, this.#client, random.fork(`driver ${scenario.number}`)).play();
    });
    await Promise.all([...drivers, playResizes(resizes, this.#client)]);
  }

  #newLife(machine: Machine): ProcessLife {
    if (!(machine instanceof Host)) throw new Error("members live on hosts");
    const { kind, folder, shiftMs, mutation, seed, spanMs } = this.#options;
    const { poolSize, maxInterruptions } = this.#setting;
    const options: ProcessLifeParts["options"] = {
      kind,
      shiftMs,
      timings,
      poolSize,
      maxInterruptions,
      stopGraceMs,
      workload: { seed, domains, spanMs, waveMs },
      shards: this.#shardCount,
      idleMs: this.#idleMs,
      ...(mutation !== undefined && { mutation }),
    };
    const { recorder } = this;
    const numberOf = (workflow: Workflow): number => this.#numbers.get(workflow) ?? -1;
    return new ProcessLife({ machine, scheduler: this.#time, log: this.#log, recorder, folder, options, numberOf });
  }

  /** Everybody is there, and all is done and read, also what was carried out long after it was asked for. */
  async #untilQuiet(): Promise<void> {
    do {
      await this.#endOrphans();
      while (!this.#hosts.every(({ isUp }) => isUp)) await this.#time.sleep(100);
      await this.#untilRead();
    } while ((await this.#unfinished()).length > 0);
  }

  async #unfinished(): Promise<InstanceSummary[]> {
    return await this.#store.listInstances({ status: ["Ready", "Running", "Paused"], limit: 1000 });
  }

  /** Instances whose start nobody knows of come to their end too; some of them only if somebody sees to it. */
  async #endOrphans(): Promise<void> {
    for (let number = 0; ; number++) {
      const unfinished = await this.#unfinished();
      if (unfinished.length === 0) return;
      for (const { id, workflow } of unfinished) {
        if (!needsScript(workflow)) continue;
        const about = { instanceId: id, marker: `orphan-${number}` };
        await this.#client.call("terminate", about, (engine) => engine.terminateWorkflowInstance(id, about.marker));
      }
      await this.#time.sleep(500);
    }
  }

  /** What instances and living members had written to each other when the work was done is read after a while. */
  async #untilRead(): Promise<void> {
    const shards = Array.from({ length: this.#shardCount }, (_, shard) => shard);
    const members = (await this.#livingMembers()).map(mailboxOf);
    const mailboxes = [...shards.map((shard) => `shard:${shard}`), ...members];
    const left = async (): Promise<Leftover[]> => [
      ...(await this.#store.loadOutbox(shards)),
      ...(await this.#store.listMailboxRows(mailboxes, 1_000_000)),
    ];
    const names = new Set((await left()).map(nameOf));
    for (const end = this.#time.now + quietMs; ; await this.#time.sleep(200)) {
      this.#leftovers = (await left()).filter((each) => names.has(nameOf(each)));
      if (this.#leftovers.length === 0 || this.#time.now > end) return;
    }
  }

  async #livingMembers(): Promise<string[]> {
    const living = new Set<string>();
    for (const row of await readAudit(this.#url)) {
      if (row.what === "joined") living.add(row.member);
      if (row.what === "gone") living.delete(row.member);
    }
    return [...living];
  }

  async #testimony(): Promise<Testimony> {
    const { calls, lives, problems } = this.recorder;
    const heard = hearMembers(lives, (life) => join(this.#options.folder, `life-${life}.jsonl`));
    const audit = await readAudit(this.#url);
    const finalState = {
      ...(await readFinalState(this.#store, heard.commitCalls)),
      leftovers: this.#leftovers,
      busyWorkers: [],
    };
    const { scenarios } = this.#workload;
    const stayed = await this.#livingMembers();
    return { ...heard, setting: this.#setting, scenarios, calls, lives, problems, audit, finalState, stayed };
  }
}

type Leftover = Evidence["finalState"]["leftovers"][number];

function nameOf(left: Leftover): string {
  return "mailbox" in left ? `${left.id}` : `${left.source}/${left.target}/${left.number}`;
}
