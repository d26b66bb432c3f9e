/**
 * A cluster as far as the slots of one domain are concerned, in virtual time: members with clocks of their own, a store
 * that knows who lives, a network that does everything to messages, allocators that move and linger, attempts.
 */
import assert from "node:assert/strict";
import type { Clock, Timer } from "../base/clock.ts";
import { EngineError, hasCode } from "../base/error.ts";
import { Heap } from "../base/heap.ts";
import { silentLogger } from "../base/logger.ts";
import { SeededRandom } from "../testing/seeded-random.ts";
import { DomainAllocator } from "./domain-allocator.ts";
import { DomainQuotas } from "./domain-quotas.ts";
import type { SlotGrant, SlotReport } from "./slot-report.ts";
import { ownPatience } from "./timings.ts";

export const domain = "gpu";
/** In proportion to each other as in earnest, and shorter. */
export const beatMs = 1000;
export const lostMs = 6000;
export const workerLostMs = 9000;
export const rebalanceMs = 1000;
const callMs = 3000;
const repeatMs = 300;

export interface Weather {
  /** Of a hundred messages. */
  readonly lost: number;
  readonly doubled: number;
  /** Answered with what was the answer to something else. */
  readonly confused: number;
  /** Brought to an allocator that should not be there any more. */
  readonly astray: number;
  readonly delayMs: number;
}

export const fair: Weather = { lost: 0, doubled: 0, confused: 0, astray: 0, delayMs: 20 };

export class World {
  now = 0;
  readonly random: SeededRandom;
  readonly members: Member[] = [];
  readonly living = new Set<string>();
  /** Those that run somewhere, each once. */
  readonly attempts = new Set<Attempt>();
  /** Of the domain's shard. The last one is the true one, the others are lingering. */
  allocators: Office[] = [];
  weather: Weather = fair;
  size: number;
  /** Counts the changes of the size. */
  resizes = 0;
  /** What may run: the largest size since the last time that a size was known to hold. */
  limit: number;
  reports = 0;
  readonly hasRemoteWorkers: boolean;
  readonly #events = new Heap<Event>((a, b) => a.at < b.at || (a.at === b.at && a.order < b.order));
  #order = 0;
  #names = 0;
  #epochs = 0;
  #violation: string | undefined;

  constructor(options: { seed: number; members: number; size: number; hasRemoteWorkers: boolean }) {
    this.random = new SeededRandom(options.seed);
    this.size = options.size;
    this.limit = options.size;
    this.hasRemoteWorkers = options.hasRemoteWorkers;
    for (let i = 0; i < options.members; i++) this.join();
    this.move(0, 0);
  }

  get epoch(): number {
    return this.#epochs;
  }

  get office(): Office {
    return this.allocators.at(-1)!;
  }

  /** Members whose process is there, if perhaps frozen. */
  get processes(): Member[] {
    return this.members.filter((member) => !member.isDead);
  }

  pick(which: number): Member | undefined {
    const { processes } = this;
    return processes[which % Math.max(1, processes.length)];
  }

