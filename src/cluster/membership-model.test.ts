import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import type { Clock, Timer } from "../base/clock.ts";
import { EngineError, hasCode } from "../base/error.ts";
import { Heap } from "../base/heap.ts";
import { silentLogger } from "../base/logger.ts";
import type { ClusterView, MemberRow, ShardRow } from "../stores/store.ts";
import { SeededRandom } from "../testing/seeded-random.ts";
import type { Lease } from "./lease.ts";
import { Membership } from "./membership.ts";
import { ownerOf } from "./placement.rig.ts";
import { ShardKeeper } from "./shard-keeper.ts";

/**
 * A cluster in real time: members whose clocks run at rates of their own, that freeze, are suspended or cut off, over a
 * store that answers late, or not at all and does it all the same. After everything that happens it is asked whether two
 * members could act on one shard.
 */

const shardCount = 8;
const shards = Array.from({ length: shardCount }, (_, shard) => shard);
/** Shorter than real ones, and beats closer together: then less is left to chance between a lease's end and a removal. */
const timings = { beatMs: 300, suspectMs: 2000, lostMs: 6000 };
/** A driver gives up waiting for an answer; the request may land later. */
const requestMs = 2000;
/** The slowest request, and the slowest answer. */
const slowMsMax = 12_000;
const commitMs = 1000;
/** Before this there is no trouble. */
const startedMs = 2000;
/** Trouble begins before this, and lasts no longer than that. */
const troubledMs = 40_000;
const troubleMsMax = 24_000;
/** Enough for the last trouble to end, for the lost to be found out, and for late requests to land. */
const calmMs = 60_000;

/** What happens, in the order of real time. */
class Universe {
  now = 0;
  readonly #queue = new Heap<{ at: number; order: number; run: () => void }>((one, other) =>
    one.at === other.at ? one.order < other.order : one.at < other.at,
  );
  #order = 0;

  at(at: number, run: () => void): void {
    this.#queue.push({ at: Math.max(at, this.now), order: this.#order++, run });
  }

  async runUntil(end: number, check: () => void): Promise<void> {
    for (let next = this.#queue.first; next !== undefined && next.at <= end; next = this.#queue.first) {
      this.#queue.pop();
      this.now = next.at;
      next.run();
      await new Promise<void>((resolve) => void setImmediate(resolve));
      check();
    }
    this.now = end;
  }
}

type Trouble =
  /** The process stands still while its machine goes on. */
  | { kind: "freeze"; member: number; at: number; lengthMs: number }
  /** The machine sleeps: its monotonic clock stands still, its wall clock does not. */
  | { kind: "suspend"; member: number; at: number; lengthMs: number }
  /** No request lands that is sent now. */
  | { kind: "cut"; member: number; at: number; lengthMs: number }
  /** The wall clock is set. */
  | { kind: "set"; member: number; at: number; byMs: number }
  | { kind: "stop"; member: number; at: number };

interface Plan {
  readonly seed: number;
  /** One member each: how fast its clocks run. */
  readonly rates: readonly number[];
  readonly troubles: readonly Trouble[];
  /** How often, of a hundred requests, one is slow, and one is lost. */
  readonly slow: number;
  readonly lossy: number;
}

/** One machine: its clocks, and when its process runs. */
class Machine implements Clock {
  readonly #universe: Universe;
  readonly #rate: number;
  #haltedUntil = 0;
  #suspendedUntil = 0;
  /** Of the monotonic clock, up to a moment of real time. */
  #known = { real: 0, monotonic: 0 };
  #wallSetMs = 0;

  constructor(universe: Universe, rate: number) {
    this.#universe = universe;
    this.#rate = rate;
  }

  now(): number {
    return 1_700_000_000_000 + this.#universe.now * this.#rate + this.#wallSetMs;
  }

