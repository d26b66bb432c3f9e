import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/logger.ts";
import { localName } from "../base/namespace.ts";
import type { Attempt } from "./attempt.ts";
import type { AttemptTable } from "./attempt-table.ts";
import type { DispatcherDrains } from "./dispatcher-drains.ts";
import type { DispatcherOptions } from "./dispatcher-options.ts";
import type { DomainPools } from "./domain-pools.ts";
import type { Isolation } from "./isolation.ts";
import type { UnassignedAttempts } from "./unassigned-attempts.ts";
import type { Worker } from "./worker.ts";
import type { WorkerRing } from "./worker-ring.ts";
import type { WorkerSelector } from "./worker-selector.ts";

/** Time in one tick after which the loop yields to the event loop. */
const loopShareMs = 5;

export interface StartLoopParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly table: AttemptTable;
  readonly pools: DomainPools;
  readonly workers: WorkerRing;
  readonly unassigned: UnassignedAttempts;
  readonly isolation: Isolation;
  readonly drains: DispatcherDrains;
  readonly mayStart: () => boolean;
  readonly start: (attempt: Attempt, worker: Worker, now: number) => void;
  /** Called at the end of a tick in which attempts started. */
  readonly onTickEnded: () => void;
  readonly onDemand: DispatcherOptions["onDemand"];
  readonly onBacklog: DispatcherOptions["onBacklog"];
}

/**
 * Decides when attempts start: takes the next one in order, and a worker for it, as long as slots are free. It runs in a
 * microtask of its own, so nothing starts inside a caller's `enqueue`.
 */
export class StartLoop {
  readonly #parts: StartLoopParts;
  #isQueued = false;
  #isPaused = false;
  #isStopped = false;
  /** A worker may have become free for an unassigned attempt. */
  #recallDue = false;
  #tickBeganAt: number | undefined;

  constructor(parts: StartLoopParts) {
    this.#parts = parts;
  }

  /** Starts nothing more until `resume`. */
  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    this.wake();
  }

  stop(): void {
    this.#isStopped = true;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Starts what may start, in a microtask. */
  wake(): void {
    if (this.#isQueued || this.#isPaused || this.#isStopped) return;
    this.#isQueued = true;
    queueMicrotask(this.#run);
  }

  /** Lets unassigned attempts look for a worker again when the loop runs next. */
  recallUnassigned(): void {
    this.#recallDue = true;
  }

  readonly #run = (): void => {
    this.#isQueued = false;
    if (this.#recallDue) this.#recall();
    this.#startAll();
    const { table, pools, onDemand, onBacklog } = this.#parts;
    if (table.waitingCount > 0) onBacklog?.();
    if (onDemand === undefined) return;
    for (const pool of pools.all) if (pool.declared && pool.takeShortage()) onDemand(pool.name);
  };

  /** Starts what may start. Jobs that end at once could keep this loop busy for ever, so it yields to the event loop. */
  #startAll(): void {
    const { clock, table, pools, isolation, workers } = this.#parts;
    while (this.#mayStartMore()) {
      const now = clock.now();
      if (this.#tickBeganAt !== undefined && now - this.#tickBeganAt > loopShareMs) return;
      const attempt = pools.take(now, isolation);
      if (attempt === undefined) return isolation.awaitAge();
      const worker = workers.choose(attempt.run, embeddedSlots(pools, table));
      if (worker === undefined) {
        this.#addUnassigned(attempt);
        continue;
      }
      if (this.#tickBeganAt === undefined) {
        this.#tickBeganAt = now;
        clock.soon(this.#endTick);
      }
      this.#parts.start(attempt, worker, now);
    }
  }

  #mayStartMore(): boolean {
    if (this.#isPaused || this.#isStopped || this.#parts.drains.isDraining) return false;
    return this.#parts.table.running.size < this.#parts.pools.size && this.#parts.mayStart();
  }

  readonly #endTick = (): void => {
    this.#tickBeganAt = undefined;
    this.#parts.onTickEnded();
    this.wake();
  };

  #addUnassigned(attempt: Attempt): void {
    const { unassigned, workers, logger, onBacklog } = this.#parts;
    const { job, taskName, placement } = attempt.run;
    const absent = unassigned.add(attempt) ? workers.reasonAbsent(attempt.run) : undefined;
    if (absent === undefined) return;
    const where = onBacklog === undefined ? "" : ", as far as this member knows; it asks the others";
    logger.warn({ job: localName(job), taskName, ...placement }, `tasks wait for ${absent.text}${where}`);
  }

  #recall(): void {
    this.#recallDue = false;
    const { clock, table, pools, workers, unassigned } = this.#parts;
    const slotsFor = (selector: WorkerSelector): number => workers.slotsFor(selector, embeddedSlots(pools, table));
    for (const attempt of unassigned.recall(clock.now(), slotsFor)) pools.of(attempt.run.domain).put(attempt);
  }
}

/** The free slots of the embedded worker, which uses its own part of the pool and no more. */
function embeddedSlots(pools: DomainPools, { running, onRemoteWorkers }: AttemptTable): number {
  return pools.ownSize - (running.size - onRemoteWorkers.size);
}