  at(delayMs: number, run: () => void): Event {
    const event = { at: this.now + Math.max(0, delayMs), order: this.#order++, run, isOver: false };
    this.#events.push(event);
    return event;
  }

  async pass(ms: number): Promise<void> {
    const end = this.now + ms;
    for (let event = this.#events.first; event !== undefined && event.at <= end; event = this.#events.first) {
      this.#events.pop();
      if (event.isOver) continue;
      this.now = Math.max(this.now, event.at);
      event.run();
      await new Promise<void>((resolve) => setImmediate(resolve));
      for (const member of this.members) member.tagOnItsWay = undefined;
      this.#lowerLimit();
      assert.equal(this.#violation, undefined);
    }
    this.now = end;
  }

  happens(percent: number): boolean {
    return this.random.next() * 100 < percent;
  }

  below(max: number): number {
    return Math.floor(this.random.next() * max);
  }

  newName(): string {
    return `m${++this.#names}`;
  }

  join(): void {
    const member = new Member(this);
    this.members.push(member);
    member.join(() => member.quotas.start());
  }

  /** Another member claims the shard; the allocator it had before goes on for a while where it was. */
  move(to: number, lingerMs: number): void {
    const candidates = this.processes.filter((member) => this.living.has(member.id) && !member.isFrozen);
    const host = candidates[to % Math.max(1, candidates.length)];
    for (const office of this.allocators) office.closesAt = Math.min(office.closesAt, this.now + lingerMs);
    if (host === undefined) {
      this.at(500, () => this.move(to, lingerMs));
      return;
    }
    this.allocators = this.allocators.filter((office) => office.closesAt > this.now);
    this.allocators.push(new Office(this, host, ++this.#epochs));
  }

  resize(size: number): void {
    this.size = size;
    this.resizes++;
    this.limit = Math.max(this.limit, size);
    this.at(this.below(1500), () => this.office.resize());
  }

  /** A size that is known to hold is the limit from then on. */
  #lowerLimit(): void {
    if (this.limit === this.size || this.office.resizes !== this.resizes) return;
    if (!this.office.allocator.status().holds) return;
    this.limit = this.size;
    assert.ok(this.attempts.size <= this.limit, `${this.attempts.size} run, though ${this.limit} are said to hold`);
  }

  /** Called at every start, from anywhere; `pass` throws what is found. */
  checkStart(member: Member): void {
    const running = this.attempts.size;
    if (running > this.limit) this.#violation ??= `${member.id} starts one: ${running} run, ${this.limit} may`;
    const { tag } = member;
    const knowsSize = tag !== undefined && tag.resizes === this.resizes && tag.epoch === this.epoch && !tag.isSealed;
    if (knowsSize && running > this.size)
      this.#violation ??= `${member.id} starts one: ${running} run, and it knows that ${this.size} may`;
  }

  /** Everything works from here on. */
  heal(): void {
    this.weather = fair;
    this.allocators = [this.office];
    for (const member of this.processes) {
      member.isCut = false;
      member.isMute = false;
      member.thaw();
    }
    if (this.processes.length === 0) this.join();
    if (this.office.host.isDead) this.move(0, 0);
  }
}

interface Event {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
  isOver: boolean;
}

interface Tag {
  readonly resizes: number;
  readonly epoch: number;
  readonly isSealed: boolean;
}

interface View {
  readonly asked: number;
  readonly living: ReadonlySet<string>;
  readonly epoch: number;
}

/** An allocator and where it is. */
export class Office {
  readonly host: Member;
  readonly epoch: number;
  readonly allocator: DomainAllocator;
  closesAt = Infinity;
  /** How many changes of the size it knows. */
  resizes: number;
  readonly #world: World;
  readonly #tags = new WeakMap<SlotGrant, Tag>();

  constructor(world: World, host: Member, epoch: number) {
    this.#world = world;
    this.host = host;
    this.epoch = epoch;
    this.resizes = world.resizes;
    const claimedAt = world.now;
    this.allocator = new DomainAllocator({
      domain,
      size: world.size,
      epoch,
      clock: host.clock,
      living: () => (host.view.asked > claimedAt ? host.view.living : undefined),
      workerLostMs: world.hasRemoteWorkers ? workerLostMs : 0,
    });
  }

  get isOpen(): boolean {
    return !this.host.isDead && this.closesAt > this.#world.now;
  }

  resize(): void {
    this.resizes = this.#world.resizes;
    this.allocator.resize(this.#world.size);
  }

  report(report: SlotReport): SlotGrant {
    const grant = this.allocator.report(report);
    const { isSealed, used, size, quotas } = this.allocator.status();
    if (grant.quota > report.quota) {
      const own = quotas.find(({ member }) => member === report.member)!.used;
      assert.ok(!isSealed && used - own + grant.quota <= size, "a raise comes out of what the others leave");
    }
    this.#tags.set(grant, { resizes: this.resizes, epoch: this.epoch, isSealed });
    return grant;
  }

  tagOf(grant: SlotGrant): Tag | undefined {
    return this.#tags.get(grant);
  }
}

/** One go at a task, on the member itself or on a worker of its own. */
export interface Attempt {
  holder: Member;
  readonly isRemote: boolean;
  /** Of the worker's clock. */
  readonly rate: number;
  /** Ends by itself if nobody renews its lease. */
  patience: Event | undefined;
}

export class Member {
  id = "";
  view: View = { asked: -1, living: new Set(), epoch: 0 };
  readonly clock: Clock;
  readonly quotas: DomainQuotas;
  quota = 0;
  waiting = 0;
  durationMs = 1000;
  started = 0;
  /** What uses a slot here; a worker that is out of reach may have taken its attempt elsewhere. */
  readonly slots = new Set<Attempt>();
  isFrozen = false;
  /** From the store. */
  isCut = false;
  /** From the allocators. */
  isMute = false;
  isDead = false;
  tag: Tag | undefined;
  tagOnItsWay: Tag | undefined;
  readonly #world: World;
  readonly #rate: number;
  readonly #whenThawed: (() => void)[] = [];
  readonly #grants: SlotGrant[] = [];
  #leaseUntil = 0;
  #removal: Event | undefined;
  #lapse: Event | undefined;
  #life = 0;
  #wish = 0;
  /** The id it joined under; it has it only when it has seen a view. */
  #joinedAs = "";

  constructor(world: World) {
    this.#world = world;
    this.#rate = 0.95 + world.random.next() * 0.1;
    this.clock = {
      now: () => world.now,
      monotonic: () => world.now * this.#rate,
      after: (delayMs, callback) => this.#after(delayMs / this.#rate, callback),
      soon: (callback) => void this.#after(0, callback),
    };
    this.quotas = new DomainQuotas({
      member: () => this.id,
      clock: this.clock,
      domains: [domain],
      call: (_, report) => this.#call(report),
      seenEpoch: () => this.view.epoch,
      pool: {
        demand: () => ({ running: this.slots.size, waiting: this.waiting }),
        setQuota: (_, quota) => this.#setQuota(quota),
      },
      timings: { rebalanceMs, workerLostMs },
      hasRemoteWorkers: () => world.hasRemoteWorkers,
      logger: silentLogger,
    });
  }

  /** Whatever happens in this process happens after it has thawed, and never if it is dead. */
  #act(run: () => void): void {
    if (this.isDead) return;
    if (this.isFrozen) this.#whenThawed.push(run);
    else run();
  }

  #after(delayMs: number, callback: () => void): Timer {
    let isCancelled = false;
    const fire = (): void => {
      if (!isCancelled) callback();
    };
    this.#world.at(delayMs, () => this.#act(fire));
    return { cancel: () => void (isCancelled = true) };
  }

  // Its place among the living.

  get isLapsed(): boolean {
    return this.#world.now >= this.#leaseUntil;
  }

  join(then: () => void): void {
    const id = this.#world.newName();
    this.#joinedAs = id;
    const life = ++this.#life;
    this.#world.living.add(id);
    this.#renew();
    this.#look((view) => {
      this.view = view;
      this.id = id;
      this.#world.at(0, () => this.#beat(life));
      then();
    });
  }

