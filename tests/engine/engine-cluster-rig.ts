import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { eventsIn } from "../../src/kernel/event-text.ts";
import { busTextLengthMax } from "../../src/cluster/bus.ts";
import { InProcessBus } from "../../src/cluster/in-process-bus.ts";
import {
  type Bus,
  type ClusterOptions,
  Engine,
  type EngineOptions,
  type InstanceView,
  type Job,
  type MemberEvent,
  type MemberView,
  type Store,
} from "../../src/index.ts";
import { shardOfKey } from "../../src/stores/instance-key.ts";
import { SeededRandom, TestClock } from "../../src/testing.ts";
import { MemoryStore } from "../../src/stores/memory/memory-store.ts";
import { MemberClock } from "./cluster-clock.ts";
import { Connection } from "./cluster-connection.ts";
import { stopEngine } from "./rig.ts";
import { LogBook } from "../../src/testing/log-book.rig.ts";

/** Enough to be spread over a few members, and few enough to be opened in no time. */
export const shardCount = 16;

/** Longer than a member takes to see what another has done: a beat, and what follows from it. */
export const lookMs = 3000;

export interface EngineClusterOptions extends Partial<Omit<EngineOptions, "storage" | "clock" | "cluster" | "logger">> {
  /** Jobs that know on which member they run, by its name. */
  readonly jobsOf?: (member: string) => readonly Job[];
  readonly cluster?: ClusterOptions;
  /** "deaf" has one that loses everything. By default one that loses nothing. */
  readonly bus?: BusKind;
}

export type BusKind = "in-process" | "deaf" | "none";

/** The bus at its best, one that loses everything, and none at all: the same must come of it. */
export const buses: readonly (readonly [BusKind, string])[] = [
  ["in-process", "over a bus"],
  ["deaf", "although the bus loses everything"],
  ["none", "without a bus"],
];

/** A bus on which nobody ever hears anything. */
const deafBus: Bus = {
  kind: "deaf",
  connect: () => ({ isConnected: true, send: () => true, close: async () => undefined }),
};

/** The members of one cluster: engines in one process, on one clock and one store, each with a connection of its own. */
export class EngineClusterRig {
  readonly clock = new TestClock();
  readonly store = new MemoryStore();
  readonly #options: EngineClusterOptions;
  readonly #bus: Bus | undefined;
  /** For looking at the tables without being anybody. */
  readonly #observer: Store = this.store.connect();
  readonly #members: RigMember[] = [];

  private constructor(options: EngineClusterOptions) {
    this.#options = options;
    const { bus = "in-process" } = options;
    if (bus !== "none") this.#bus = bus === "deaf" ? deafBus : new InProcessBus({ clock: this.clock });
  }

