import { ownPatience } from "../../src/cluster/timings.ts";
import type { SimRandom } from "./sim-random.ts";
import type { FaultProfile, FaultKind } from "./fault-profile.ts";
import { Life, type Machine } from "./machine.ts";
import { Member } from "./member.ts";
import type { Network } from "./network.ts";
import type { Supervisor } from "./supervisor.ts";
import type { EventOwner, Scheduler } from "./scheduler.ts";
import type { Recorder } from "./recorder.ts";
import { WorkerMachine } from "./worker.ts";

/** The parts of the world that faults act on. */
export interface FaultyWorld {
  readonly members: readonly Member[];
  readonly workers: readonly WorkerMachine[];
  readonly supervisor: Supervisor;
  readonly network: Network;
  readonly scheduler: Scheduler;
  readonly recorder: Recorder;
}

/** Faults between a member and the store, which workers do not have. */
const storeFaults: readonly FaultKind[] = [
  "crash-at-call",
  "lose-commit",
  "cut-store",
  "slow-store",
  "failing-store",
  "unheard-store",
];

/** The maximum time that a process lives on after its commit was lost; effects of the commit must not leave it. */
const lostCommitMs = 3000;

/** The mean time for which a member sees the store fail before it leaves. */
const failingBeforeMs = 800;

/** The maximum of promises that settle between an event and the crash in the middle of its effects. */
const promisesToCrash = 40;

/** Injects the faults of the profile until the calm phase. */
export class Faults {
  readonly #world: FaultyWorld;
  readonly #profile: FaultProfile;
  readonly #random: SimRandom;
  #eventsToCrash = Infinity;
  #isOver = false;

  constructor(world: FaultyWorld, profile: FaultProfile, random: SimRandom) {
    this.#world = world;
    this.#profile = profile;
    this.#random = random;
    for (const machine of this.#machines) this.#setUp(machine);
    world.network.conditions = profile.network;
    world.scheduler.afterEvent = (owner) => this.#afterEvent(owner);
  }

  async run(): Promise<void> {
    const { scheduler } = this.#world;
    const { faultEveryMs, spanMs } = this.#profile;
    for (;;) {
      await scheduler.sleep(this.#random.waitMs(faultEveryMs));
      if (scheduler.now >= spanMs) return;
      const kind = this.#random.weighted(this.#profile.faults);
      if (kind !== undefined) this.#befall(kind, this.#random.pick(this.#within(kind)));
    }
  }

  get #machines(): readonly Machine[] {
    return [...this.#world.members, ...this.#world.workers];
  }

  /** The machines that the fault may affect. */
  #within(kind: FaultKind): readonly Machine[] {
    if (kind === "break-link") return this.#world.workers;
    const isOfMembers =
      storeFaults.includes(kind) || ["store-outage", "freeze-all", "bus-away", "stall", "long-stall"].includes(kind);
    return isOfMembers ? this.#world.members : this.#machines;
  }

  /** Ends all faults and starts all machines. */
  end(): void {
    const { network, scheduler, supervisor } = this.#world;
    this.#isOver = true;
    this.#world.recorder.endStoreOutages();
    scheduler.afterEvent = undefined;
    network.heal();
    network.conditions = { ...this.#profile.network, loss: 0, doubling: 0, straying: 0 };
    for (const machine of this.#machines) {
      if (machine instanceof Member) this.#mendStore(machine);
      machine.life?.thaw();
      void this.#setRight(machine);
      void supervisor.begin(machine);
    }
  }

  #mendStore({ link, life }: Member): void {
    link.conditions = { ...this.#profile.store, slowness: 0, failing: 0, lying: 0, lagging: 0 };
    link.isCut = false;
    if (life === undefined) return;
    life.callsToLive = Infinity;
    life.keepCommits();
  }

  #setUp(machine: Machine): void {
    const { drift, wallSkewMs, store } = this.#profile;
    machine.time.rate = 1 + this.#random.within(-drift, drift);
    if (machine instanceof Member) machine.link.conditions = store;
    if (wallSkewMs > 0) this.#setClock(machine, this.#random.within(-wallSkewMs, wallSkewMs));
  }

  #befall(kind: FaultKind, machine: Machine): void {
    const { life } = machine;
    switch (kind) {
      case "crash":
        return life?.crash("out of the blue");
      case "crash-at-call":
        if (machine instanceof Member && machine.life) machine.life.callsToLive = this.#random.whole(1, 30);
        return;
      case "lose-commit":
        if (machine instanceof Member) this.#loseCommit(machine);
        return;
      case "store-outage":
        return void this.#storeOutage();
      case "freeze-all":
        return void this.#freezeAll();
      case "break-link":
        if (machine instanceof WorkerMachine) machine.life?.breakLink();
        return this.#world.recorder.recordFault(`the connection of ${machine.name} breaks`);
      case "crash-at-event":
        this.#eventsToCrash = this.#random.whole(1, 200);
        return;
      case "leave":
        return void this.#leave(machine);
      case "leave-unheard":
        return void this.#leave(machine, "unheard-store");
      case "freeze":
      case "long-freeze":
      case "suspend":
        return void this.#freeze(machine, kind);
      case "stall":
      case "long-stall":
        if (machine instanceof Member) void this.#stall(machine, kind);
        return;
      case "clock-jump":
        return this.#jump(machine);
      default:
        return void this.#forAWhile(kind, machine);
    }
  }

