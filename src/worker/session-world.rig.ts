/** Members, workers and the links between them, for the tests of worker sessions. */
import assert from "node:assert/strict";
import type { Clock, Timer } from "../base/clock.ts";
import { defineJob, type Job, type JobContext } from "../authoring/job.ts";
import { defaultTimings, ownPatience } from "../cluster/timings.ts";
import { HandClock, makeRun } from "../dispatch/dispatcher.rig.ts";
import { Dispatcher } from "../dispatch/dispatcher.ts";
import type { Link, LinkListener } from "../dispatch/link.ts";
import type { AttemptListener, TaskRun } from "../dispatch/task-run.ts";
import { WorkerSessions } from "../dispatch/worker-sessions.ts";
import type { AnnouncedAttempt } from "../dispatch/session-attempt.ts";
import type { Outcome } from "../kernel/input.ts";
import { SeededRandom } from "../testing/seeded-random.ts";
import { RemoteWorker } from "./remote-worker.ts";
import { LogBook } from "../testing/log-book.rig.ts";

export const { workerBeatMs, workerLostMs } = defaultTimings;

/** Runs at its own rate, within what clocks are allowed, and stops with its process. */
export class ProcessClock implements Clock {
  readonly #base: Clock;
  readonly #rate: number;
  isDead = false;

  constructor(base: Clock, rate: number) {
    this.#base = base;
    this.#rate = rate;
  }

  now(): number {
    return Math.round(this.#base.now() * this.#rate);
  }

  monotonic(): number {
    return this.#base.monotonic() * this.#rate;
  }

  after(delayMs: number, callback: () => void): Timer {
    return this.#base.after(delayMs / this.#rate, () => this.#ifAlive(callback));
  }

  soon(callback: () => void): void {
    this.#base.soon(() => this.#ifAlive(callback));
  }

  #ifAlive(callback: () => void): void {
    if (!this.isDead) callback();
  }
}

/** How bad a network is: chances from 0 to 1. */
export interface Weather {
  readonly loss: number;
  readonly doubling: number;
  readonly delayMaxMs: number;
  /** Of a closed link, that the other end does not hear of it. */
  readonly silentClose: number;
}

export const fairWeather: Weather = { loss: 0, doubling: 0, delayMaxMs: 5, silentClose: 0 };

/** One connection: two links, joined. */
export class Wire {
  readonly #world: World;
  readonly #worker: LinkListener;
  #member: LinkListener | undefined;
  #isOpen = true;
  #isBroken = false;
  /** Nothing passes, and nobody is told. */
  isCut = false;
  readonly #process: Process;

  constructor(world: World, process: Process, worker: LinkListener) {
    this.#world = world;
    this.#process = process;
    this.#worker = worker;
  }

