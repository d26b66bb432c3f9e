import assert from "node:assert/strict";
import { messageOf } from "../../src/base/error.ts";
import type { Bus } from "../../src/cluster/bus.ts";
import type { EngineOptions } from "../../src/engine/options.ts";
import { MemoryStore } from "../../src/stores/memory/memory-store.ts";
import { SqliteStore } from "../../src/stores/sqlite/sqlite-store.ts";
import { mailboxOf } from "../../src/stores/mailbox.ts";
import type { InstanceSummary, Store } from "../../src/stores/store.ts";
import { SimRandom } from "./sim-random.ts";
import { Client } from "./client.ts";
import { type FaultProfile, type FaultProfileName, drawFaultProfile } from "./fault-profile.ts";
import type { CodeKind } from "./code-shapes.ts";
import { childDag, codeWorkflows, heirDags } from "./code-workflows.ts";
import { drawCodeScenarios } from "./code-workload.ts";
import { Driver, playResizes } from "./drivers.ts";
import { EventLog } from "./event-log.ts";
import type { BusyWorker, Evidence, Setting } from "./evidence.ts";
import { Faults, type FaultyWorld } from "./faults.ts";
import type { Life, Machine } from "./machine.ts";
import { Member, MemberLife, type MemberLifeParts } from "./member.ts";
import { playMonitor } from "./monitor.ts";
import type { Mutation } from "./mutations.ts";
import { Network } from "./network.ts";
import { Supervisor } from "./supervisor.ts";
import { SimProcessTable } from "./process-table.ts";
import { readFinalState } from "./final-state.ts";
import { Restore } from "./restore.ts";
import { ScheduleDriver } from "./schedule-driver.ts";
import { drawSchedules, type ScheduleScenario } from "./schedule-workload.ts";
import { scheduledDags } from "./scheduled-workflows.ts";
import { Scheduler } from "./scheduler.ts";
import { type Kind, needsScript } from "./shapes.ts";
import { Recorder } from "./recorder.ts";
import { WorkerLife, WorkerMachine } from "./worker.ts";
import { drawWatches, Watchers } from "./watchers.ts";
import { type AnyScenario, drawTwins, drawWorkload, type Resize, twinNamespace } from "./workload.ts";

export interface WorldOptions {
  readonly seed: number;
  /** The number of members of a cluster; undefined for a single engine. */
  readonly memberCount?: number | undefined;
  /** The number of machines that run jobs for the members. */
  readonly workerCount?: number;
  readonly profile?: FaultProfileName;
  readonly kinds?: readonly Kind[];
  readonly codeKinds?: readonly CodeKind[];
  readonly mutation?: Mutation | undefined;
  /** A backup of the store is restored under the running members of a cluster. */
  readonly restores?: boolean | undefined;
  /** Errors have stacks; the hash then depends on the path of the checkout. */
  readonly hasStacks?: boolean;
}

/** The maximum time from the end of the faults to the end of all work. */
const calmMs = 3_600_000;

/** The time within which the last messages are read and the last results of workers delivered. */
const quietMs = 60_000;

const domains: Readonly<Record<string, number>> = { red: 2, blue: 3 };

/** One run: machines, a store, a network and clients on virtual time, all from one seed. */
export class World implements FaultyWorld {
  readonly scheduler: Scheduler;
  readonly log: EventLog;
  readonly recorder: Recorder;
  readonly network: Network;
  readonly members: readonly Member[];
  readonly workers: readonly WorkerMachine[];
  readonly supervisor: Supervisor;
  readonly profile: FaultProfile;
  readonly #options: WorldOptions;
  readonly #random: SimRandom;
  readonly #store: MemoryStore | SqliteStore;
  readonly #scenarios: readonly AnyScenario[];
  readonly #resizes: readonly Resize[];
  readonly #schedules: readonly ScheduleScenario[];
  readonly #setting: Setting;
  readonly #shardCount: number;
  readonly #idleMs: number;
  readonly #idleMax: number;
  readonly #lingerMs: number;
  readonly #client: Client;
  readonly #twinClient: Client;
  readonly #watchers: Watchers;
  #leftovers: Leftover[] = [];
  #busyWorkers: readonly BusyWorker[] = [];
  readonly #isRestored: boolean;
  #isOver = false;

