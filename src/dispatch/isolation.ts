import type { Clock, Timer } from "../base/clock.ts";
import type { Attempt, StartCare } from "./attempt.ts";
import type { DomainPools } from "./domain-pools.ts";
import { ReactionSlots, suspectLosses } from "./reaction-slots.ts";

/** Time for which an attempt is young. An older attempt has shown that it does not kill its process right away. */
const youthMs = 2000;

/**
 * Time after which a running suspect is no longer isolated. A suspect may depend on attempts that wait for the end of its
 * isolation, so isolation must end by itself.
 */
const isolationMsMax = 60_000;

/** The maximum time for which a suspect stays isolated after its end, until that end is durable. */
const endingMsMax = 2000;

/**
 * Decides which attempts and which recorded reactions of workflow code may run beside each other in this process: an
 * attempt or reaction that kills the process shall not count as a loss of others.
 *
 * - No suspect attempt starts beside another that has run for less than a minute. The suspect starts only when all
 *   careful attempts have been running for a while, and no careful attempt starts beside it. A suspect on its last try
 *   starts only when no attempt is young, and nothing else starts while it is young itself.
 * - No suspect attempt starts while a recorded reaction runs or waits. Beside a suspect attempt no reaction starts
 *   whose instance was lost before; beside one on its last try no recorded reaction starts. Both restrictions end after
 *   a minute.
 * - A suspect reaction starts only when no suspect attempt and no young careful attempt runs. No attempt starts beside
 *   the reaction, which has its slot for two seconds at most.
 *
 * An attempt on a remote worker dies with that worker, so reactions do not wait for such attempts. The worker of an attempt
 * is chosen only when the attempt starts, so suspect attempts wait for reactions on whichever worker they will run.
 */
export class Isolation {
  readonly reactionSlots: ReactionSlots;
  readonly #clock: Clock;
  readonly #pools: DomainPools;
  readonly #running: ReadonlySet<Attempt>;
  readonly #wake: () => void;
  #suspect: Attempt | undefined;
  /** Suspects that have ended, but whose end is not durable yet: if the process dies now, they count as lost. */
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

  /** Called when an attempt has ended. Another suspect may still run, because it was adopted. */
  onEnded(attempt: Attempt): void {
    if (this.#ending.has(attempt)) return;
    if (this.#suspect === attempt) this.#suspect = [...this.#running].findLast((other) => other.isSuspect);
    this.reactionSlots.recheck();
  }

  /** Keeps a suspect that ends isolated until the returned function is called, which means that its end is durable. */
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

  /** The suspect that other starts have to wait for, if any. */
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
   * True if plain attempts must wait: an attempt on its last try is young, or is next and waits until no running
   * attempt is young; or a suspect reaction runs.
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

  /** Arms a timer that wakes the dispatcher, if attempts wait for running ones to be young no longer. */
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

/** Counts the age from the slot if the job was not called yet, because it may be waiting for a reaction. */
function isYounger({ jobStartedAt, startedAt }: Attempt, ms: number, now: number): boolean {
  const age = now - (jobStartedAt ?? startedAt);
  return age >= 0 && age < ms;
}
