import type { Clock } from "../base/clock.ts";
import type { Attempt } from "./attempt.ts";
import { executionOf } from "./attempt-listeners.ts";
import type { AttemptTable } from "./attempt-table.ts";
import type { DispatcherDrains } from "./dispatcher-drains.ts";
import type { DispatcherOptions, RunningRun, WaitingRun } from "./dispatcher-options.ts";
import type { DomainOverview, DomainStatus } from "./domain-pool.ts";
import type { DomainPools } from "./domain-pools.ts";
import type { Isolation } from "./isolation.ts";
import type { RunningAttempts } from "./running-attempts.ts";
import type { StartLoop } from "./start-loop.ts";
import type { TaskProgress } from "./task-progress.ts";
import type { UnsettledJobs } from "./unsettled-jobs.ts";
import { countsOthers, suspectFor, type TaskWait, waits } from "./wait-reason.ts";
import { type ConnectedOverview, isConnected, type Worker, type WorkerConnection } from "./worker.ts";
import type { WorkerRing } from "./worker-ring.ts";
import type { WorkerSelector } from "./worker-selector.ts";

export interface DispatcherStatusParts {
  readonly clock: Clock;
  readonly table: AttemptTable;
  readonly pools: DomainPools;
  readonly workers: WorkerRing;
  readonly isolation: Isolation;
  readonly drains: DispatcherDrains;
  readonly unsettled: UnsettledJobs;
  readonly loop: StartLoop;
  readonly running: RunningAttempts;
  readonly mayStart: () => boolean;
  readonly hasElsewhere: DispatcherOptions["hasElsewhere"];
}

/** What waits and runs in a dispatcher, where and why. Changes nothing. */
export class DispatcherStatus {
  readonly #parts: DispatcherStatusParts;
  readonly #table: AttemptTable;

  constructor(parts: DispatcherStatusParts) {
    this.#parts = parts;
    this.#table = parts.table;
  }

  // Domains and workers

  hasDomain(domain: string): boolean {
    return this.#parts.pools.has(domain);
  }

  /** DOMAIN_UNKNOWN. */
  domainStatus(domain: string): DomainStatus {
    const pool = this.#parts.pools.getDeclared(domain);
    return { running: pool.slots.size, size: pool.size };
  }

  /** All declared domains, the highest priority first. */
  listDomains(): DomainOverview[] {
    return this.#parts.pools.all.map((pool) => pool.overview());
  }

  /** The slots of the embedded worker and of all connected workers. */
  get poolSize(): number {
    return this.#parts.pools.size;
  }

  /** The slots of all connected workers. */
  get workerSlots(): number {
    return this.#parts.pools.size - this.#parts.pools.ownSize;
  }