  /** With so many members, called a, b and so on, and every shard where it belongs. */
  static async start(
    t: TestContext,
    count: number,
    options: EngineClusterOptions = {},
  ): Promise<[EngineClusterRig, RigMember, RigMember, RigMember]> {
    const rig = new EngineClusterRig(options);
    await rig.#observer.open();
    t.after(() => rig.#end());
    for (let place = 0; place < count; place++) await rig.join(String.fromCharCode(97 + place));
    await rig.spread();
    const [a, b, c] = rig.#members as [RigMember, RigMember, RigMember];
    return [rig, a, b, c];
  }

  /** Not started yet. */
  add(name: string, options: EngineClusterOptions = {}): RigMember {
    const { cluster, bus: _bus, jobs = [], jobsOf = () => [], ...common } = { ...this.#options, ...options };
    const bus = this.#bus === undefined ? {} : { bus: this.#bus };
    const member = new RigMember(name, {
      store: this.store.connect(),
      clock: this.clock,
      random: new SeededRandom(this.#members.length + 1),
      options: {
        ...common,
        jobs: [...jobs, ...jobsOf(name)],
        cluster: { ...bus, shards: shardCount, name, ...cluster },
      },
    });
    this.#members.push(member);
    return member;
  }

  /** It has joined when this resolves, and has no shards yet. */
  async join(name: string, options: EngineClusterOptions = {}): Promise<RigMember> {
    const member = this.add(name, options);
    await this.clock.until(member.engine.start());
    return member;
  }

  /** In good order. Gives back how long it took. */
  async stop(member: RigMember): Promise<number> {
    const since = this.clock.now();
    await this.clock.until(member.engine.stop());
    return this.clock.now() - since;
  }

  /** Those that have been started and are neither stopped nor dead. */
  get running(): RigMember[] {
    return this.#members.filter((member) => member.isRunning);
  }

  /** Waits until all that run know each other, every shard is owned by one of them, and none moves any more. */
  async spread(): Promise<void> {
    const { running } = this;
    const count = this.#options.cluster?.shards ?? shardCount;
    /** The owners of all shards; undefined while some have none. */
    const owners = async (): Promise<string | undefined> => {
      const { members, shards } = await this.view();
      // A member that was removed joins again under another id.
      const ids = running.map(({ id }) => id);
      const isOwned =
        shards.length === count &&
        members.length === ids.length &&
        shards.every(({ owner, released }) => !released && ids.includes(owner)) &&
        running.every(({ view }) => view.length === ids.length) &&
        running.reduce((sum, { shards: own }) => sum + own, 0) === count;
      return isOwned ? shards.map(({ owner }) => owner).join() : undefined;
    };
    let before: string | undefined;
    for (let looks = 0; ; looks++) {
      assert.ok(looks < 100, "the shards never came to be spread over the members");
      const now = await owners();
      // Shards move a few at a time. Who would take a shard that belongs to it has seen every view in that time.
      if (now !== undefined && now === before) return;
      before = now;
      await this.clock.advance(lookMs);
    }
  }

  /** The members and shards as they are in the store. */
  view(): ReturnType<Store["heartbeat"]> {
    return this.#observer.heartbeat("nobody");
  }

  /** The instances as they are in the store. */
  rows(): ReturnType<Store["listInstances"]> {
    return this.#observer.listInstances({ limit: 1000 });
  }

  /** Who owns an instance, of those that run. */
  async ownerOf(instanceId: string): Promise<RigMember | undefined> {
    const { shards } = await this.view();
    const row = shards.find(({ shard }) => shard === shardOf(instanceId));
    return row === undefined || row.released ? undefined : this.running.find(({ id }) => id === row.owner);
  }

  /** The first of `prefix-0`, `prefix-1` and so on that belongs to this member. */
  async idOn(member: RigMember, prefix = "i"): Promise<string> {
    const ids = Array.from({ length: 1000 }, (_, number) => `${prefix}-${number}`);
    const [id] = await this.idsOn(member, ids);
    assert.ok(id !== undefined, `${member.name} owns no shard`);
    return id;
  }

  /** Those that belong to this member. */
  async idsOn(member: RigMember, ids: readonly string[]): Promise<string[]> {
    const { shards } = await this.view();
    const own = shards.filter(({ owner, released }) => owner === member.id && !released).map(({ shard }) => shard);
    return ids.filter((id) => own.includes(shardOf(id)));
  }

  /** Waits for as long as it takes until the instance is as the test wants it, as that member sees it. */
  async until(
    member: RigMember,
    instanceId: string,
    holds: (view: InstanceView) => boolean,
    maxMs = 120_000,
  ): Promise<InstanceView> {
    const end = this.clock.now() + maxMs;
    for (;;) {
      const view = await this.clock.until(member.engine.getWorkflowInstanceStatus(instanceId));
      if (holds(view)) return view;
      assert.ok(this.clock.now() < end, `never came about: ${holds.toString()} in ${JSON.stringify(view)}`);
      await this.clock.advance(100);
    }
  }

  /** Types of the events in an instance's history, in order. */
  async historyOf(instanceId: string): Promise<string[]> {
    const row = (await this.rows()).find(({ id }) => id === instanceId);
    assert.ok(row !== undefined, `instance ${instanceId} is in the store`);
    assert.equal(shardOfKey(row.key), shardOf(instanceId), "the key says where it lives");
    const turns = await this.#observer.loadHistory([row.key]);
    return turns.flatMap(({ events }) => eventsIn(events).map(({ type }) => type));
  }

  async #end(): Promise<void> {
    for (const { connection } of this.#members) connection.mend();
    for (const { engine } of this.running) await this.clock.until(stopEngine(engine));
    for (const member of this.#members) member.kill();
    await this.#observer.close();
  }
}

/** One engine of a cluster, with what it heard and logged. */
export class RigMember {
  readonly name: string;
  readonly engine: Engine;
  readonly connection: Connection;
  readonly log = new LogBook();
  readonly events: MemberEvent[] = [];
  readonly #clock: MemberClock;

  constructor(
    name: string,
    parts: {
      store: Store;
      clock: TestClock;
      random: SeededRandom;
      options: Partial<EngineOptions> & { cluster: ClusterOptions };
    },
  ) {
    this.name = name;
    this.connection = new Connection(parts.store);
    const clock = (this.#clock = new MemberClock(parts.clock));
    const { cluster, ...options } = parts.options;
    const bus = typeof cluster.bus === "object" && { bus: busOf(cluster.bus, clock) };
    this.engine = new Engine({
      storage: this.connection.store,
      clock,
      random: parts.random,
      logger: this.log,
      poolSize: 64,
      poolSizeMax: 64,
      ...options,
      cluster: { ...cluster, ...bus },
    });
    this.engine.onMemberEvent((event) => void this.events.push(event));
  }

  /** From one moment to the next the process is gone, without a word to anybody. */
  kill(): void {
    this.#clock.die();
    this.connection.die();
  }

  /** The machine is suspended: nothing happens in it, and its monotonic clock stands still. */
  sleep(): void {
    this.#clock.sleep();
    this.connection.hang();
  }

  wake(): void {
    this.connection.mend();
    this.#clock.wake();
  }

  /** Its wall clock is set; its monotonic one knows nothing of it. */
  setWallClock(skewMs: number): void {
    this.#clock.skewMs = skewMs;
  }

  get isRunning(): boolean {
    const { status } = this.engine.health;
    return !this.#clock.isDead && (status === "up" || status === "degraded");
  }

  /** All members, as it sees them. */
  get view(): MemberView[] {
    return this.engine.members();
  }

  /** Its own id of now. */
  get id(): string {
    return this.view.find(({ isSelf }) => isSelf)?.id ?? "";
  }

  /** How many it owns. */
  get shards(): number {
    return this.view.find(({ isSelf }) => isSelf)?.shards ?? 0;
  }

  /** What it heard about another, or itself: types in order. Those about shards are left out. */
  heardOf(address: string): string[] {
    return this.events.flatMap((event) => ("address" in event && event.address === address ? [event.type] : []));
  }

  shardEvents(): string[] {
    return this.events.flatMap((event) => ("shard" in event ? [event.type] : []));
  }
}

/** The bus as one member has it: it takes no text that is too long, and its member hears nothing while it sleeps. */
function busOf(bus: Bus, clock: MemberClock): Bus {
  return {
    kind: bus.kind,
    connect: (address, listener, onChanged) => {
      const connection = bus.connect(address, (text) => clock.arrives(() => listener(text)), onChanged);
      return {
        get isConnected() {
          return connection.isConnected;
        },
        send: (to, text) => {
          assert.ok(text.length <= busTextLengthMax, "too long for the bus");
          return connection.send(to, text);
        },
        close: () => connection.close(),
      };
    },
  };
}

/** Which shard an id belongs to: the same for ever, so the test may say it too. */
export function shardOf(id: string, count = shardCount): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < id.length; i++) hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193);
  return (hash >>> 0) % count;
}