  /** The worker's link. */
  join(sessions: WorkerSessions): Link {
    const link = (to: () => LinkListener | undefined, from: "worker" | "member"): Link => ({
      send: (text) => this.#carry(text, to, from),
      close: () => this.close(to),
    });
    this.#member = sessions.accept(link(() => this.#worker, "member"));
    return link(() => this.#member, "worker");
  }

  /** What is under way to the other end may still arrive, before it hears that this was the end. */
  close(tell: () => LinkListener | undefined): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    const { weather, clock } = this.#world;
    if (!this.#world.happens(weather.silentClose)) clock.after(weather.delayMaxMs, () => tell()?.onClosed());
  }

  /** It breaks, and one end or both notice. */
  break(): void {
    this.#isBroken = true;
    this.close(() => this.#worker);
    if (!this.#world.happens(this.#world.weather.silentClose)) this.#member?.onClosed();
  }

  #carry(text: string, to: () => LinkListener | undefined, from: "worker" | "member"): void {
    const { weather, clock } = this.#world;
    if (!this.#isOpen) return;
    for (let copies = this.#world.happens(weather.doubling) ? 2 : 1; copies > 0; copies--) {
      if (this.#world.happens(weather.loss)) continue;
      clock.after(this.#world.delay(), () => {
        if (!this.#isBroken && !this.isCut && this.#process.hears(from)) to()?.receive(text);
      });
    }
  }
}

/** A task, as whoever owns it knows it. */
export class Work {
  readonly id: string;
  readonly timeoutMs: number;
  /** Runs until it is aborted. */
  readonly isEndless: boolean;
  /** It was taken back and placed anew, perhaps before its worker knew of the first. */
  isRestless = false;
  status: "open" | "done" | "aborted" = "open";
  /** The only one who may report it now. */
  current: Registration | undefined;
  /** A worker has taken it from one member to another. */
  isMoved = false;
  /** How often it was nobody's. */
  orphanings = 0;

  constructor(id: string, given: { timeoutMs?: number; isEndless?: boolean }) {
    this.id = id;
    this.timeoutMs = given.timeoutMs ?? Infinity;
    this.isEndless = given.isEndless ?? false;
  }
}

/** One time that a task was given to a dispatcher: it has one report at most, and only while it is the current one. */
export class Registration implements AttemptListener {
  readonly work: Work;
  readonly member: Member;
  starts = 0;
  readonly #world: World;
  isSuperseded = false;
  #isReported = false;

  constructor(world: World, work: Work, member: Member) {
    this.#world = world;
    this.work = work;
    this.member = member;
  }

  /** The task has gone on to another member, and this one has not been told. */
  supersede(): void {
    this.isSuperseded = true;
    this.member.superseded.set(this.work.id, this);
  }

  /** The owner has not started the task anew since. */
  get isWanted(): boolean {
    const { id, status, current } = this.work;
    if (status !== "open" || current === undefined) return status === "open";
    return current.member.workerOf(id) === this.member.workerOf(id);
  }

  /** The worker has come back with the task, so it is here that it is held. */
  reclaim(): void {
    const { work, member } = this;
    this.isSuperseded = false;
    member.superseded.delete(work.id);
    if (work.current !== undefined && work.current.member.dispatcher.status.isRunning(work.id))
      work.current.supersede();
    work.current = this;
  }

  onStarted(): void {
    this.#check("started");
  }

  onEnded(_run: TaskRun, outcome: Outcome, _execution: object, acknowledge?: () => void): void {
    this.#report(outcome.kind);
    if (this.isSuperseded) return acknowledge?.();
    if (outcome.kind === "lost" && !this.work.isMoved) this.#world.checkStopped(this.work.id);
    this.#world.ended(this.work, outcome, acknowledge);
  }

  onWithdrawn(): void {
    this.#report("withdrawn");
    if (!this.isSuperseded) this.#world.placeLater(this.work);
  }

  #report(what: string): void {
    this.#check(what);
    this.#world.expect(!this.#isReported, `${this.work.id} is reported once, not again as ${what}`);
    this.#isReported = true;
    if (!this.isSuperseded) this.work.current = undefined;
    this.member.superseded.delete(this.work.id);
  }

  #check(what: string): void {
    const { id, current, status } = this.work;
    if (this.isSuperseded && what !== "started") return;
    this.#world.expect(current === this, `${id}: who lets go of a task does not speak of it: ${what}`);
    this.#world.expect(status === "open", `${id}: ${what} of a task that is over`);
  }
}

/** A member, which asks the owner regularly whether it is still the one who holds what it runs. */
export class Member {
  readonly name: string;
  readonly dispatcher: Dispatcher;
  readonly sessions: WorkerSessions;
  /** Of tasks that other members hold by now, unknown to this one. */
  readonly superseded = new Map<string, Registration>();
  hasLease = true;

  constructor(world: World, name: string) {
    const { clock, log: logger } = world;
    this.name = name;
    this.dispatcher = new Dispatcher({ clock, logger, mayStart: () => this.hasLease });
    this.sessions = new WorkerSessions({
      clock,
      logger,
      timings: defaultTimings,
      dispatcher: this.dispatcher,
      addressOf: (worker) => `${name}/${worker}`,
      mayServe: () => this.hasLease,
      renewalAgeMs: (attemptId) => (this.superseded.has(attemptId) ? workerLostMs : 0),
      onAnnounced: (attempt) => world.announced(this, attempt),
    });
  }

  askOwner(): void {
    for (const registration of this.superseded.values()) {
      const { work } = registration;
      if (!this.dispatcher.status.isReachable(work.id)) continue;
      if (registration.isWanted) registration.reclaim();
      else {
        this.dispatcher.abort([work.id]);
        this.superseded.delete(work.id);
      }
    }
  }

  /** The name of the worker that runs it. */
  workerOf(attemptId: string): string | undefined {
    const running = this.dispatcher.status.listRunning().find(({ run }) => run.attemptId === attemptId);
    return running?.worker.split("/")[1];
  }
}

/** A worker's process. */
export class Process {
  readonly clock: ProcessClock;
  readonly worker: RemoteWorker;
  readonly active = new Set<string>();
  readonly slots: number;
  wire: Wire | undefined;
  /** Cut off from all members, one way or both. */
  isolation: { readonly since: number; readonly isDeaf: boolean; readonly isMute: boolean } | undefined;

  constructor(world: World, options: { rate: number; slots: number; jobs: ReadonlyMap<string, Job> }) {
    const { random, log: logger } = world;
    this.clock = new ProcessClock(world.clock, options.rate);
    this.slots = options.slots;
    const mortal = (listener: LinkListener): LinkListener => ({
      receive: (text) => void (this.clock.isDead || listener.receive(text)),
      onClosed: () => void (this.clock.isDead || listener.onClosed()),
    });
    this.worker = new RemoteWorker({
      clock: this.clock,
      random,
      logger,
      jobs: options.jobs,
      slots: options.slots,
      connect: (listener) => {
        this.wire = new Wire(world, this, mortal(listener));
        return this.wire.join(world.nextMember().sessions);
      },
    });
    this.worker.start();
  }

  hears(from: "worker" | "member"): boolean {
    return (from === "member" ? this.isolation?.isDeaf : this.isolation?.isMute) !== true;
  }

  kill(): void {
    this.clock.isDead = true;
    this.active.clear();
    this.wire?.break();
  }
}

export interface WorldOptions {
  readonly seed: number;
  readonly members: number;
  readonly workers: number;
}

/**
 * Members and workers over bad links. Where the engine has owners of shards, which know who holds what, there is one list
 * here: it re-enqueues what is lost, and moves what a worker brings along.
 */
export class World {
  readonly clock = new HandClock();
  readonly log = new LogBook();
  readonly random: SeededRandom;
  readonly members: Member[];
  processes: Process[] = [];
  readonly works = new Map<string, Work>();
  weather: Weather = fairWeather;
  readonly violations: string[] = [];
  /** How often the owner fails to write a result, or the start of an attempt. */
  writeFailure = 0;
  #turn = 0;
  #timer: Timer | undefined;

  constructor({ seed, members, workers }: WorldOptions) {
    this.random = new SeededRandom(seed);
    this.members = Array.from({ length: members }, (_, i) => new Member(this, `member ${i}`));
    for (let i = 0; i < workers; i++) this.startProcess();
    this.#askOwner();
  }

  #askOwner(): void {
    for (const member of this.members) if (member.hasLease) member.askOwner();
    this.#timer = this.clock.after(workerBeatMs, () => this.#askOwner());
  }

  happens(probability: number): boolean {
    return this.random.next() < probability;
  }

  between(min: number, max: number): number {
    return min + Math.floor(this.random.next() * (max - min + 1));
  }

  oneOf<T>(items: readonly T[]): T {
    return items[this.between(0, items.length - 1)] as T;
  }

  delay(): number {
    const { delayMaxMs } = this.weather;
    // Mostly short, and now and then very long: what is late overtakes nothing unless others are quick.
    return this.happens(0.8) ? this.random.next() * Math.min(50, delayMaxMs) : this.random.next() * delayMaxMs;
  }

  nextMember(): Member {
    return this.members[this.#turn++ % this.members.length] as Member;
  }

  startProcess(): void {
    const run = (_params: unknown, ctx: JobContext): Promise<unknown> => this.#runJob(process, ctx);
    const jobs = new Map([["job", defineJob("job", run)]]);
    const process = new Process(this, { rate: 0.95 + this.random.next() / 10, slots: this.between(1, 4), jobs });
    this.processes.push(process);
  }

  kill(process: Process): void {
    process.kill();
    this.processes = this.processes.filter((other) => other !== process);
  }

  // Jobs

  /** Sleeps for a while of its process's time, or until it is aborted, and is seen while it does. */
  #runJob(process: Process, { attemptId, signal }: JobContext): Promise<unknown> {
    const { isEndless = false } = this.works.get(attemptId) ?? {};
    this.expect(!process.active.has(attemptId), `${attemptId} runs once at a time on a worker`);
    this.checkStopped(attemptId);
    process.active.add(attemptId);
    this.expect(process.active.size <= process.slots, "no worker runs more than it has slots");
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const isShort = this.happens(0.6);
    const end = (): void => {
      process.active.delete(attemptId);
      resolve("done");
    };
    const timer = isEndless ? undefined : process.clock.after(this.between(0, isShort ? 2000 : 100_000), end);
    signal.addEventListener("abort", () => {
      timer?.cancel();
      process.active.delete(attemptId);
      reject(signal.reason as Error);
    });
    return promise;
  }

  /** Whoever says that an attempt is lost, or starts it, can be sure that it runs nowhere. */
  checkStopped(attemptId: string): void {
    if (this.works.get(attemptId)?.isRestless === true) return;
    for (const { active, worker } of this.processes) {
      this.expect(!active.has(attemptId), `${attemptId} starts or counts as lost, and still runs on ${worker.id}`);
    }
  }

  /** Nothing runs for longer than its lease, by the slowest clock there may be. */
  checkLeases(): void {
    for (const { isolation, active } of this.processes) {
      const isOver = this.clock.now() - (isolation?.since ?? Infinity) > (ownPatience * workerLostMs) / 0.95 + 2;
      this.expect(!isOver || active.size === 0, `${[...active].join()} runs although its lease has expired`);
    }
  }

  /** What fails inside a job or an owner would only fail that one. */
  expect(isTrue: boolean, what: string): void {
    if (!isTrue) this.violations.push(what);
  }

  // The owner

  submit(id: string, given: { timeoutMs?: number; isEndless?: boolean } = {}): void {
    const work = new Work(id, given);
    this.works.set(id, work);
    this.#place(work);
  }

  abort(work: Work): void {
    if (work.status !== "open") return;
    work.status = "aborted";
    work.current?.member.dispatcher.abort([work.id]);
    work.current = undefined;
  }

  /** Told to stop, and started again at once. */
  restart(work: Work): void {
    if (work.status !== "open" || work.current === undefined) return;
    work.isRestless = true;
    work.current.member.dispatcher.abort([work.id]);
    work.current = undefined;
    this.#place(work);
  }

  ended(work: Work, outcome: Outcome, acknowledge?: () => void): void {
    if (outcome.kind === "lost") {
      acknowledge?.();
      // Where others have held it too, one who is out of touch with the worker does not know enough to call it lost.
      if (work.isMoved) this.#giveUpLater(work);
      else this.placeLater(work);
    } else if (this.happens(this.writeFailure)) {
      // Nobody has it now: it turns up again with its worker, or is given up.
      this.#giveUpLater(work);
    } else {
      work.status = "done";
      this.clock.after(this.delay(), () => acknowledge?.());
    }
  }

  /** The lease of a member lapses: what its workers run is nobody's until it turns up. */
  lapse(member: Member): void {
    member.hasLease = false;
    const left = [...this.works.values()].filter((work) => work.current?.member === member);
    member.dispatcher.interruptAll();
    member.superseded.clear();
    for (const work of left) {
      const { dispatcher } = member;
      if (work.current === undefined || dispatcher.status.waitOf(work.id) !== undefined) continue;
      work.current = undefined;
      this.#giveUpLater(work);
    }
  }

  regain(member: Member): void {
    member.hasLease = true;
    member.dispatcher.onLeaseChanged();
  }

  announced(member: Member, attempt: AnnouncedAttempt): void {
    if (this.happens(this.writeFailure)) return; // It could not be found out; it will be announced again.
    if (this.happens(0.7)) this.#decide(member, attempt);
    else this.clock.after(this.between(1, 4000), () => this.#decide(member, attempt));
  }

  #decide(member: Member, attempt: AnnouncedAttempt): void {
    const { attemptId, startedAt } = attempt.descriptor;
    const work = this.works.get(attemptId);
    if (work === undefined || work.status !== "open") return attempt.decline();
    const from = work.current;
    const at = from?.member.dispatcher;
    const runsOn = from?.member.workerOf(attemptId);
    const isSameWorker = runsOn === attempt.worker.address.split("/")[1];
    if (isSameWorker && from?.member === member) return;
    if (runsOn !== undefined && !isSameWorker) return attempt.decline();
    const registration = new Registration(this, work, member);
    const run = this.#run(work, registration);
    // Another member that runs it may not hear of this: then what it says of it later does not count.
    if (runsOn !== undefined && from?.member !== member && this.happens(0.3)) from?.supersede();
    else at?.detach([attemptId]);
    at?.drop((other) => other.attemptId === attemptId);
    if (from?.isSuperseded === false && at?.status.isRunning(attemptId) === true) return attempt.decline();
    work.isMoved = true;
    if (member.dispatcher.adopt(run, attempt.worker, attempt.outcome, startedAt)) work.current = registration;
    else {
      work.current = undefined;
      this.#giveUpLater(work);
    }
  }

  placeLater(work: Work): void {
    this.clock.after(this.delay(), () => this.#place(work));
  }

  /** As an owner that has heard nothing of an attempt for long. */
  #giveUpLater(work: Work): void {
    const orphaning = ++work.orphanings;
    this.clock.after(2 * workerLostMs, () => {
      if (work.status !== "open" || work.current !== undefined || work.orphanings !== orphaning) return;
      this.checkStopped(work.id);
      this.#place(work);
    });
  }

  #place(work: Work): void {
    if (work.status !== "open" || work.current !== undefined) return;
    const served = this.members.filter(({ sessions }) => sessions.all.length > 0);
    const member = this.oneOf(served.length > 0 ? served : this.members);
    // An owner knows its own dispatcher: what is held there and has gone on elsewhere is let go.
    member.dispatcher.detach([work.id]);
    member.superseded.delete(work.id);
    work.isMoved = false;
    work.current = new Registration(this, work, member);
    member.dispatcher.enqueue(this.#run(work, work.current));
  }

  #run(work: Work, owner: Registration): TaskRun {
    const { timeoutMs } = work;
    return makeRun(owner, work.id, { timeoutMs, confirmStart: () => this.#confirm(work, owner) });
  }

  async #confirm(work: Work, owner: Registration): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const start = ++owner.starts;
    const isWritten = !this.happens(this.writeFailure);
    this.clock.after(this.delay(), resolve);
    await promise;
    if (isWritten) return;
    // It may have been queued again meanwhile, and started: then that start is the one that counts.
    if (work.current === owner && start === owner.starts) {
      work.current = undefined;
      owner.member.dispatcher.drop(({ attemptId }) => attemptId === work.id);
      this.placeLater(work);
    }
    throw new Error("the store is away");
  }

  // The end

  /** Everything is well from now on; in the time given, everything must come to its end. */
  async calmDown(ms: number): Promise<void> {
    this.weather = fairWeather;
    this.writeFailure = 0;
    for (const member of this.members) if (!member.hasLease) this.regain(member);
    for (const process of this.processes) {
      process.isolation = undefined;
      if (process.wire?.isCut === true) process.wire.break();
    }
    for (const work of this.works.values()) if (work.isEndless) this.abort(work);
    for (let leftMs = ms; leftMs > 0; leftMs -= workerLostMs) {
      this.#moveToWorkers();
      await this.clock.advance(workerLostMs);
    }
  }

  /** No worker comes to where a task waits, so the task goes where workers are. */
  #moveToWorkers(): void {
    for (const work of this.works.values()) {
      const { dispatcher, sessions } = work.current?.member ?? {};
      if (sessions?.all.length !== 0 || dispatcher?.status.waitOf(work.id) === undefined) continue;
      dispatcher.drop(({ attemptId }) => attemptId === work.id);
      work.current = undefined;
      this.#place(work);
    }
  }