  /** The connected workers, and how many attempts each runs for this process. */
  listConnected(): ConnectedOverview[] {
    const running = [...this.#table.onRemoteWorkers];
    return this.#parts.workers.connected.map((worker) => ({
      worker,
      runningTasks: running.filter((attempt) => attempt.worker === worker).length,
    }));
  }

  /** The names of the workers of this process that would run such an attempt, now or when they have a free slot. */
  listEligible(selector: WorkerSelector): string[] {
    return this.#parts.drains.isDraining ? [] : this.#parts.workers.listEligible(selector);
  }

  // Attempts

  get waitingCount(): number {
    return this.#table.waitingCount;
  }

  get runningCount(): number {
    return this.#table.running.size;
  }

  /** The start of the attempt that has been running longest. */
  get oldestRunningAt(): number | undefined {
    let oldest: number | undefined;
    for (const { startedAt } of this.#table.running) {
      if (oldest === undefined || startedAt < oldest) oldest = startedAt;
    }
    return oldest;
  }

  /** The number of reports that came after a timeout or an abort, or came twice. */
  get lateReports(): number {
    return this.#parts.running.lateReports;
  }

  /** The number of jobs that were timed out or aborted and have not settled. */
  get abandonedCount(): number {
    return this.#parts.unsettled.abandoned().length;
  }

  /** Waiting attempts in order of arrival, which is not the order they will start in. Reservations are not listed. */
  listWaiting(): WaitingRun[] {
    const waiting = [...this.#table.byId.values()].filter(({ state, run }) => {
      return state !== "running" && run.awaitsGrant !== true;
    });
    waiting.sort((a, b) => a.arrival - b.arrival);
    return waiting.map((attempt) => ({
      run: attempt.run,
      queuedAt: attempt.queuedAt,
      wait: this.#reasonToWait(attempt),
    }));
  }

  listRunning(): RunningRun[] {
    const attempts = [...this.#table.running].filter(({ run }) => run.awaitsGrant !== true);
    return attempts.map((attempt) => {
      const { run, progress } = attempt;
      return { run, ...executionOf(attempt), ...(progress !== undefined && { progress }) };
    });
  }

  isRunning(attemptId: string): boolean {
    return this.#table.getRunning(attemptId) !== undefined;
  }

  isRunningOn(attemptId: string, worker: Worker): boolean {
    return this.#table.getRunning(attemptId)?.worker === worker;
  }

  /** True if it runs here on a reachable worker. An unreachable one may be connected to another member by now. */
  isReachable(attemptId: string): boolean {
    const worker = this.#table.getRunning(attemptId)?.worker;
    return worker !== undefined && (!isConnected(worker) || worker.isReachable);
  }

  /** The connection of the remote worker that runs it. Undefined if no remote worker runs it here. */
  connectionOf(attemptId: string): WorkerConnection | undefined {
    return this.#table.getRunning(attemptId)?.remoteWorker?.connection;
  }

  /** The progress of an attempt that runs here; undefined if its job has reported none. */
  progressOf(attemptId: string): TaskProgress | undefined {
    return this.#table.getRunning(attemptId)?.progress;
  }

  /** The details of the last heartbeat of an attempt that runs here: JSON text. */
  heartbeatOf(attemptId: string): string | undefined {
    return this.#table.getRunning(attemptId)?.heartbeat?.details;
  }

  /** The reason why it waits; undefined if it runs, or is not here. */
  waitOf(attemptId: string): TaskWait | undefined {
    const attempt = this.#table.get(attemptId);
    return attempt === undefined || attempt.state === "running" ? undefined : this.#reasonToWait(attempt);
  }

  #reasonToWait(attempt: Attempt): TaskWait {
    const { state, run, care } = attempt;
    const { pools, workers, isolation, clock } = this.#parts;
    const pool = pools.of(run.domain);
    const absent = workers.reasonAbsent(run);
    if (state === "placing") return waits.placing;
    if (absent !== undefined) return this.#parts.hasElsewhere?.(run) === true ? waits.freeWorker(run) : absent;
    if (!pools.has(run.domain)) return waits.noDomain(run.domain);
    if (pool.size === 0) return waits.noSlots(pool.overview());
    const halted = this.#reasonToHalt();
    if (halted !== undefined) return waits.engine(halted);
    if (state === "unassigned") return waits.freeWorker(run);
    const now = clock.now();
    const suspect = isolation.isolatedSuspect(now);
    if (care !== "plain" && suspect !== undefined)
      return waits.suspect(suspectFor(run, suspect.run), run.interruptions);
    if (!pool.isFull && (care !== "plain" || isolation.isQuiet(now))) return waits.isolation;
    const isPoolFull = run.domain === "default" || !pool.isFull;
    const wait = waits.freeSlot(isPoolFull ? "slot" : "domain", pool.overview());
    return countsOthers(run) ? { ...wait, slots: undefined } : wait;
  }

  /** Completes the phrase "waits for"; undefined if this process starts attempts. */
  #reasonToHalt(): string | undefined {
    const { drains, loop, mayStart } = this.#parts;
    if (drains.isDraining) return "another start: this process is being drained";
    if (loop.isPaused) return "the engine, which has stopped taking work";
    return mayStart() ? undefined : "the lease of this member, which has lapsed";
  }
}
