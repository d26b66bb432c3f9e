import type { Clock, Timer } from "../base/clock.ts";
import type { Attempt, Care } from "./attempt.ts";
import type { DomainPools } from "./domain-pools.ts";

/** A run this old has shown that it does not kill its process as soon as it starts. */
const youthMs = 2000;

/**
 * A suspect that has run for this long is isolated no longer. What waits for it may be what it waits for itself, so isolation
 * must end by itself.
 */
const isolationMsMax = 60_000;

/**
 * Which attempts may start beside which, so that one that kills its process does not do it at the expense of others.
 *
 * No suspect is started beside another that has run for less than a minute. It starts among no careful runs but those that have been running for a while,
 * and no careful run starts beside it. One on its last chance starts among no young runs at all, and has its own first
 * moments to itself.
 */
export class Isolation {
  readonly #clock: Clock;
  readonly #pools: DomainPools;
  readonly #running: ReadonlySet<Attempt>;
  readonly #wake: () => void;
  #suspect: Attempt | undefined;
  #timer: Timer | undefined;

  constructor(parts: { clock: Clock; pools: DomainPools; running: ReadonlySet<Attempt>; wake: () => void }) {
    this.#clock = parts.clock;
    this.#pools = parts.pools;
    this.#running = parts.running;
    this.#wake = parts.wake;
  }

  started(attempt: Attempt): void {
    if (attempt.isSuspect) this.#suspect = attempt;
  }

  /** It runs no more. One that was adopted may have come to run beside another. */
  ended(attempt: Attempt): void {
    if (this.#suspect === attempt) this.#suspect = [...this.#running].findLast((other) => other.isSuspect);
  }

  /** The suspect that others wait for, if there is one. */
  isolated(now: number): Attempt | undefined {
    const startedAt = this.#suspect?.jobStartedAt;
    return startedAt !== undefined && now - startedAt >= isolationMsMax ? undefined : this.#suspect;
  }

  allows(care: Care, now: number): boolean {
    if (care === "plain") return !this.isQuiet(now);
    if (this.isolated(now) !== undefined) return false;
    if (care === "careful") return true;
    const young = [...this.#running].filter((attempt) => isYoung(attempt, now));
    return care === "last" ? young.length === 0 : !young.some((attempt) => attempt.care === "careful");
  }

  /** One on its last chance has just started; or is next, and waits for those that run to be no longer young. */
  isQuiet(now: number): boolean {
    const isolated = this.isolated(now);
    if (isolated !== undefined) return isolated.care === "last" && isYoung(isolated, now);
    return this.#pools.hasNext("last") && !this.#pools.hasNext("careful") && !this.#pools.hasNext("suspect");
  }

  /** What waits for others to grow older is looked at again in a while. */
  awaitAge(): void {
    if (this.#timer !== undefined || this.#running.size === 0) return;
    const waits = (care: Care): boolean => this.#pools.hasNext(care);
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