  #look(then: (view: View) => void): void {
    const { now, living, epoch } = this.#world;
    const view = { asked: now, living: new Set(living), epoch };
    this.#world.at(this.#world.below(200), () => this.#act(() => then(view)));
  }

  #beat(life: number): void {
    this.#act(() => {
      if (life !== this.#life) return;
      this.#world.at(beatMs / this.#rate, () => this.#beat(life));
      if (this.isCut) return;
      if (this.#world.living.has(this.id)) this.#renew();
      this.#look((view) => life === this.#life && this.#seen(view));
    });
  }

  #seen(view: View): void {
    if (view.asked < this.view.asked) return;
    this.view = view;
    for (const office of this.#world.allocators) if (office.host === this) office.allocator.follow();
    if (view.living.has(this.id)) this.pump();
    else this.#gone();
  }

  /** Both patiences begin anew: others' at a moment when they may see it, its own a little before. */
  #renew(): void {
    const id = this.#joinedAs;
    for (const event of [this.#removal, this.#lapse]) if (event !== undefined) event.isOver = true;
    const leaseMs = (ownPatience * lostMs) / this.#rate;
    this.#leaseUntil = this.#world.now + leaseMs;
    this.#lapse = this.#world.at(leaseMs, () => this.#lapsed());
    this.#removal = this.#world.at(lostMs / 0.98, () => this.#removed(id));
  }

  /** Its clock says so, whether it is awake or not: what runs here counts no longer. */
  #lapsed(): void {
    for (const attempt of this.slots) if (!attempt.isRemote) this.#end(attempt);
    this.#act(() => {
      const strays = [...this.slots];
      this.quotas.onDetached(domain, strays.length);
      for (const stray of strays) this.#loseWorker(stray);
    });
  }

  #removed(id: string): void {
    const world = this.#world;
    world.living.delete(id);
    if (world.office.host === this) world.move(world.below(5), world.below(3000));
  }

  #gone(): void {
    this.#life++;
    this.quotas.dropAll();
    for (const attempt of this.slots) {
      if (attempt.isRemote) this.#loseWorker(attempt);
      else this.#end(attempt);
    }
    this.#world.at(this.#world.below(1000), () => this.#act(() => this.join(() => undefined)));
  }

  // What is done to it.

  crash(): void {
    this.isDead = true;
    this.relink();
    for (const attempt of this.slots) if (!attempt.isRemote) this.#end(attempt);
  }

  freeze(ms: number): void {
    if (this.isFrozen) return;
    this.isFrozen = true;
    this.relink();
    this.#world.at(ms, () => this.thaw());
  }

  thaw(): void {
    if (!this.isFrozen) return;
    this.isFrozen = false;
    for (const run of this.#whenThawed.splice(0)) this.#act(run);
  }

  cut(ms: number): void {
    this.isCut = true;
    this.#world.at(ms, () => void (this.isCut = false));
  }

  mute(ms: number): void {
    this.isMute = true;
    this.#world.at(ms, () => void (this.isMute = false));
  }

  leave(): void {
    if (this.isFrozen) return;
    this.quotas.stop();
    this.crash();
    if (this.#removal !== undefined) this.#removal.isOver = true;
    this.#removed(this.#joinedAs);
  }

  /** Its workers lose the connection and look for another member; here they are counted until they are lost. */
  relink(): void {
    for (const attempt of this.slots) if (attempt.isRemote) this.#stopRenewing(attempt);
  }

  /** As many want to run, at all times. */
  keepOffering(count: number, durationMs: number): void {
    this.#wish = count;
    this.offer(count, durationMs);
  }

  offer(count: number, durationMs: number): void {
    this.durationMs = durationMs;
    this.waiting = count;
    this.#act(() => this.pump());
  }

  // Its attempts.

  #setQuota(quota: number): void {
    this.quota = quota;
    if (this.tagOnItsWay !== undefined) this.tag = this.tagOnItsWay;
    this.pump();
  }

  pump(): void {
    while (this.waiting > 0 && this.slots.size < this.quota && !this.isLapsed && !this.isFrozen) this.#start();
    if (this.waiting > 0) this.quotas.onDemand(domain);
  }

  #start(): void {
    const world = this.#world;
    this.waiting--;
    this.started++;
    const isRemote = world.hasRemoteWorkers && world.happens(50);
    const attempt: Attempt = { holder: this, isRemote, rate: 0.95 + world.random.next() * 0.1, patience: undefined };
    this.slots.add(attempt);
    world.attempts.add(attempt);
    world.checkStart(this);
    world.at(1 + world.below(2 * this.durationMs), () => this.#end(attempt));
  }

  #end(attempt: Attempt): void {
    this.#world.attempts.delete(attempt);
    for (const member of this.#world.members) if (member.slots.has(attempt)) member.#free(attempt);
  }

  #free(attempt: Attempt): void {
    this.slots.delete(attempt);
    this.waiting = Math.max(this.waiting, this.#wish - this.slots.size);
    this.#act(() => this.pump());
  }

  #loseWorker(attempt: Attempt): void {
    this.#stopRenewing(attempt);
    this.slots.delete(attempt);
  }

  /** From here on nobody renews its lease; its worker goes elsewhere with it, and ends it when its patience is over. */
  #stopRenewing(attempt: Attempt): void {
    if (attempt.patience !== undefined || attempt.holder !== this) return;
    const world = this.#world;
    attempt.patience = world.at((ownPatience * workerLostMs) / attempt.rate, () => this.#end(attempt));
    world.at(world.below(workerLostMs), () => {
      const next = world.pick(world.below(10));
      if (next !== undefined) next.#adopt(attempt);
    });
    this.#after(workerLostMs / this.#rate, () => {
      if (!this.slots.has(attempt) || attempt.holder === this) return;
      this.quotas.onDetached(domain, 1, workerLostMs);
      this.#free(attempt);
    });
  }

  #adopt(attempt: Attempt): void {
    this.#act(() => {
      if (!this.#world.attempts.has(attempt) || this.isLapsed || attempt.patience?.isOver !== false) return;
      this.slots.add(attempt);
      this.quotas.whenCounted(domain).then(
        () => this.#act(() => this.#renewLease(attempt)),
        () => this.slots.delete(attempt),
      );
    });
  }

  #renewLease(attempt: Attempt): void {
    if (!this.#world.attempts.has(attempt) || !this.slots.has(attempt) || this.isLapsed) return;
    if (attempt.patience !== undefined) attempt.patience.isOver = true;
    attempt.patience = undefined;
    attempt.holder = this;
  }

  // What it says.

  #call(report: SlotReport): Promise<SlotGrant> {
    this.#world.reports++;
    return new Promise((resolve, reject) => {
      const call: Call = { report, isOver: false, resolve };
      this.#after(callMs / this.#rate, () => {
        call.isOver = true;
        reject(new EngineError("CALL_UNANSWERED", "nobody answers"));
      });
      this.#send(call);
      if (this.#world.happens(50)) this.#send(call);
    });
  }

  #send(call: Call): void {
    const world = this.#world;
    this.#after(repeatMs, () => {
      if (!call.isOver) this.#send(call);
    });
    this.#carry(() => {
      if (this.isMute) return;
      const open = world.allocators.filter((office) => office.isOpen);
      const office = world.happens(world.weather.astray) ? open[world.below(open.length)] : open.at(-1);
      if (office !== undefined) office.host.#act(() => this.#answer(office, call));
    });
  }

  #answer(office: Office, call: Call): void {
    if (!office.isOpen) return;
    try {
      const grant = office.report(call.report);
      this.#carry(() => this.#act(() => this.#hear(call, grant, office.tagOf(grant))));
    } catch (error) {
      if (!hasCode(error, "SHARD_MOVED")) throw error;
    }
  }

  #hear(call: Call, grant: SlotGrant, tag: Tag | undefined): void {
    if (call.isOver) return;
    call.isOver = true;
    const confused = this.#world.happens(this.#world.weather.confused);
    const other = this.#grants[this.#world.below(this.#grants.length)];
    this.#grants.push(grant);
    if (confused && other !== undefined) return call.resolve(other);
    this.tagOnItsWay = tag;
    call.resolve(grant);
  }

  /** By a message, to which anything may happen. */
  #carry(deliver: () => void): void {
    const { weather } = this.#world;
    if (this.#world.happens(weather.lost)) return;
    this.#world.at(this.#world.below(weather.delayMs), deliver);
    if (this.#world.happens(weather.doubled)) this.#world.at(this.#world.below(weather.delayMs * 3), deliver);
  }
}

interface Call {
  readonly report: SlotReport;
  isOver: boolean;
  readonly resolve: (grant: SlotGrant) => void;
}
