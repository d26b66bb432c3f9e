import type { Chance } from "./chance.ts";
import type { Climate, FaultKind } from "./climate.ts";
import { Life, type Member } from "./member.ts";
import type { Network } from "./network.ts";
import type { EventOwner, Scheduler } from "./scheduler.ts";
import type { Witness } from "./witness.ts";

/** What faults are done to. */
export interface FaultyWorld {
  readonly members: readonly Member[];
  readonly network: Network;
  readonly scheduler: Scheduler;
  readonly witness: Witness;
  /** In good order; it comes back after a while. */
  leave(member: Member, awayMs: number): Promise<void>;
  /** Sees to it that a process runs there. */
  begin(member: Member): Promise<void>;
}

/** Promises that may settle between an event and the crash in the middle of what it leads to. */
const promisesToCrash = 40;

/** Lets what the climate has in store befall the members, until it is calm. */
export class Faults {
  readonly #world: FaultyWorld;
  readonly #climate: Climate;
  readonly #chance: Chance;
  #eventsToCrash = Infinity;
  #isOver = false;

  constructor(world: FaultyWorld, climate: Climate, chance: Chance) {
    this.#world = world;
    this.#climate = climate;
    this.#chance = chance;
    for (const member of world.members) this.#setUp(member);
    world.network.weather = climate.network;
    world.scheduler.afterEvent = (owner) => this.#afterEvent(owner);
  }

  async run(): Promise<void> {
    const { scheduler } = this.#world;
    const { faultEveryMs, spanMs } = this.#climate;
    for (;;) {
      await scheduler.sleep(this.#chance.waitMs(faultEveryMs));
      if (scheduler.now >= spanMs) return;
      const kind = this.#chance.weighted(this.#climate.faults);
      if (kind !== undefined) this.#befall(kind, this.#chance.pick(this.#world.members));
    }
  }

  /** From now on nothing goes wrong any more, and everybody is there. */
  end(): void {
    const { members, network, scheduler } = this.#world;
    this.#isOver = true;
    scheduler.afterEvent = undefined;
    network.heal();
    network.weather = { ...this.#climate.network, loss: 0, doubling: 0, straying: 0 };
    for (const member of members) {
      member.link.weather = { ...this.#climate.store, slowness: 0, failing: 0, lying: 0, lagging: 0 };
      member.link.isCut = false;
      member.life?.thaw();
      void this.#setRight(member);
      if (member.life !== undefined) member.life.callsToLive = Infinity;
      void this.#world.begin(member);
    }
  }

  #setUp(member: Member): void {
    const { drift, wallSkewMs, store } = this.#climate;
    member.time.rate = 1 + this.#chance.within(-drift, drift);
    member.link.weather = store;
    if (wallSkewMs > 0) this.#setClock(member, this.#chance.within(-wallSkewMs, wallSkewMs));
  }

  #befall(kind: FaultKind, member: Member): void {
    const { life } = member;
    switch (kind) {
      case "crash":
        return life?.crash("out of the blue");
      case "crash-at-call":
        if (life !== undefined) life.callsToLive = this.#chance.whole(1, 30);
        return;
      case "crash-at-event":
        this.#eventsToCrash = this.#chance.whole(1, 200);
        return;
      case "leave":
        return void this.#world.leave(member, this.#chance.waitMs(this.#climate.downMs));
      case "freeze":
      case "long-freeze":
      case "suspend":
        return void this.#freeze(member, kind);
      case "clock-jump":
        return this.#jump(member);
      default:
        return void this.#forAWhile(kind, member);
    }
  }

  #afterEvent(owner: EventOwner): void {
    if (--this.#eventsToCrash > 0 || !(owner instanceof Life)) return;
    this.#eventsToCrash = Infinity;
    let promises = this.#chance.whole(0, promisesToCrash);
    const wait = (): void => {
      if (promises-- > 0) queueMicrotask(wait);
      else owner.crash("between two promises");
    };
    wait();
  }

  async #freeze(member: Member, kind: "freeze" | "long-freeze" | "suspend"): Promise<void> {
    const { life } = member;
    if (life === undefined || life.isFrozen) return;
    life.freeze(kind === "suspend" ? "suspended" : "stopped");
    const leaseMs = this.#leaseMs;
    const ms = kind === "long-freeze" ? leaseMs * this.#chance.within(0.9, 2) : this.#chance.waitMs(leaseMs / 3);
    await this.#world.scheduler.sleep(ms);
    // One that does not find out at once what it has missed has time to do wrong.
    if (kind === "long-freeze" && !this.#isOver && this.#chance.isLucky(0.5)) void this.#forAWhile("cut-store", member);
    life.thaw();
  }

  /** One that was suspended must be able to see that by its wall clock: where there is that, clocks are not set back. */
  #jump(member: Member): void {
    const { wallJumpMs, faults } = this.#climate;
    const { wallOffsetMs } = member.time;
    const isSetBack = (faults.suspend ?? 0) === 0;
    // Now and then somebody sets it right.
    const offsetMs = isSetBack && this.#chance.isLucky(0.3) ? 0 : this.#chance.within(-wallJumpMs, wallJumpMs);
    this.#setClock(member, isSetBack ? offsetMs : Math.max(offsetMs, wallOffsetMs));
  }