  monotonic(): number {
    const { now } = this.#universe;
    const awake = Math.max(0, now - Math.max(this.#known.real, Math.min(this.#suspendedUntil, now)));
    return this.#known.monotonic + awake * this.#rate;
  }

  setWall(byMs: number): void {
    this.#wallSetMs += byMs;
  }

  freeze(lengthMs: number): void {
    this.#haltedUntil = Math.max(this.#haltedUntil, this.#universe.now + lengthMs);
  }

  suspend(lengthMs: number): void {
    const monotonic = this.monotonic();
    this.#known = { real: this.#universe.now, monotonic };
    this.#suspendedUntil = Math.max(this.#suspendedUntil, this.#universe.now + lengthMs);
    this.freeze(lengthMs);
  }

  after(delayMs: number, callback: () => void): Timer {
    const due = this.monotonic() + delayMs;
    let isCancelled = false;
    const fire = (): void => {
      if (isCancelled) return;
      const earlyMs = due - this.monotonic();
      if (earlyMs > 1e-6) fireIn(earlyMs);
      else callback();
    };
    const fireIn = (ms: number): void => {
      this.#universe.at(this.#universe.now + ms / this.#rate, () => this.whenRunning(fire));
    };
    fireIn(delayMs);
    return { cancel: () => void (isCancelled = true) };
  }

  soon(callback: () => void): void {
    this.whenRunning(callback);
  }

  /** Now, or when the process goes on. */
  whenRunning(run: () => void): void {
    const { now } = this.#universe;
    if (now < this.#haltedUntil) this.#universe.at(this.#haltedUntil, () => this.whenRunning(run));
    else run();
  }
}

/** The only truth. What is called here lands at once. */
class Truth {
  readonly members = new Map<string, MemberRow>();
  readonly shards = new Map<number, ShardRow>();
  /** Called when a member is taken out by another one. */
  onRemoved: (member: string) => void = () => undefined;

  join(id: string, address: string): void {
    if (!this.members.has(id)) this.members.set(id, { id, address, about: "", heartbeat: 0 });
  }

  heartbeat(id: string): ClusterView {
    const row = this.members.get(id);
    if (row !== undefined) this.members.set(id, { ...row, heartbeat: row.heartbeat + 1 });
    return { incarnation: 0, members: [...this.members.values()], shards: [...this.shards.values()] };
  }

  remove(id: string, ifHeartbeat: number | undefined): boolean {
    const row = this.members.get(id);
    if (row === undefined || (ifHeartbeat !== undefined && row.heartbeat !== ifHeartbeat)) return false;
    this.members.delete(id);
    if (ifHeartbeat !== undefined) this.onRemoved(id);
    return true;
  }

  /** The new epoch. */
  claim(shard: number, owner: string): number | undefined {
    const row = this.shards.get(shard) ?? { shard, epoch: 0, owner: "", lastBatch: 0, released: true };
    if (row.owner !== owner && !row.released && this.members.has(row.owner)) return undefined;
    const epoch = row.epoch + 1;
    this.shards.set(shard, { ...row, epoch, owner, released: false });
    return epoch;
  }

  /** False: fenced. A release that comes again is recognised. */
  write(shard: number, epoch: number, isLast: boolean): boolean {
    const row = this.shards.get(shard);
    if (row?.epoch !== epoch) return false;
    if (isLast) this.shards.set(shard, { ...row, released: true });
    return isLast || !row.released;
  }
}

/** A member's way to the store and back. */
class Wire {
  readonly #world: World;
  readonly #machine: Machine;
  cutUntil = 0;

  constructor(world: World, machine: Machine) {
    this.#world = world;
    this.#machine = machine;
  }

  send<T>(land: () => T): Promise<T> {
    const { universe } = this.#world;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#machine.after(requestMs, () => reject(new EngineError("STORE_UNAVAILABLE", "no answer")));
    const isLost = universe.now < this.cutUntil || this.#world.happens("lossy");
    const isAnswerLost = this.#world.happens("lossy");
    if (isLost) return promise;
    universe.at(universe.now + this.#world.delayMs(), () => {
      const result = land();
      if (isAnswerLost) return;
      universe.at(universe.now + this.#world.delayMs(), () => this.#machine.whenRunning(() => resolve(result)));
    });
    return promise;
  }
}

/** A member, with as much of a region as matters here: it claims, writes and releases. */
class Member {
  readonly #world: World;
  readonly #machine: Machine;
  readonly wire: Wire;
  readonly membership: Membership;
  readonly keeper: ShardKeeper;
  /** Of each shard it has open. */
  #epochs = new Map<number, number>();
  isStarted = false;
  /** Their work is laid down. */
  readonly #releasing = new Set<number>();
  /** The last it heard of its lease, since it joined. */
  #told: "lapsed" | "regained" | undefined;

  constructor(world: World, options: { name: string; machine: Machine }) {
    const { name, machine } = options;
    this.#world = world;
    this.#machine = machine;
    this.wire = new Wire(world, machine);
    const { wire } = this;
    const { truth } = world;
    let lives = 0;
    this.membership = new Membership({
      about: () => "",
      process: { stamp: undefined, hasDied: () => false },
      store: {
        join: ({ id, address }) => wire.send(() => truth.join(id, address)),
        heartbeat: (id) => wire.send(() => truth.heartbeat(id)),
        removeMember: (id, ifHeartbeat) => wire.send(() => truth.remove(id, ifHeartbeat)),
      },
      clock: machine,
      logger: silentLogger,
      address: name,
      newId: () => `${name}${++lives}`,
      timings,
      onView: (view) => this.keeper.follow(view, this.membership.id),
      onEvent: ({ type }) => world.count(type),
      onLapsed: () => this.#hear("lapsed"),
      onRegained: () => this.#hear("regained"),
      onGone: async () => {
        this.#told = undefined;
        this.#epochs = new Map();
        this.#releasing.clear();
        this.keeper.dropAll();
      },
    });
    this.keeper = new ShardKeeper({
      shardCount,
      clock: machine,
      logger: silentLogger,
      opensAtOnce: 3,
      onEvent: ({ type }) => world.count(type),
      shards: { open: (shard) => this.#open(shard), release: (shard) => this.#release(shard) },
    });
  }

  async start(): Promise<void> {
    try {
      this.isStarted = true;
      await this.membership.start();
      this.#writeSoon();
    } catch (error) {
      this.#world.mind(error);
      this.#world.stopped.add(this);
    }
  }

  async stop(): Promise<void> {
    await this.keeper.releaseAll();
    await this.membership.stop();
  }

  /** It could start a job of this shard, or answer from memory. */
  actsOn(shard: number): boolean {
    return this.keeper.owned.has(shard) && !this.#releasing.has(shard) && this.membership.lease.isValid;
  }

  epochOf(shard: number): number | undefined {
    return this.#epochs.get(shard);
  }

  /** Once per lapse, and always in turn. */
  #hear(what: "lapsed" | "regained"): void {
    const { id, lease } = this.membership;
    if (what === (this.#told ?? "regained")) this.#world.complain(`${id} heard twice that its lease has ${what}`);
    if (lease.isValid !== (what === "regained")) this.#world.complain(`the lease of ${id} has not ${what}`);
    this.#told = what;
  }

  async #open(shard: number): Promise<"open" | "taken"> {
    const epochs = this.#epochs;
    const { id } = this.membership;
    const epoch = await this.wire.send(() => this.#world.truth.claim(shard, id));
    if (epoch === undefined) return "taken";
    epochs.set(shard, epoch);
    return "open";
  }

  async #release(shard: number): Promise<void> {
    const epochs = this.#epochs;
    const epoch = epochs.get(shard);
    if (epoch === undefined) throw new Error("only what is open is released");
    this.#releasing.add(shard);
    for (;;) {
      try {
        const isWritten = await this.wire.send(() => this.#world.truth.write(shard, epoch, true));
        if (epochs !== this.#epochs) return;
        this.#close(shard);
        if (!isWritten) this.keeper.onLost(shard);
        return;
      } catch (error) {
        this.#world.mind(error);
        if (epochs !== this.#epochs) throw error;
      }
    }
  }

  #close(shard: number): void {
    this.#epochs.delete(shard);
    this.#releasing.delete(shard);
  }

  #writeSoon(): void {
    this.#machine.after(commitMs, () => {
      void this.#write();
      this.#writeSoon();
    });
  }

  /** Something in all its shards, to see whether they are still its own. */
  async #write(): Promise<void> {
    const { truth } = this.#world;
    const epochs = [...this.#epochs].filter(([shard]) => this.keeper.owned.has(shard) && !this.#releasing.has(shard));
    try {
      const fenced = await this.wire.send(() => epochs.filter(([shard, epoch]) => !truth.write(shard, epoch, false)));
      for (const [shard, epoch] of fenced) {
        if (this.#epochs.get(shard) !== epoch || this.#releasing.has(shard)) continue;
        this.#close(shard);
        this.keeper.onLost(shard);
      }
    } catch (error) {
      this.#world.mind(error);
    }
  }
}

class World {
  readonly universe = new Universe();
  readonly truth = new Truth();
  readonly counts = new Map<string, number>();
  readonly #plan: Plan;
  readonly #random: SeededRandom;
  readonly #machines: Machine[];
  readonly #members: Member[];
  /** Of every id there ever was. */
  readonly #leases = new Map<string, Lease>();
  readonly #removed = new Set<string>();
  /** Or never started. */
  readonly stopped = new Set<Member>();
  #complaint: unknown;

  constructor(plan: Plan) {
    this.#plan = plan;
    this.#random = new SeededRandom(plan.seed);
    this.#machines = plan.rates.map((rate) => new Machine(this.universe, rate));
    this.#members = this.#machines.map((machine, i) => new Member(this, { name: "abcdef".charAt(i), machine }));
    this.truth.onRemoved = (member) => {
      this.#removed.add(member);
      this.count("removed");
    };
  }

  /** Requests fail, and that is all that may. */
  mind(error: unknown): void {
    if (!hasCode(error, "STORE_UNAVAILABLE")) this.#complaint ??= error;
  }

  complain(what: string): void {
    this.mind(new Error(what));
  }

  count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }

  /** The first one starts in peace, and all are left in peace at last. */
  get #isCalm(): boolean {
    return this.universe.now < startedMs || this.universe.now >= troubledMs;
  }

  happens(what: "slow" | "lossy"): boolean {
    return !this.#isCalm && this.#random.next() * 100 < this.#plan[what];
  }

  /** Most take a moment, a few as long as it takes to be given up. */
  delayMs(): number {
    const part = this.#random.next();
    return this.happens("slow") ? part ** 3 * slowMsMax : 1 + part * 20;
  }

  async run(): Promise<void> {
    // The first one starts in peace, the others whenever it may be.
    for (const [i, member] of this.#members.entries()) {
      this.universe.at(i === 0 ? 0 : (this.#random.next() ** 2 * troubledMs) / 2, () => void member.start());
    }
    for (const trouble of this.#plan.troubles) this.universe.at(trouble.at, () => this.#make(trouble));
    await this.universe.runUntil(troubledMs + calmMs, () => this.#check());
    this.#checkEnd();
  }

  /** Whatever else happens to that machine. */
  setWall(member: number, { at, byMs }: { readonly at: number; readonly byMs: number }): void {
    this.universe.at(at, () => this.#machines[member]?.setWall(byMs));
  }

  #make(trouble: Trouble): void {
    const place = trouble.member % this.#members.length;
    const machine = this.#machines[place]!;
    const member = this.#members[place]!;
    if (trouble.kind === "freeze") machine.freeze(trouble.lengthMs);
    else if (trouble.kind === "suspend") machine.suspend(trouble.lengthMs);
    else if (trouble.kind === "cut") member.wire.cutUntil = this.universe.now + trouble.lengthMs;
    else if (trouble.kind === "stop") {
      if (place > 0 && member.isStarted) this.#stop(machine, member);
    } else machine.setWall(this.#isSafe(trouble) ? trouble.byMs : Math.abs(trouble.byMs));
  }

  #stop(machine: Machine, member: Member): void {
    this.stopped.add(member);
    machine.whenRunning(() => void member.stop());
  }

  /** A wall clock that is set back hides a suspension: both at once on one machine are more than a lease can bear. */
  #isSafe({ member }: Trouble): boolean {
    const count = this.#members.length;
    const isSame = (other: Trouble): boolean => other.member % count === member % count;
    return !this.#plan.troubles.some((other) => other.kind === "suspend" && isSame(other));
  }

  #check(): void {
    assert.equal(this.#complaint, undefined);
    for (const { membership } of this.#members) this.#leases.set(membership.id, membership.lease);
    for (const id of this.#removed) {
      assert.equal(this.#leases.get(id)?.isValid ?? false, false, `${id} was removed and trusts its lease`);
    }
    for (const shard of shards) {
      const acting = this.#members.filter((member) => member.actsOn(shard)).map(({ membership }) => membership.id);
      assert.ok(acting.length <= 1, `${acting.join(" and ")} act on shard ${shard}`);
    }
  }

  /** Left in peace, whoever has started is among the living, and each shard is where it belongs. */
  #checkEnd(): void {
    const there = this.#members.filter((member) => member.membership.lease.isValid);
    const ids = there.map(({ membership }) => membership.id);
    assert.deepEqual(ids, [...this.truth.members.keys()].toSorted());
    assert.equal(ids.length + this.stopped.size, this.#members.length);
    for (const member of this.stopped) assert.equal(member.keeper.owned.size, 0);
    for (const shard of shards) {
      const owner = ownerOf(shard, ids);
      const acting = there.filter((member) => member.actsOn(shard));
      assert.deepEqual(
        acting.map(({ membership }) => membership.id),
        [owner],
        `shard ${shard}`,
      );
      const row = this.truth.shards.get(shard);
      assert.deepEqual([row?.owner, row?.released, row?.epoch], [owner, false, acting[0]?.epochOf(shard)]);
    }
  }
}

const member = fc.nat(3);
const at = fc.integer({ min: startedMs, max: troubledMs });
/** Often about as long as a lease lasts. */
const lengthMs = fc.oneof(fc.integer({ min: 100, max: troubleMsMax }), fc.integer({ min: 6000, max: 10_000 }));
const byMs = fc.integer({ min: -20_000, max: 20_000 });
const trouble: fc.Arbitrary<Trouble> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom("freeze", "suspend", "cut"), member, at, lengthMs }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("set"), member, at, byMs }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("stop"), member, at }) },
);

const plan: fc.Arbitrary<Plan> = fc.record({
  seed: fc.nat(),
  rates: fc.array(
    fc.oneof(
      fc.constantFrom(0.95, 1.05),
      fc.integer({ min: 950, max: 1050 }).map((perMille) => perMille / 1000),
    ),
    { minLength: 2, maxLength: 4 },
  ),
  troubles: fc.array(trouble, { maxLength: 12, size: "max" }),
  slow: fc.constantFrom(0, 1, 10, 40),
  lossy: fc.constantFrom(0, 1, 10, 30),
});

describe("a cluster in real time", () => {
  test("whatever happens, no two members act on one shard; and left in peace it comes to order", async () => {
    const totals = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(plan, async (plan) => {
        const world = new World(plan);
        await world.run();
        for (const [what, count] of world.counts) totals.set(what, (totals.get(what) ?? 0) + count);
      }),
      // To shrink a plan takes minutes, and does not make it easier to read.
      { numRuns: 50, endOnFailure: true },
    );
    for (const what of ["suspected", "returned", "lapsed", "regained", "removed", "gone"]) {
      assert.ok((totals.get(what) ?? 0) > 0, `nobody was ever ${what}`);
    }
  });

  const quiet = { seed: 1, slow: 0, lossy: 0 };
  const cut: Trouble = { kind: "cut", member: 0, at: 10_000, lengthMs: troubleMsMax };

  test("a member that is cut off gives up just in time, by the slowest clock that is allowed", async () => {
    const world = new World({ ...quiet, rates: [0.95, 1.05], troubles: [cut] });
    await world.run();
    const { counts } = world;
    assert.deepEqual([counts.get("lapsed"), counts.get("removed"), counts.get("gone")], [1, 1, 1]);
  });

  test("a clock that is slower than allowed would be noticed here", async () => {
    const world = new World({ ...quiet, rates: [0.75, 1.05], troubles: [cut] });
    await assert.rejects(world.run(), /a1 was removed and trusts its lease/);
  });

  test("a suspended machine whose wall clock is set back as well would be noticed here", async () => {
    const troubles: Trouble[] = [{ kind: "suspend", member: 0, at: 10_000, lengthMs: 20_000 }];
    await new World({ ...quiet, rates: [1, 1], troubles }).run();
    const world = new World({ ...quiet, rates: [1, 1], troubles });
    world.setWall(0, { at: 20_000, byMs: -20_000 });
    await assert.rejects(world.run(), /a1 was removed and trusts its lease/);
  });
});
