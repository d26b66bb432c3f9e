import type { Event } from "../../../src/kernel/event.ts";
import { shardOfKey } from "../../../src/stores/instance-key.ts";
import { epochMs } from "../clock.ts";
import type { Evidence, LifeRecord } from "../evidence.ts";
import type { Checker } from "./checker.ts";
import { commitHistoryOf, type InstanceCommits, type TurnRecord } from "./commit-history.ts";
import { clocksOf } from "./clocks.ts";

/** A due time is met within this time by an owner that nothing keeps from it; reading and writing included. */
export const promptMs = 4000;

/** After a fault of the store, calls and commits are tried again after a while: up to so long, and some of them in a row. */
const recoveryMs = 12_000;

/** Of a store that fails now and then throughout the run. */
const roughStoreMs = 12_000;

/** Timers do not see that a clock is set, or that the machine was suspended: an engine looks again after so long. */
const clockChangeMs = 60_000;

/** So long does code whose process died while it reacted wait for attempts that are suspects. */
const isolationMs = 60_000;

/** Monotonic clocks differ by so much, and a wait is measured with them. */
const driftShare = 0.11;

/**
 * Timers, retries and deadlines are met on time by whoever owns the shard: counted from when they were due, or from its
 * claim if that was later, and without the time in which it was frozen or kept from the store. A wait that starts over
 * when a shard is opened is late by what had passed of it.
 */
export const checkLateness: Checker = (evidence) =>
  [...commitHistoryOf(evidence).instances.values()].flatMap((instance) => new Waits(evidence, instance).late);

interface Wait {
  /** By the wall clock of whoever set it. */
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
  /** What fell due while it was paused is met when it is resumed. */
  #resumedAt = 0;
  #isPaused = false;
  /** Of the reaction on record. */
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

  /** How long code compensates after it is not looked at. */
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

  /** By the life that wrote the turn. */
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