  /** When whoever was suspended has had time to find out. */
  async #setRight(member: Member): Promise<void> {
    await this.#world.scheduler.sleep(this.#leaseMs);
    this.#setClock(member, 0);
  }

  get #leaseMs(): number {
    const { suspectMs, lostMs } = this.#climate.timings;
    return suspectMs + lostMs;
  }

  #setClock(member: Member, wallOffsetMs: number): void {
    if (member.time.wallOffsetMs === wallOffsetMs) return;
    member.time.wallOffsetMs = wallOffsetMs;
    this.#world.witness.clockSet(member.name, wallOffsetMs);
  }

  /** Faults that begin and end. */
  async #forAWhile(kind: FaultKind, member: Member): Promise<void> {
    const { scheduler, witness } = this.#world;
    const ms = this.#chance.waitMs(this.#chance.isLucky(0.3) ? 10_000 : 1500);
    witness.fault(`${kind} at ${member.name} for ${ms.toFixed(0)} ms`);
    const mend = this.#break(kind, member);
    await scheduler.sleep(ms);
    // What the end of all faults has mended already is mended.
    if (!this.#isOver) mend();
  }

  /** Gives back how to mend it. */
  #break(kind: FaultKind, member: Member): () => void {
    const { link, name } = member;
    const { network } = this.#world;
    switch (kind) {
      case "cut-store":
        link.isCut = true;
        return () => void (link.isCut = false);
      case "slow-store":
        link.weather = { ...this.#climate.store, slowness: this.#chance.within(0.3, 1) };
        return () => void (link.weather = this.#climate.store);
      case "failing-store": {
        const failing = this.#chance.within(0, 0.6);
        link.weather = { ...this.#climate.store, failing, lying: this.#chance.within(0, 0.9 - failing) };
        return () => void (link.weather = this.#climate.store);
      }
      case "lossy-network":
        network.weather = { ...this.#climate.network, loss: this.#chance.within(0.2, 1), doubling: 0.2, straying: 0.3 };
        return () => void (network.weather = this.#climate.network);
      default: {
        this.#partition(name, kind === "one-way" ? this.#chance.pick(["in", "out"]) : "both");
        return () => network.heal();
      }
    }
  }

  /** The member, with some of the others by chance, is on one side. */
  #partition(name: string, way: "in" | "out" | "both"): void {
    const { members, network } = this.#world;
    const here = new Set(members.filter((other) => other.name === name || this.#chance.isLucky(0.3)));
    for (const one of here) {
      for (const other of members) {
        if (here.has(other)) continue;
        if (way !== "in") network.cut(one.name, other.name);
        if (way !== "out") network.cut(other.name, one.name);
      }
    }
  }
}
