import type { Event } from "../../../src/kernel/event.ts";
import { shardOfKey } from "../../../src/stores/instance-key.ts";
import { epochMs } from "../clock.ts";
import type { Evidence, LifeRecord } from "../evidence.ts";
import type { Checker } from "./checker.ts";
import { commitHistoryOf, type InstanceCommits, type TurnRecord } from "./commit-history.ts";
import { clocksOf } from "./clocks.ts";

/** The time within which an undisturbed owner handles a due time, including reads and writes. */
export const promptMs = 4000;

/** The maximum backoff of calls and commits after a fault of the store, several of which may follow each other. */
const recoveryMs = 12_000;

/** Additional time if the store fails occasionally throughout the run. */
const roughStoreMs = 12_000;

/** The polling interval of an engine that notices set clocks and suspended machines, which timers do not. */
const clockChangeMs = 60_000;

/** The maximum time that code whose process crashed during a reaction waits for suspect attempts. */
const isolationMs = 60_000;

/** The maximum rate difference of the monotonic clocks that measure a wait. */
const driftShare = 0.11;

/**
 * The owner of a shard handles timers, retries and deadlines in time: counted from when they were due, or from its
 * claim if that was later, without the time in which it was frozen or cut off from the store. A wait that restarts when
 * a shard is opened is late by the time that had passed.
 */
export const checkLateness: Checker = (evidence) =>
  [...commitHistoryOf(evidence).instances.values()].flatMap((instance) => new Waits(evidence, instance).late);

interface Wait {
  /** The due time by the wall clock of the member that set it. */
  readonly dueAt: number;
  readonly setAt: number;
}

class Waits {
  readonly late: string[] = [];
  readonly #evidence: Evidence;
  readonly #instance: InstanceCommits;
  readonly #timers = new Map<number, Wait>();
  readonly #retries = new Map<number, Wait>();
  #deadline: Wait | undefined;
  /** A time that passed while the instance was paused counts from the resume. */
  #resumedAt = 0;
  #isPaused = false;
  /** The start of the recorded reaction. */
  #losses = 0;

  constructor(evidence: Evidence, instance: InstanceCommits) {
    this.#evidence = evidence;
    this.#instance = instance;
    for (const turn of instance.turns) for (const event of turn.events) this.#follow(event, turn);
  }

  #follow(event: Event, turn: TurnRecord): void {
    const setAt = turn.landed.at;
    if (event.type === "InstanceTimedOut") return this.#timeOut(turn);
    if ("deadline" in event && event.deadline !== undefined) this.#deadline = { dueAt: event.deadline, setAt };
    switch (event.type) {
      case "InstanceContinued":
        this.#timers.clear();
        this.#retries.clear();
        return;
      case "InstancePaused":
        this.#isPaused = true;
        return;
      case "InstanceResumed":
        this.#isPaused = false;
        this.#resumedAt = turn.landed.at;
        return;
      case "ReactionStarted":
        this.#losses = event.losses;
        return;
      case "ReactionEnded":
        this.#losses = 0;
        return;
      case "TimerSet":
        return void this.#timers.set(event.timer, { dueAt: event.dueAt, setAt });
      case "TaskFailed":
        if (event.retryAt !== undefined) this.#retries.set(event.task, { dueAt: event.retryAt, setAt });
        return;
      case "TimerFired":
        return this.#meet(`timer ${event.timer}`, this.#timers.get(event.timer), turn);
      case "RetriesDue":
        for (const task of event.tasks) this.#meet(`the retry of task ${task}`, this.#retries.get(task), turn);
        return;
      case "InstanceEnded":
        if (event.reason?.includes("did not end within its timeout")) this.#timeOut(turn);
        return;
      default:
    }
  }

  /** Checks the timeout; the end of the compensations that follow is not checked. */
  #timeOut(turn: TurnRecord): void {
    this.#meet("its timeout", this.#deadline, turn);
    this.#deadline = undefined;
  }

  #meet(what: string, wait: Wait | undefined, turn: TurnRecord): void {
    const life = this.#evidence.lives[turn.life - 1];
    if (wait === undefined || life === undefined || this.#isPaused) return;
    const dueAt = wait.dueAt - epochMs - clocksOf(this.#evidence).offsetAt(life.machine, turn.landed.at);
    const claimedAt = this.#claimedAt(turn);
    if (claimedAt === undefined) return;
    const from = Math.max(dueAt, wait.setAt, claimedAt, this.#resumedAt);
    const lateMs = turn.landed.at - from - this.#allowedMs(life, wait, from, turn.landed.at);
    if (lateMs > 0) this.late.push(`${this.#instance.id}: ${what} came ${lateMs.toFixed(0)} ms too late`);
  }

  /** The process that wrote the turn. */
  #claimedAt({ life, landed }: TurnRecord): number | undefined {
    const shard = shardOfKey(this.#instance.key);
    const isSuch = (claim: Evidence["claims"][number]): boolean =>
      claim.shard === shard && claim.life === life && claim.order < landed.order;
    return this.#evidence.claims.findLast(isSuch)?.at;
  }

  #hasClockChanged({ machine, freezes }: LifeRecord, from: number, to: number): boolean {
    const isNear = (at: number): boolean => at > from - clockChangeMs && at <= to;
    const isSet = this.#evidence.clockSettings.some((setting) => setting.machine === machine && isNear(setting.at));
    return isSet || freezes.some(({ kind, to: end }) => kind === "suspended" && isNear(end?.at ?? to));
  }

  #allowedMs(life: LifeRecord, { setAt }: Wait, from: number, to: number): number {
    const { setting, storeOutages } = this.#evidence;
    const isWithin = (start: number, end: number): boolean => start < to && end > from - recoveryMs;
    const problems = storeOutages.filter((each) => each.machine === life.machine && isWithin(each.from, each.to));
    const freezes = life.freezes.filter((freeze) => isWithin(freeze.from.at, freeze.to?.at ?? to));
    const stretches = [
      ...problems.map((each) => [each.from, each.to] as const),
      ...freezes.map((freeze) => [freeze.from.at, freeze.to?.at ?? to] as const),
    ];
    const troubledMs = stretches.reduce((sum, [start, end]) => sum + lengthWithin(start, end, from, to), 0);
    return (
      promptMs +
      troubledMs +
      (stretches.length > 0 ? recoveryMs : 0) +
      (setting.isStoreRough ? roughStoreMs : 0) +
      (this.#hasClockChanged(life, from, to) ? clockChangeMs : 0) +
      (this.#losses > 0 ? isolationMs : 0) +
      driftShare * (to - setAt) +
      clocksOf(this.#evidence).spread(setAt, to)
    );
  }
}

function lengthWithin(start: number, end: number, from: number, to: number): number {
  return Math.max(0, Math.min(end, to) - Math.max(start, from));
}
