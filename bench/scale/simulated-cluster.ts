import type { Job } from "../../src/authoring/job.ts";
import { JobRegistry } from "../../src/authoring/job-registry.ts";
import { silentLogger } from "../../src/base/logger.ts";
import { defineJob, defineWorkflow, Engine } from "../../src/index.ts";
import type { Link, LinkListener } from "../../src/dispatch/link.ts";
import { SqliteStore } from "../../src/stores/sqlite/sqlite-store.ts";
import { SeededRandom } from "../../src/testing/seeded-random.ts";
import { RemoteWorker } from "../../src/worker/remote-worker.ts";
import { type Count, Meter } from "./meter.ts";
import { MeteredBus } from "./metered-bus.ts";
import { meteredStore } from "./metered-store.ts";
import { readSleeper, writeSleepers } from "./sleepers.ts";
import { type Owner, VirtualTime } from "./virtual-time.ts";

export interface ClusterSize {
  readonly members: number;
  readonly shards: number;
  readonly sleepers: number;
  readonly workers: number;
}

export const workerTag = "remote";

/** Virtual time that a task takes. */
const taskMs = 50;

const linkWayMs = 0.3;

/** Heartbeats read shards again that were claimed within the last minute. */
const afterClaimsMs = 70_000;

const asleep = defineWorkflow("asleep", (ctx) => ctx.sleep(365 * 86_400_000));

/** One process with an engine. */
export class SimulatedMember implements Owner {
  isDead = false;
  readonly meter = new Meter();
  readonly name: string;
  readonly engine: Engine;

  constructor(name: string, seed: number, cluster: SimulatedCluster) {
    this.name = name;
    const { time, store, size } = cluster;
    this.engine = new Engine({
      storage: meteredStore(store, { meter: this.meter, time, owner: this }),
      clock: time.clockOf(this),
      random: new SeededRandom(seed),
      logger: silentLogger,
      jobs: [cluster.job],
      workflows: [asleep],
      domains: { shared: { size: size.members } },
      remoteWorkers: true,
      watchCode: false,
      cluster: { bus: cluster.bus.busOf(this, this.meter), name, shards: size.shards },
    });
  }
}

/** Members, their database, bus and workers, in this process and on virtual time. */
export class SimulatedCluster {
  readonly time = new VirtualTime();
  readonly bus = new MeteredBus(this.time);
  readonly store = new SqliteStore({ file: ":memory:", clock: this.time.clockOf({ isDead: false }) });
  readonly members: SimulatedMember[] = [];
  readonly size: ClusterSize;
  readonly job: Job;
  #made = 0;
  #connected = 0;

  constructor(size: ClusterSize) {
    this.size = size;
    this.job = defineJob("work", () => this.time.sleep(taskMs));
  }

  /** Writes the sleepers, starts all members, and connects the workers. */
  async start(): Promise<void> {
    await this.store.open();
    const first = this.#make();
    await first.engine.start();
    await first.engine.startWorkflow(asleep, undefined, { instanceId: "template" });
    await this.time.sleep(5000);
    await first.engine.stop();
    const { sleepers: count, shards } = this.size;
    await writeSleepers(this.store, await readSleeper(this.store, "template", shards), { count, shards });
    for (let number = 0; number < this.size.members; number++) this.members.push(this.#make());
    await Promise.all(this.members.map((member) => member.engine.start()));
    await this.untilSettled();
    for (let number = 0; number < this.size.workers; number++) this.#startWorker(number);
    await this.time.sleep(afterClaimsMs);
  }

  #make(): SimulatedMember {
    const number = ++this.#made;
    return new SimulatedMember(`m${number}`, number, this);
  }

  get living(): readonly SimulatedMember[] {
    return this.members.filter(({ isDead }) => !isDead);
  }

  /** Waits until the living members own all shards, and nobody has more than placement gives. */
  async untilSettled(): Promise<void> {
    for (let calm = 0; calm < 4;) {
      const before = this.#ownership();
      await this.time.sleep(2500);
      const isWhole = this.living.reduce((sum, { engine }) => sum + ownedBy(engine), 0) === this.size.shards;
      calm = isWhole && this.#ownership() === before ? calm + 1 : 0;
    }
  }

  #ownership(): string {
    return this.living.map(({ engine }) => ownedBy(engine)).join();
  }

  async join(): Promise<void> {
    const member = this.#make();
    this.members.push(member);
    await member.engine.start();
  }

  async leave(): Promise<void> {
    const member = this.#last();
    await member.engine.handOver();
    await member.engine.stop();
    member.isDead = true;
  }

  die(): void {
    this.#last().isDead = true;
  }

  #last(): SimulatedMember {
    const last = this.living.at(-1);
    if (last === undefined) throw new Error("no member is left");
    return last;
  }

  /** What every member that lived did since the last call. */
  take(): ReadonlyMap<string, Count>[] {
    return this.members.map(({ meter }) => meter.take());
  }

  #startWorker(number: number): void {
    const owner: Owner = { isDead: false };
    const registry = new JobRegistry();
    new RemoteWorker({
      clock: this.time.clockOf(owner),
      random: new SeededRandom(1_000_000 + number),
      logger: silentLogger,
      jobs: new Map([[registry.register(this.job), this.job]]),
      slots: 10,
      tags: [workerTag],
      connect: (listener) => this.#connect(owner, listener),
    }).start();
  }

  /** Connections are spread by turns, as by a load balancer. */
  #connect(owner: Owner, listener: LinkListener): Link {
    const { living, time } = this;
    const member = living[this.#connected++ % living.length];
    if (member === undefined) throw new Error("no member is up");
    let isOpen = true;
    let ofMember: LinkListener | undefined;
    const close = (other: Owner, onClosed: () => void): void => {
      if (!isOpen) return;
      isOpen = false;
      time.after(linkWayMs, other, onClosed);
    };
    const carry = (text: string, to: Owner, deliver: () => void): void => {
      if (!isOpen) return;
      member.meter.add("workers", typeOf(text), { rows: 0, bytes: text.length });
      time.after(linkWayMs, to, () => isOpen && deliver());
    };
    const back: Link = {
      send: (text) => carry(text, owner, () => listener.receive(text)),
      close: () => close(owner, () => listener.onClosed()),
    };
    return {
      send: (text) =>
        carry(text, member, () => {
          ofMember ??= member.engine.acceptWorker(back);
          ofMember.receive(text);
        }),
      close: () => close(member, () => ofMember?.onClosed()),
    };
  }
}

function typeOf(text: string): string {
  return /"type":"(\w+)"/.exec(text)?.[1] ?? "?";
}

function ownedBy(engine: Engine): number {
  return engine.members().find(({ isSelf }) => isSelf)?.shards ?? 0;
}
