import type { Clock, Timer } from "../base/clock.ts";
import type { Attempt, StartCare } from "./attempt.ts";
import type { DomainPools } from "./domain-pools.ts";
import { ReactionSlots, suspectLosses } from "./reaction-slots.ts";

/** A run this old has shown that it does not kill its process as soon as it starts. */
const youthMs = 2000;

/**
 * A suspect that has run for this long is isolated no longer. What waits for it may be what it waits for itself, so isolation
 * must end by itself.
 */
const isolationMsMax = 60_000;

/** How long a suspect that has ended stays isolated at most, if it is not heard that its end is durable. */
const endingMsMax = 2000;

/**
 * Which attempts and which recorded reactions of workflow code may start beside which in this process, so that one that
 * kills it does not do so at the expense of others.
 *
 * - No suspect attempt starts beside another that has run for less than a minute. It starts among no careful attempts but
 *   those that have been running for a while, and no careful attempt starts beside it. One on its last chance starts among
 *   no young attempts at all, and has its own first moments to itself.
 * - No suspect attempt starts while a recorded reaction runs or waits. Beside a suspect attempt no reaction starts whose
 *   instance was lost before; beside one on its last chance no recorded reaction starts. After a minute they do.
 * - A suspect reaction starts among no suspect attempts and no young careful ones. No attempt starts beside it; it has its
 *   slot for two seconds at most.
 *
 * An attempt on a remote worker dies with that worker, so reactions do not wait for it. Where an attempt will run is not
 * known before it is next, so suspect attempts wait for reactions wherever they are to run.
 */
export class Isolation {
  readonly reactionSlots: ReactionSlots;
  readonly #clock: Clock;
  readonly #pools: DomainPools;
  readonly #running: ReadonlySet<Attempt>;
  readonly #wake: () => void;
  #suspect: Attempt | undefined;
  /** Suspects that have ended, but whose end is not durable: a process that dies now loses them. */
  readonly #ending = new Set<Attempt>();
  #timer: Timer | undefined;

  constructor(parts: { clock: Clock; pools: DomainPools; running: ReadonlySet<Attempt>; wake: () => void }) {
    const { clock, wake } = parts;
    this.#clock = clock;
    this.#pools = parts.pools;
    this.#running = parts.running;
    this.#wake = wake;
    const isBlocked = (losses: number): boolean => this.#blocksReaction(losses, clock.now());
    this.reactionSlots = new ReactionSlots({ clock, isBlocked, onFreed: wake });
  }

  onStarted(attempt: Attempt): void {
    if (attempt.isSuspect) this.#suspect = attempt;
  }

  /** It runs no more. One that was adopted may have come to run beside another. */
  onEnded(attempt: Attempt): void {
    if (this.#ending.has(attempt)) return;
    if (this.#suspect === attempt) this.#suspect = [...this.#running].findLast((other) => other.isSuspect);
    this.reactionSlots.recheck();
  }

  /** A suspect is about to end, and stays isolated until the function is called, because its end is durable. */
  awaitDurableEnd(attempt: Attempt): () => void {
    this.#ending.add(attempt);
    const settle = (): void => {
      if (!this.#ending.delete(attempt)) return;
      timer.cancel();
      this.onEnded(attempt);
      this.#wake();
    };
    const timer = this.#clock.after(endingMsMax, settle);
    return settle;
  }

  /** The suspect that others wait for, if there is one. */
  isolatedSuspect(now: number): Attempt | undefined {
    const startedAt = this.#suspect?.jobStartedAt;
    return startedAt !== undefined && now - startedAt >= isolationMsMax ? undefined : this.#suspect;
  }

  allows(care: StartCare, now: number): boolean {
    if (care === "plain") return !this.isQuiet(now);
    if (this.isolatedSuspect(now) !== undefined || this.reactionSlots.isSuspectRunning) return false;
    if (care === "careful") return true;
    if (!this.reactionSlots.isEmpty) return false;
    const young = [...this.#running].filter((attempt) => isYoung(attempt, now));
    return care === "last" ? young.length === 0 : !young.some((attempt) => attempt.care === "careful");
  }

  /**
   * One on its last chance has just started; or is next, and waits for those that run to be no longer young. Or a suspect
   * reaction runs.
   */
  isQuiet(now: number): boolean {
    if (this.reactionSlots.isSuspectRunning) return true;
    const isolated = this.isolatedSuspect(now);
    if (isolated !== undefined) return isolated.care === "last" && isYoung(isolated, now);
    if (!this.#pools.hasNext("last") || !this.reactionSlots.isEmpty) return false;
    return !this.#pools.hasNext("careful") && !this.#pools.hasNext("suspect");
  }

  #blocksReaction(losses: number, now: number): boolean {
    return [...this.#running, ...this.#ending].some((attempt) => {
      if (attempt.worker?.isRemote === true) return false;
      const isIsolated = attempt.care === "last" || (attempt.care === "suspect" && losses > 0);
      if (isIsolated && isYounger(attempt, isolationMsMax, now)) return true;
      return losses >= suspectLosses && attempt.care === "careful" && isYounger(attempt, youthMs, now);
    });
  }

  /** What waits for others to grow older is looked at again in a while. */
  awaitAge(): void {
    if (this.#timer !== undefined || this.#running.size === 0) return;
    const waits = (care: StartCare): boolean => this.#pools.hasNext(care);
    const isWaiting =
      this.#suspect?.care === "last" ||
      waits("suspect") ||
      waits("last") ||
      (this.#suspect !== undefined && waits("careful"));
    if (!isWaiting) return;
    this.#timer = this.#clock.after(youthMs / 4, () => {
      this.#timer = undefined;
      this.#wake();
    });
  }

  stop(): void {
    this.#timer?.cancel();
  }
}

function isYoung({ jobStartedAt }: Attempt, now: number): boolean {
  return jobStartedAt === undefined || now - jobStartedAt < youthMs;
}

/** Counted from when it was given its slot: what it waits for before its job is called may be a reaction. */
function isYounger({ jobStartedAt, startedAt }: Attempt, ms: number, now: number): boolean {
  const age = now - (jobStartedAt ?? startedAt);
  return age >= 0 && age < ms;
}