  /** Lets a machine leave; sometimes the store fails while a member leaves, and for a while before. */
  async #leave(machine: Machine, trouble?: "unheard-store"): Promise<void> {
    const awayMs = this.#random.waitMs(this.#profile.downMs);
    if (machine instanceof Member && (trouble !== undefined || this.#random.isLucky(0.4))) {
      void this.#forAWhile(trouble ?? "failing-store", machine);
      await this.#world.scheduler.sleep(this.#random.waitMs(failingBeforeMs));
      if (this.#isOver) return;
    }
    await this.#world.supervisor.leave(machine, awayMs);
  }

  /** Loses a commit; half of the time workers lose their connections before the process crashes, and go to others. */
  #loseCommit({ life }: Member): void {
    const ms = this.#random.within(0, lostCommitMs);
    const breakMs = this.#random.isLucky(0.5) ? this.#random.within(0, ms / 3) : Infinity;
    life?.loseCommit(this.#random.whole(1, 4), ms, () => {
      this.#world.scheduler.after(breakMs, life, () => {
        for (const worker of this.#world.workers) if (worker.life?.member === life) worker.life.breakLink();
      });
    });
  }

  #afterEvent(owner: EventOwner): void {
    if (--this.#eventsToCrash > 0 || !(owner instanceof Life)) return;
    this.#eventsToCrash = Infinity;
    let promises = this.#random.whole(0, promisesToCrash);
    const wait = (): void => {
      if (promises-- > 0) queueMicrotask(wait);
      else owner.crash("between two promises");
    };
    wait();
  }

  async #freeze(machine: Machine, kind: "freeze" | "long-freeze" | "suspend"): Promise<void> {
    const { life } = machine;
    if (life === undefined || life.isFrozen) return;
    life.freeze(kind === "suspend" ? "suspended" : "stopped");
    const lostMs = this.#lostMs(machine);
    const ms = kind === "long-freeze" ? lostMs * this.#random.within(0.9, 2) : this.#random.waitMs(lostMs / 3);
    await this.#world.scheduler.sleep(ms);
    // A process that does not notice at once what it has missed has time to do wrong.
    if (kind === "long-freeze" && !this.#isOver && this.#random.isLucky(0.5)) {
      void this.#forAWhile(machine instanceof Member ? "cut-store" : "partition", machine);
    }
    life.thaw();
  }

  /**
   * Blocks the event loop of a member, while its other thread runs on: for less than `stallMs`, or for so much more that
   * the others may remove the member. Sometimes the whole process is stopped for a part of that.
   */
  async #stall(machine: Member, kind: "stall" | "long-stall"): Promise<void> {
    const { life } = machine;
    if (life?.leaseThread === undefined || life.isFrozen) return;
    const { stallMs } = this.#profile.timings;
    const lostMs = this.#lostMs(machine);
    const random = this.#random;
    const ms = kind === "stall" ? stallMs * random.within(0.1, 0.9) : stallMs + lostMs * random.within(0.3, 2);
    life.freeze("stalled");
    life.leaseThread.onStall();
    if (random.isLucky(0.3)) {
      const from = ms * random.within(0, 0.7);
      this.#world.scheduler.after(from, life.leaseThread, () => {
        life.leaseThread?.stopFor(Math.min(lostMs * random.within(0.3, 1.2), ms - from));
      });
    }
    await this.#world.scheduler.sleep(ms);
    // A process that does not notice at once what it has missed has time to do wrong.
    if (kind === "long-stall" && !this.#isOver && random.isLucky(0.5)) void this.#forAWhile("cut-store", machine);
    life.thaw();
  }

  /**
   * Freezes all members together, about as long as one alone could be before it is removed. They stop one after the
   * other or at once, and continue at once.
   */
  async #freezeAll(): Promise<void> {
    const { members, scheduler } = this.#world;
    const { suspectMs, lostMs, workerBeatMs, workerLostMs } = this.#profile.timings;
    // Workers without any answer continue for the length of their lease: freeze almost that long, or less.
    const workersMs = ownPatience * workerLostMs - this.#random.within(0, 1000);
    const membersMs = (suspectMs + lostMs) * this.#random.within(0.7, 1.5);
    const ms = this.#random.isLucky(0.5) ? workersMs : membersMs;
    const apartMs = this.#random.isLucky(0.5) ? workerBeatMs : 0;
    const lives = members.flatMap(({ life }) => (life === undefined || life.isFrozen ? [] : [life]));
    for (const life of lives) {
      scheduler.after(this.#random.within(0, apartMs), undefined, () => {
        if (!this.#isOver && !life.isDead && !life.isFrozen) life.freeze("stopped");
      });
    }
    await scheduler.sleep(ms);
    for (const life of lives) life.thaw();
  }

  /** Cuts all members off from the store, for less or more than the time after which a member is removed. */
  async #storeOutage(): Promise<void> {
    const { members, scheduler, recorder } = this.#world;
    const { suspectMs, lostMs } = this.#profile.timings;
    const ms = (suspectMs + lostMs) * this.#random.within(0.2, 1.6);
    recorder.recordFault(`store-outage for ${ms.toFixed(0)} ms`);
    const ends = members.map(({ name, link }) => {
      link.isCut = true;
      return recorder.startStoreOutage(name);
    });
    await scheduler.sleep(ms);
    if (this.#isOver) return;
    for (const { link } of members) link.isCut = false;
    for (const end of ends) end();
  }

  /**
   * Sets the wall clock. A suspended process must be able to notice that by its wall clock: with suspends, clocks are
   * not set back.
   */
  #jump(machine: Machine): void {
    const { wallJumpMs, faults } = this.#profile;
    const { wallOffsetMs } = machine.time;
    const isSetBack = (faults.suspend ?? 0) === 0;
    // Sometimes the clock is corrected.
    const offsetMs = isSetBack && this.#random.isLucky(0.3) ? 0 : this.#random.within(-wallJumpMs, wallJumpMs);
    this.#setClock(machine, isSetBack ? offsetMs : Math.max(offsetMs, wallOffsetMs));
  }

  /** Corrects the clock after suspended processes have had time to notice. */
  async #setRight(machine: Machine): Promise<void> {
    await this.#world.scheduler.sleep(this.#lostMs(machine));
    this.#setClock(machine, 0);
  }

  /** The time of silence after which the others give the machine up. */
  #lostMs(machine: Machine): number {
    const { suspectMs, lostMs, workerLostMs } = this.#profile.timings;
    return machine instanceof WorkerMachine ? workerLostMs : suspectMs + lostMs;
  }

  #setClock(machine: Machine, wallOffsetMs: number): void {
    if (machine.time.wallOffsetMs === wallOffsetMs) return;
    machine.time.wallOffsetMs = wallOffsetMs;
    this.#world.recorder.recordClockSetting(machine.name, wallOffsetMs);
  }

  /** Injects a fault that lasts for a while. */
  async #forAWhile(kind: FaultKind, machine: Machine): Promise<void> {
    const { scheduler, recorder } = this.#world;
    const ms = this.#random.waitMs(this.#random.isLucky(0.3) ? 10_000 : 1500);
    recorder.recordFault(`${kind} at ${machine.name} for ${ms.toFixed(0)} ms`);
    const mend =
      machine instanceof Member && storeFaults.includes(kind)
        ? this.#breakStore(kind, machine)
        : this.#breakNetwork(kind, machine);
    const endOutage = storeFaults.includes(kind) ? recorder.startStoreOutage(machine.name) : undefined;
    await scheduler.sleep(ms);
    endOutage?.();
    // The end of all faults may have repaired it already.
    if (!this.#isOver) mend();
  }

  /** Returns a function that repairs it. */
  #breakStore(kind: FaultKind, { link }: Member): () => void {
    const { store } = this.#profile;
    if (kind === "cut-store") {
      link.isCut = true;
      return () => void (link.isCut = false);
    }
    if (kind === "slow-store") link.conditions = { ...store, slowness: this.#random.within(0.3, 1) };
    else if (kind === "unheard-store") link.conditions = { ...store, lying: this.#random.within(0.5, 0.8) };
    else {
      const failing = this.#random.within(0, 0.6);
      link.conditions = { ...store, failing, lying: this.#random.within(0, 0.9 - failing) };
    }
    return () => void (link.conditions = store);
  }

  /** Returns a function that repairs it. */
  #breakNetwork(kind: FaultKind, { name }: Machine): () => void {
    const { network } = this.#world;
    if (kind === "lossy-network") {
      network.conditions = {
        ...this.#profile.network,
        loss: this.#random.within(0.2, 1),
        doubling: 0.2,
        straying: 0.3,
      };
      return () => void (network.conditions = this.#profile.network);
    }
    if (kind === "bus-away") {
      const away = this.#random.isLucky(0.5) ? [name] : this.#world.members.map((member) => member.name);
      network.disconnect(away);
      return () => network.reconnect(away);
    }
    this.#partition(name, kind === "one-way" ? this.#random.pick(["in", "out"]) : "both");
    return () => network.heal();
  }

  /** The machine is on one side of the partition, with some others at random. */
  #partition(name: string, way: "in" | "out" | "both"): void {
    const { network } = this.#world;
    const machines = this.#machines;
    const here = new Set(machines.filter((other) => other.name === name || this.#random.isLucky(0.3)));
    for (const one of here) {
      for (const other of machines) {
        if (here.has(other)) continue;
        if (way !== "in") network.cut(one.name, other.name);
        if (way !== "out") network.cut(other.name, one.name);
      }
    }
  }
}
