import { assert } from "../base/assert.ts";
import type { Clock } from "../base/clock.ts";
import type { Attempt } from "./attempt.ts";
import { type AttemptClass, classKey } from "./attempt-class.ts";
import type { DomainPools } from "./domain-pools.ts";
import { goesBefore } from "./task-queue.ts";
import type { TaskRun } from "./task-run.ts";
import type { UnassignedAttempts } from "./unassigned-attempts.ts";
import type { WorkerRing } from "./worker-ring.ts";
import { selectorKey, type WorkerSelector } from "./worker-selector.ts";

export interface SlotExchangeParts {
  readonly clock: Clock;
  readonly attempts: Map<string, Attempt>;
  readonly pools: DomainPools;
  readonly unassigned: UnassignedAttempts;
  readonly running: ReadonlySet<Attempt>;
  readonly workers: WorkerRing;
}

/** The waiting attempts of a class. */
export interface ClassDemand {
  readonly class: AttemptClass;
  readonly count: number;
  /** Place of the best of them in the order of a domain. */
  readonly rank: number;
  readonly successors: number;
  /** The longest time that one of them has waited. */
  readonly waitedMs: number;
}

/** An attempt whose start on another member is being made durable. */
export interface PlacingAttempt {
  readonly run: TaskRun;
  readonly startedAt: number;
  /** False once the attempt was aborted, or its shard moves. */
  readonly isWanted: boolean;
  /** Removes the attempt from this process. */
  finish(): void;
}

/**
 * Part of the dispatcher through which members use each other's slots: attempts that wait here are placed on slots of
 * others, and reservations that hold a slot here are filled with attempts of others.
 *
 * An attempt that is being placed is in the state `placing`: it is in no queue and takes no slot here.
 */
export class SlotExchange {
  readonly #clock: Clock;
  readonly #attempts: Map<string, Attempt>;
  readonly #pools: DomainPools;
  readonly #unassigned: UnassignedAttempts;
  readonly #running: ReadonlySet<Attempt>;
  readonly #workers: WorkerRing;

  constructor(parts: SlotExchangeParts) {
    this.#clock = parts.clock;
    this.#attempts = parts.attempts;
    this.#pools = parts.pools;
    this.#unassigned = parts.unassigned;
    this.#running = parts.running;
    this.#workers = parts.workers;
  }

  /** The slots of this process and of its remote workers, and how many of them are free. */
  get slots(): { slots: number; free: number } {
    const slots = this.#pools.size;
    return { slots, free: Math.max(0, slots - this.#running.size) };
  }

  /** True if a worker here may run such attempts, whether it has a free slot or not. */
  mayRun(selector: WorkerSelector): boolean {
    return this.#workers.reasonAbsent(selector) === undefined;
  }

  /** The attempts that other members may run and that have waited for that long, by class. */
  demand(waitedMsMin: number): ClassDemand[] {
    const now = this.#clock.now();
    const byClass = new Map<string, ClassDemand>();
    for (const attempt of this.#attempts.values()) {
      const { run, state, queuedAt, care } = attempt;
      const waitedMs = now - queuedAt;
      if (run.travels !== true || (state !== "queued" && state !== "unassigned") || waitedMs < waitedMsMin) continue;
      const { job, placement, domain, rank, successors } = run;
      const own: AttemptClass = { job, ...(placement && { placement }), domain, care };
      const key = classKey(own);
      const before = byClass.get(key);
      const best = before === undefined || isBetter(run, before) ? { rank, successors } : before;
      byClass.set(key, {
        class: before?.class ?? own,
        count: (before?.count ?? 0) + 1,
        rank: best.rank,
        successors: best.successors,
        waitedMs: Math.max(before?.waitedMs ?? 0, waitedMs),
      });
    }
    return [...byClass.values()];
  }

  /** Takes the best waiting attempt of the class out of its queue, and notifies its listener of the start on that worker. */
  place(wanted: AttemptClass, worker: string): PlacingAttempt | undefined {
    const attempt = this.#takeBest(wanted);
    if (attempt === undefined) return undefined;
    const attempts = this.#attempts;
    const { run } = attempt;
    const startedAt = this.#clock.now();
    attempt.startedAt = startedAt;
    run.listener.onStarted(run, { worker, startedAt });
    return {
      run,
      startedAt,
      get isWanted() {
        return attempt.state === "placing";
      },
      finish: () => {
        if (attempt.state === "placing") attempts.delete(run.attemptId);
        attempt.state = "over";
      },
    };
  }

  #takeBest(wanted: AttemptClass): Attempt | undefined {
    const key = selectorKey(wanted);
    const isOfClass = ({ run }: Attempt): boolean => run.travels === true && selectorKey(run) === key;
    const pool = this.#pools.of(wanted.domain);
    const queued = pool.findBest(wanted.care, isOfClass);
    const unassigned = this.#unassigned.findBest(wanted, ({ run }) => run.travels === true);
    if (queued === undefined && unassigned === undefined) return undefined;
    if (unassigned === undefined || (queued !== undefined && goesBefore(queued, unassigned))) {
      if (queued !== undefined) pool.remove(queued);
    } else this.#unassigned.remove(unassigned);
    const taken = queued?.state === "over" ? queued : unassigned;
    if (taken !== undefined) taken.state = "placing";
    return taken;
  }

  /** False if the reservation has no slot, or the attempt is here already. */
  mayFill(ticket: string, attemptId: string): boolean {
    return this.#attempts.get(ticket)?.state === "running" && !this.#attempts.has(attemptId);
  }

  /** Replaces a reservation, which holds a slot here, by the attempt that was granted (`mayFill`). */
  fill(ticket: string, run: TaskRun, startedAt: number): void {
    const { attemptId } = run;
    const attempt = this.#attempts.get(ticket);
    assert(attempt !== undefined && this.mayFill(ticket, attemptId), "a reservation that is filled holds a slot");
    const { slots } = this.#pools.of(run.domain);
    this.#attempts.delete(ticket);
    this.#attempts.set(attemptId, attempt);
    slots.delete(ticket);
    slots.add(attemptId);
    attempt.remoteWorker?.forget(ticket);
    attempt.remoteWorker?.reserve(attemptId);
    attempt.run = run;
    attempt.startedAt = startedAt;
  }
}

function isBetter(run: TaskRun, { rank, successors }: ClassDemand): boolean {
  return run.rank !== rank ? run.rank < rank : run.successors > successors;
}