  constructor(options: WorldOptions) {
    this.#options = options;
    const random = (this.#random = new SimRandom(options.seed));
    this.log = new EventLog(() => this.scheduler.now);
    this.scheduler = new Scheduler((at, order) => {
      this.log.mix(at);
      this.log.mix(order);
    });
    this.recorder = new Recorder(this.log, () => this.scheduler.now);
    this.network = new Network({ scheduler: this.scheduler, random: random.fork("network"), log: this.log });
    const { memberCount, workerCount = 0, profile: name } = options;
    const profile = { memberCount, workerCount, ...(name !== undefined && { name }) };
    this.profile = drawFaultProfile(random.fork("climate"), profile);
    const { storeKind, spanMs, downMs } = this.profile;
    this.members = Array.from({ length: this.profile.memberCount }, (_, i) => new Member(`m${i + 1}`));
    this.workers = Array.from({ length: workerCount }, (_, i) => new WorkerMachine(`w${i + 1}`));
    const { scheduler, log, recorder } = this;
    this.supervisor = new Supervisor({
      scheduler,
      log,
      recorder,
      random,
      downMs,
      newLife: (machine) => this.#newLife(machine),
      isOver: () => this.#isOver,
    });
    const clock = { now: () => scheduler.now };
    this.#isRestored = memberCount !== undefined && (options.restores ?? false);
    this.#store =
      storeKind === "memory" || this.#isRestored
        ? new MemoryStore({ delay: atOnce, clock })
        : new SqliteStore({ file: ":memory:", clock });
    const { kinds, codeKinds } = options;
    const { scenarios, resizes } = drawWorkload(random.fork("workload"), {
      domains,
      tags: workerCount > 0 ? ["member", "worker"] : ["member"],
      spanMs,
      ...(kinds !== undefined && { kinds }),
    });
    const code = { domains: Object.keys(domains), spanMs, ...(codeKinds !== undefined && { kinds: codeKinds }) };
    const twins = drawTwins(random.fork("twins"), scenarios, spanMs);
    this.#scenarios = [...scenarios, ...twins, ...drawCodeScenarios(random.fork("code workload"), code)];
    this.#resizes = resizes;
    const drawn = random.fork("setting");
    this.#shardCount = memberCount === undefined ? 1 : drawn.pick([1, 4, 16]);
    this.#idleMs = drawn.pick([3000, 1_800_000]);
    this.#idleMax = random.fork("idle").pick([1, 3, 10_000]);
    this.#lingerMs = random.fork("linger").pick([0, 1000, 6000]);
    this.#setting = this.#drawSetting(drawn);
    this.#schedules = drawSchedules(random.fork("schedules"), { spanMs });
    this.#client = this.#newClient(random.fork("client"));
    this.#twinClient = this.#newClient(random.fork("twin client"), twinNamespace);
    this.#watchers = this.#makeWatchers(random.fork("watchers"), spanMs);
  }

  #newClient(random: SimRandom, namespace?: string): Client {
    const { scheduler, recorder } = this;
    return new Client({ scheduler, recorder, random, callees: () => this.#livesUp(), ...(namespace && { namespace }) });
  }

  #makeWatchers(random: SimRandom, spanMs: number): Watchers {
    const { scheduler, recorder } = this;
    const plans = drawWatches(random.fork("plans"), this.#scenarios, spanMs);
    const { timings } = this.#setting;
    return new Watchers({ plans, scheduler, recorder, random, timings, lives: () => this.#livesUp() });
  }

  /** With workers, members have few slots of their own, so that the workers have work. */
  #drawSetting(random: SimRandom): Setting {
    const { memberCount, workerCount = 0 } = this.#options;
    const { timings, spanMs, store } = this.profile;
    const poolSize = random.whole(7, 12);
    const ofWorkers = this.#random.fork("workers");
    const ofLimits = this.#random.fork("activities");
    return {
      isCluster: memberCount !== undefined,
      timings,
      // The domains of an engine alone are parts of its pool.
      poolSize: workerCount > 0 ? ofWorkers.whole(memberCount === undefined ? 6 : 4, 7) : poolSize,
      workerSlots: ofWorkers.whole(1, 6),
      domains,
      maxInterruptions: 1_000_000,
      stopGraceMs: 1000,
      maxConcurrentActivities: ofLimits.isLucky(0.3) ? ofLimits.whole(1, 3) : 0,
      // Workers have all code, so that members may lack some.
      lacksCode: this.#random.fork("code").isLucky(workerCount > 0 ? 0.7 : 0.25),
      isStoreRough: store.failing + store.lying + store.lagging + store.slowness > 0,
      calmAt: spanMs,
    };
  }

  #livesUp(): MemberLife[] {
    return this.members.flatMap(({ isUp, life }) => (isUp && life !== undefined ? [life] : []));
  }

  /** Runs without stack traces, because they get into histories and contain the path of the code. */
  async run(): Promise<Evidence> {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = this.#options.hasStacks ? stackTraceLimit : 0;
    const onRejection = (error: unknown): void => this.recorder.recordProblem(`nobody caught: ${messageOf(error)}`);
    process.on("unhandledRejection", onRejection);
    try {
      return await this.#run();
    } finally {
      process.off("unhandledRejection", onRejection);
      Error.stackTraceLimit = stackTraceLimit;
    }
  }

  async #run(): Promise<Evidence> {
    await this.#store.open();
    try {
      void this.#live().catch((error: unknown) => {
        this.recorder.recordProblem(error instanceof Error ? (error.stack ?? error.message) : String(error));
        this.#isOver = true;
      });
      await this.scheduler.run(() => this.#isOver);
      if (!this.#isOver) this.recorder.recordProblem("nothing is left that could happen, and it is not over");
      for (const error of this.scheduler.errors) this.recorder.recordProblem(`an event failed: ${messageOf(error)}`);
      return await this.#evidence();
    } finally {
      for (const { life } of this.#machines) life?.crash("the run is over");
      await this.#store.close();
    }
  }

  async #live(): Promise<void> {
    const { scheduler, profile } = this;
    const faults = new Faults(this, profile, this.#random.fork("faults"));
    for (const [place, machine] of this.#machines.entries()) {
      void this.supervisor.beginLater(machine, place === 0 ? 0 : 500);
    }
    const restore = this.#isRestored ? this.#makeRestore() : undefined;
    const work = this.#play();
    if (this.#hasCodeOnWorkersOnly) for (const member of this.members) void this.#replace(member);
    this.#watchers.start();
    await faults.run();
    faults.end();
    this.recorder.recordFault("none from now on");
    const all = (restore?.run() ?? work).then(() => this.#untilQuiet()).then(() => this.#watchers.finish());
    if (!(await scheduler.within(calmMs, all)))
      this.recorder.recordProblem("the work did not end after the faults had");
    for (const machine of this.#inOrderOfEnd()) await this.supervisor.stopForGood(machine);
    scheduler.after(0, undefined, () => void (this.#isOver = true));
  }

  /** In some of the runs with workers, members have the code of workflows in their first lives only. */
  get #hasCodeOnWorkersOnly(): boolean {
    const { lacksCode } = this.#setting;
    return lacksCode === true && this.workers.length > 0 && this.#random.fork("code on workers").isLucky(0.6);
  }

  async #replace(member: Member): Promise<void> {
    const random = this.#random.fork(`replacement of ${member.name}`);
    await this.scheduler.sleep(random.within(500, 5000));
    await this.supervisor.leave(member, random.within(100, 1000));
  }

  #makeRestore(): Restore {
    const { members, supervisor, scheduler, recorder, profile } = this;
    const store = this.#store;
    assert.ok(store instanceof MemoryStore);
    const random = this.#random.fork("restore");
    return new Restore(
      { store, members, clients: [this.#client, this.#twinClient], supervisor, scheduler, recorder, random },
      profile.spanMs,
    );
  }

  get #machines(): readonly Machine[] {
    return [...this.members, ...this.workers];
  }

  /** Workers stop before, after or between the members. */
  #inOrderOfEnd(): readonly Machine[] {
    const random = this.#random.fork("end");
    const left: Machine[] = [...this.members];
    for (const worker of this.workers) left.splice(random.whole(0, left.length), 0, worker);
    return left;
  }

  async #play(): Promise<void> {
    const random = this.#random.fork("drivers");
    const drivers = this.#scenarios.map((scenario) => {
      const client = scenario.namespace === undefined ? this.#client : this.#twinClient;
      return new Driver(scenario, client, random.fork(`driver ${scenario.number}`)).play();
    });
    const schedules = this.#schedules.map((scenario) => {
      return new ScheduleDriver(scenario, this.#client, random.fork(`schedule ${scenario.id}`)).play();
    });
    const monitor = playMonitor(this.#client, this.#random.fork("monitor"), this.profile.spanMs);
    await Promise.all([...drivers, ...schedules, monitor, playResizes(this.#resizes, this.#client)]);
  }

  /** Waits until all machines are up, and all work is done and read, including calls that were carried out late. */
  async #untilQuiet(): Promise<void> {
    do {
      await this.#endOrphans();
      while (!this.#machines.every(({ isUp }) => isUp)) await this.scheduler.sleep(100);
      await this.#untilRead();
      await this.#untilReported();
    } while ((await this.#unfinished()).length > 0);
  }

  async #unfinished(): Promise<InstanceSummary[]> {
    return await this.#store.listInstances({ status: ["Ready", "Running", "Paused"], limit: 1000 });
  }

  /** Instances whose start was never acknowledged end too; some of them need a client for that. */
  async #endOrphans(): Promise<void> {
    for (let number = 0; ; number++) {
      const unfinished = await this.#unfinished();
      if (unfinished.length === 0) return;
      for (const { id, workflow } of unfinished) {
        if (!needsScript(workflow)) continue;
        const about = { instanceId: id, marker: `orphan-${number}` };
        await this.#client.call("terminate", about, (engine) => engine.terminateWorkflowInstance(id, about.marker));
      }
      await this.scheduler.sleep(1000);
    }
  }

  /**
   * Waits until the messages that were pending when the work was done are read; the rest becomes evidence. New mail
   * keeps arriving. Mail for members that are gone is of no use and expires.
   */
  async #untilRead(): Promise<void> {
    const shards = Array.from({ length: this.#shardCount }, (_, shard) => shard);
    const members = this.#livingMembers().map(mailboxOf);
    const mailboxes = [...shards.map((shard) => `shard:${shard}`), ...members];
    const left = async (): Promise<Leftover[]> => [
      ...(await this.#store.loadOutbox(shards)),
      ...(await this.#store.listMailboxRows(mailboxes, 1_000_000)),
    ];
    const names = new Set((await left()).map(nameOf));
    for (const end = this.scheduler.now + quietMs; ; await this.scheduler.sleep(500)) {
      this.#leftovers = (await left()).filter((each) => names.has(nameOf(each)));
      if (this.#leftovers.length === 0 || this.scheduler.now > end) return;
    }
  }

  #livingMembers(): string[] {
    const living = new Set<string>();
    for (const { what, member } of this.recorder.memberships) {
      if (what === "joined") living.add(member);
      else living.delete(member);
    }
    return [...living];
  }

  /** Waits until workers and members have no attempts, no reserved slots, and no results that are not acknowledged. */
  async #untilReported(): Promise<void> {
    const busy = (): BusyWorker[] =>
      this.workers.flatMap(({ name, life }) => {
        const { runningCount: running = 0, resultCount: results = 0 } = life?.worker ?? {};
        return running + results > 0 ? [{ machine: name, running, results }] : [];
      });
    const busyMembers = (): BusyWorker[] =>
      this.members.flatMap(({ name, life }) => {
        const { runningTasks = 0, waitingTasks = 0 } = life?.engine.health ?? {};
        const running = runningTasks + waitingTasks;
        return running > 0 ? [{ machine: name, running, results: 0 }] : [];
      });
    for (const end = this.scheduler.now + quietMs; ; await this.scheduler.sleep(500)) {
      this.#busyWorkers = [...busy(), ...busyMembers()];
      if (this.#busyWorkers.length === 0 || this.scheduler.now > end) return;
    }
  }

  // Processes

  #newLife(machine: Machine): Life {
    if (machine instanceof Member) return this.#newMemberLife(machine);
    assert.ok(machine instanceof WorkerMachine);
    return this.#newWorkerLife(machine);
  }

  #newWorkerLife(machine: WorkerMachine): WorkerLife {
    const { scheduler, log, recorder, network } = this;
    const { timings, workerSlots: slots } = this.#setting;
    return new WorkerLife({
      machine,
      scheduler,
      log,
      recorder,
      network,
      random: this.#random.fork(`life ${recorder.lives.length}`),
      timings,
      slots,
      lingerMs: this.#lingerMs,
      members: () => this.#livesUp(),
    });
  }

  #newMemberLife(machine: Member): MemberLife {
    const { scheduler, log, recorder, network } = this;
    const { mutation } = this.#options;
    const inner = this.#store instanceof MemoryStore ? this.#connection() : this.#store;
    const random = this.#random.fork(`life ${recorder.lives.length}`);
    const late = this.#drawLate(random.fork("late"));
    const workflows = [
      childDag,
      ...Object.values(heirDags),
      ...scheduledDags,
      ...codeWorkflows.filter((workflow) => !late.workflows.includes(workflow)),
    ];
    return new MemberLife({
      machine,
      scheduler,
      log,
      recorder,
      inner,
      isServer: this.#setting.isCluster,
      random,
      mutation,
      options: (life) => ({ ...this.#engineOptions(network, machine, life), workflows }),
      late,
    });
  }

  /**
   * Draws the code that a process lacks at first: if code is missing at all, half of the processes lack some, or it is on
   * workers only and each lacks most of it for ever. The first processes have all code, because a workflow that no process ever had is in no store and cannot be started as a
   * child.
   */
  #drawLate(random: SimRandom): MemberLifeParts["late"] {
    const isFirst = this.recorder.lives.length < this.members.length + this.workers.length;
    const hasWorkers = this.workers.length > 0;
    if (this.#hasCodeOnWorkersOnly && !isFirst)
      return { workflows: codeWorkflows.filter(() => random.isLucky(0.9)), afterMs: undefined };
    const isComplete = !this.#setting.lacksCode || isFirst || random.isLucky(0.5);
    const workflows = isComplete ? [] : codeWorkflows.filter(() => random.isLucky(0.3));
    return { workflows, afterMs: random.waitMs(hasWorkers ? 15_000 : 4000) };
  }

  #connection(): Store {
    const connection = (this.#store as MemoryStore).connect();
    void connection.open();
    return connection;
  }

  #engineOptions(network: Network, member: Member, life: Life): Partial<EngineOptions> {
    const { poolSize, domains, maxInterruptions, stopGraceMs, maxConcurrentActivities, timings, isCluster } =
      this.#setting;
    const sizes = Object.entries(domains).map(([name, size], priority) => [name, { size, priority }]);
    const alone = {
      poolSize,
      poolSizeMax: 16,
      workerTags: ["member"],
      domains: Object.fromEntries(sizes) as Record<string, { size: number; priority: number }>,
      maxInterruptions,
      maxConcurrentActivities,
      idleMs: this.#idleMs,
      idleMax: this.#idleMax,
      stopGraceMs,
    };
    const { workerBeatMs, workerLostMs } = timings;
    const hasWorkers = this.workers.length > 0;
    if (!isCluster) return { ...alone, remoteWorkers: hasWorkers && { workerBeatMs, workerLostMs } };
    const plain = observedBus(network.busOf(member.name, life), (text) => this.recorder.recordMessage(life, text));
    const bus = this.#options.mutation?.bus?.(plain) ?? plain;
    const named = {
      name: member.name,
      shards: this.#shardCount,
      timings: this.#options.mutation?.memberTimings?.(timings) ?? timings,
      ...this.#processTable(life),
    };
    const { runsJobs, ownsShards } = this.#rolesOf(member);
    const cluster = { ...named, ownsShards };
    const common = { ...alone, runsJobs, remoteWorkers: hasWorkers };
    return { ...common, cluster: this.profile.hasBus ? { ...cluster, bus } : cluster };
  }

  /** In half of the clusters some members run no jobs, and some own no shards. The first does both. */
  #rolesOf(member: Member): { readonly runsJobs: boolean; readonly ownsShards: boolean } {
    const hasBoth = member === this.members[0] || this.#random.fork("roles").isLucky(0.5);
    const role = hasBoth ? "both" : this.#random.fork(`role of ${member.name}`).pick(["both", "server", "worker"]);
    return { runsJobs: role !== "server", ownsShards: role !== "worker" };
  }

  /**
   * In half of the clusters all members share one machine and can prove that another has ended; in half of those, not
   * always.
   */
  #processTable(life: Life): { processTable?: SimProcessTable } {
    const random = this.#random.fork("process table");
    if (!random.isLucky(0.5)) return {};
    const isFaulty = random.isLucky(0.5);
    const { lives } = this.recorder;
    const own = this.#random.fork(`process table of life ${life.number}`);
    return { processTable: new SimProcessTable({ life: life.number, lives, random: own, isFaulty }) };
  }

  async #evidence(): Promise<Evidence> {
    const { recorder } = this;
    const { calls, runs, lives, clockSettings, storeOutages, restores, commits, claims, memberships } = recorder;
    const { renewalRequests, logLines, watches, problems } = recorder;
    const finalState = {
      ...(await readFinalState(this.#store, commits)),
      leftovers: this.#leftovers,
      busyWorkers: this.#busyWorkers,
    };
    return {
      setting: this.#setting,
      scenarios: this.#scenarios,
      calls,
      runs,
      lives,
      clockSettings,
      storeOutages,
      restores,
      commits,
      claims,
      memberships,
      renewalRequests,
      logLines,
      watches,
      problems,
      finalState,
    };
  }
}

type Leftover = Evidence["finalState"]["leftovers"][number];

function nameOf(left: Leftover): string {
  return "mailbox" in left ? `${left.id}` : `${left.source}/${left.target}/${left.number}`;
}

function observedBus(bus: Bus, observe: (text: string) => void): Bus {
  return {
    kind: bus.kind,
    connect: (address, listener, onChanged) => {
      const connection = bus.connect(address, listener, onChanged);
      return {
        get isConnected() {
          return connection.isConnected;
        },
        send: (to, text) => {
          observe(text);
          return connection.send(to, text);
        },
        close: () => connection.close(),
      };
    },
  };
}

/** Commits of the store take no time; the connection adds the delay. */
async function atOnce(): Promise<void> {
  return undefined;
}