  checkDone(): void {
    assert.deepEqual(this.violations, []);
    for (const work of this.works.values()) assert.notEqual(work.status, "open", `${work.id} has come to its end`);
    for (const { active, worker } of this.processes) {
      assert.deepEqual([...active], [], "nothing runs that is over");
      assert.equal(worker.runningCount, 0);
      assert.equal(worker.resultCount, 0, "every result is acknowledged");
      assert.ok(worker.isConnected, "every worker has found a member");
    }
    for (const { dispatcher, sessions } of this.members) {
      assert.deepEqual(dispatcher.status.listRunning(), []);
      assert.deepEqual(dispatcher.status.listWaiting(), []);
      for (const { running, domain } of dispatcher.status.listDomains()) assert.equal(running, 0, `slots of ${domain}`);
      for (const session of sessions.all) assert.equal(session.freeSlots, session.slots, "no slot has leaked");
    }
    const errors = this.log.lines.filter(({ level }) => level === "error");
    assert.deepEqual(errors, []);
  }

  /** Nothing stays behind: no timer, no session. */
  async close(): Promise<void> {
    const stopped = this.processes.map(({ worker }) => worker.stop());
    await this.clock.advance(20_000);
    await Promise.all(stopped);
    await this.clock.advance(1000);
    for (const { sessions } of this.members) assert.deepEqual(sessions.all, [], "workers that left are gone");
    this.#timer?.cancel();
    await Promise.all(this.members.map(({ dispatcher }) => dispatcher.shutdown()));
    await this.clock.advance(1000);
    assert.equal(this.clock.timerCount, 0, "no timer is left");
  }
}
