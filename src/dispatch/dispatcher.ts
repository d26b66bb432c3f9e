import { assert } from "../base/assert.ts";
import type { Clock } from "../base/clock.ts";
import { EngineError } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { Attempt } from "./attempt.ts";
import type { AttemptReport } from "./attempt-report.ts";
import { AttemptTable } from "./attempt-table.ts";
import { DispatcherDrains } from "./dispatcher-drains.ts";
import type { DispatcherOptions, DomainDemand } from "./dispatcher-options.ts";
import { DispatcherStatus } from "./dispatcher-status.ts";
import type { DomainOptions } from "./domain-pool.ts";
import { DomainPools } from "./domain-pools.ts";
import { Isolation } from "./isolation.ts";
import type { ReactionSlots } from "./reaction-slots.ts";
import { RunningAttempts } from "./running-attempts.ts";
import { SlotExchange } from "./slot-exchange.ts";
import { StartLoop } from "./start-loop.ts";
import type { TaskRun } from "./task-run.ts";
import { UnassignedAttempts } from "./unassigned-attempts.ts";
import { UnsettledJobs } from "./unsettled-jobs.ts";
import type { ConnectedWorker, Worker, WorkerAnswer } from "./worker.ts";
import { WorkerRing } from "./worker-ring.ts";

export type { DispatcherOptions, DomainDemand, RunningRun, WaitingRun } from "./dispatcher-options.ts";
export type { DomainOptions, DomainOverview } from "./domain-pool.ts";

/**
 * Hands attempts to workers, as many at a time as there are slots, in the order of domains, ranks and arrival.
 *
 * The parts: `StartLoop` decides what starts when, `RunningAttempts` has what runs until its end, `DispatcherStatus` answers
 * questions, `SlotExchange` uses slots of other members, `DispatcherDrains` waits until nothing runs.
 *
 * Invariants:
 * - I1 The slots in use are exactly the attempts in state `running`: one set of ids per domain, changed by
 *   `RunningAttempts`, and by `SlotExchange` where a grant takes the place of its reservation. An attempt that is aborted on a remote worker leaves its slot to a placeholder until the worker
 *   has stopped it.
 * - I2 An attempt is in the table from enqueue until it is `over`, and is over once: later reports of the worker are
 *   counted and dropped. So its listener is notified of one end at most, and of none after an abort.
 * - I3 No attempt starts while its domain or the whole pool is full. After the pool shrinks, or attempts are adopted, more
 *   may run than fit; they keep running, and nothing starts until they fit.
 * - I4 No suspect starts beside another, nor where it could do harm (`Isolation`, which also knows the reactions of
 *   workflow code in this process).
 * - I5 Nothing starts inside a caller's `enqueue`: attempts that are enqueued together are ordered before the first starts.
 * - I6 The timeout counts from the job's own start, not from the wait for a slot or for `confirmStart`. No attempt times out
 *   while its remote worker is unreachable: the worker reconnects, or the attempt is lost with it.
 * - I7 No job is called while `mayStart` returns false, and none goes to a remote worker before its start is durable.
 * - I8 Only an attempt that was meant for a remote worker returns to the queue once its listener was notified of its start: the
 *   next owner of its instance looks for it on remote workers, but not on the embedded worker of another member.
 */
export class Dispatcher {
  /** Answers questions about what waits and runs here. */
  readonly status: DispatcherStatus;
  /** Places attempts on slots of other members, and their attempts on slots of this process. */
  readonly exchange: SlotExchange;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #embedded: Worker | undefined;
  readonly #limits: { readonly queueMax: number; readonly graceMs: number };
  readonly #onProgress: DispatcherOptions["onProgress"];

  readonly #table = new AttemptTable();
  readonly #unsettled = new UnsettledJobs();
  readonly #unassigned: UnassignedAttempts;
  readonly #workers: WorkerRing;
  readonly #pools: DomainPools;
  readonly #isolation: Isolation;
  readonly #drains: DispatcherDrains;
  readonly #loop: StartLoop;
  readonly #running: RunningAttempts;

  /** POOL_SIZE_INVALID, OPTION_INVALID. */
  constructor(options: DispatcherOptions) {
    const { clock, logger, agingMs, onDetached, onWorkerDrained, hasElsewhere, mayStart = always } = options;
    this.#clock = clock;
    this.#logger = logger;
    this.#embedded = options.worker;
    this.#limits = { queueMax: options.queueMax ?? 10_000, graceMs: options.graceMs ?? 5000 };
    this.#onProgress = options.onProgress;
    this.#unassigned = new UnassignedAttempts(agingMs);
    this.#workers = new WorkerRing(options.worker);
    this.#pools = poolsOf(options);
    const [table, pools, workers, unsettled] = [this.#table, this.#pools, this.#workers, this.#unsettled];
    const unassigned = this.#unassigned;
    const { byId: attempts, running: occupied } = table;
    const isolation = new Isolation({ clock, pools, running: occupied, wake: () => this.#loop.wake() });
    this.#isolation = isolation;
    const drains = new DispatcherDrains({ table, workers, onWorkerDrained });
    this.#drains = drains;
    const common = { clock, logger, table, pools, workers, isolation, drains, mayStart };
    this.#loop = new StartLoop({
      ...common,
      unassigned,
      start: (attempt, worker, now) => this.#running.start(attempt, worker, now),
      onTickEnded: () => this.#running.armTimeouts(),
      onDemand: options.onDemand,
      onBacklog: options.onBacklog,
    });
    const loop = this.#loop;
    const queue = (attempt: Attempt): void => this.#queue(attempt);
    this.#running = new RunningAttempts({ ...common, unsettled, loop, queue, onDetached });
    this.status = new DispatcherStatus({ ...common, unsettled, loop, running: this.#running, hasElsewhere });
    this.exchange = new SlotExchange({ clock, pools, attempts, unassigned, running: occupied, workers });
  }

  /** Queues an attempt of the engine; never refuses. Does nothing if the attempt is here already. */
  enqueue(run: TaskRun, waitedMs = 0): void {
    if (this.isShutDown || this.#table.has(run.attemptId)) return;
    this.#queue(this.#table.create(run, this.#clock.now() - waitedMs));
  }

  /** EXECUTOR_SHUT_DOWN, DOMAIN_UNKNOWN, QUEUE_FULL. */
  submit(run: TaskRun): void {
    if (this.isShutDown) throw new EngineError("EXECUTOR_SHUT_DOWN", "the executor is shut down and takes no tasks");
    this.#pools.getDeclared(run.domain);
    const { queueMax } = this.#limits;
    const { waitingCount } = this.#table;
    if (waitingCount >= queueMax) {
      const message = `the queue is full: ${waitingCount} tasks wait, at most ${queueMax} may`;
      throw new EngineError("QUEUE_FULL", message);
    }
    this.enqueue(run);
  }

  /** Removes attempts that have not started and notifies their listeners; started attempts keep running. */
  withdraw(attemptIds: Iterable<string>): void {
    for (const id of attemptIds) {
      const attempt = this.#table.get(id);
      if (attempt === undefined || this.#hasStarted(attempt)) continue;
      if (attempt.state === "running") this.#running.withdraw(attempt);
      else {
        this.#removeWaiting(attempt);
        this.#running.reportWithdrawn(attempt.run);
      }
    }
  }

  /** True if its job was called, or may have been: a remote worker may have the grant before this process knows. */
  #hasStarted(attempt: Attempt): boolean {
    if (attempt.state === "placing") return true;
    return (
      attempt.state === "running" && (attempt.jobStartedAt !== undefined || this.#table.onRemoteWorkers.has(attempt))
    );
  }

  /** Removes these attempts and aborts those that run. Their listeners are not notified. */
  abort(attemptIds: Iterable<string>): void {
    this.#abort(attemptIds, "the task was aborted");
  }

  /** Removes waiting attempts without notifying their listeners; running attempts stay. */
  drop(which: (run: TaskRun) => boolean): void {
    for (const attempt of this.#table.byId.values()) {
      if (attempt.state !== "running" && which(attempt.run)) this.#removeWaiting(attempt);
    }
  }

  /** Sets the number of slots of the embedded worker. POOL_SIZE_INVALID. */
  setPoolSize(size: number): void {
    this.#pools.resize(size);
    this.#loop.recallUnassigned();
    this.#loop.wake();
  }

  /** DOMAIN_UNKNOWN, POOL_SIZE_INVALID. */
  setDomainPoolSize(domain: string, size: number): void {
    this.#pools.resizeDomain(domain, size);
    this.#loop.wake();
  }

  /** Adds a domain, or changes its size and priority. POOL_SIZE_INVALID, OPTION_INVALID. */
  declareDomain(domain: string, options: DomainOptions): void {
    this.#pools.declare(domain, options);
    this.#loop.wake();
  }

  /** Sets how many attempts of a shared domain may run here. Lowering it aborts nothing. DOMAIN_UNKNOWN. */
  setQuota(domain: string, quota: number): void {
    this.#pools.setQuota(domain, quota);
    this.#loop.wake();
  }

  /** The demand for slots of a shared domain here. Unassigned attempts do not count as waiting. */
  demand(domain: string): DomainDemand {
    const { slots, waiting } = this.#pools.of(domain);
    // What waits beyond that runs on slots of other members, which need the domain's slots then.
    return { running: slots.size, waiting: Math.min(waiting, this.#pools.size) };
  }

  /** Called when workers have other jobs or slots than before. */
  onJobsChanged(): void {
    this.#pools.setWorkerSlots(this.#workers.slots);
    this.#loop.recallUnassigned();
    this.#loop.wake();
  }

  /** Starts nothing more until `resumeDispatch`; running attempts continue. */
  pauseDispatch(): void {
    this.#loop.pause();
  }

  resumeDispatch(): void {
    this.#loop.resume();
  }

  /** Starts nothing here any more. Resolves when all running attempts have ended. */
  drain(): Promise<void> {
    return this.#drains.drain();
  }

  get isDraining(): boolean {
    return this.#drains.isDraining;
  }

  /** Sends that remote worker nothing more. Resolves when its attempts for this process have ended; false if it is unknown. */
  drainWorker(address: string): Promise<boolean> {
    return this.#drains.drainWorker(address);
  }

  /** Called when `mayStart` may return something else than before. */
  onLeaseChanged(): void {
    this.#loop.wake();
  }

  // Remote workers

  /** Adds a remote worker, or notes that one is reachable again. */
  connect(worker: ConnectedWorker): void {
    if (this.isShutDown) return;
    this.#workers.add(worker);
    this.#running.rearmOverdue(worker);
    this.onJobsChanged();
  }

  /** Removes a remote worker; the attempts that it ran are lost. */
  disconnect(worker: ConnectedWorker): void {
    this.#workers.remove(worker);
    for (const attempt of this.#table.onRemoteWorkers) {
      if (attempt.worker !== worker) continue;
      if (attempt.jobStartedAt === undefined) this.#running.requeue(attempt, "the worker is gone");
      else this.#running.lose(attempt);
    }
    this.onJobsChanged();
  }

  /**
   * Adopts an attempt that already runs on a worker which has just connected. It takes its slot, even above the size, and is
   * followed like one that was started here; but if the worker returns it when it stops, its listener is notified that it was
   * withdrawn. Replaces the same attempt if it waits here. False if it runs on another worker, or this one is gone.
   */
  adopt(run: TaskRun, worker: ConnectedWorker, outcome: Promise<WorkerAnswer>, startedAt: number): boolean {
    if (!this.#workers.has(worker)) return false;
    const before = this.#table.get(run.attemptId);
    if (before?.state === "running") return before.worker === worker && this.rebind(run);
    const attempt = this.#table.create(run, this.#clock.now());
    if (!worker.follow(run.attemptId, attempt.abort)) return false;
    if (before !== undefined) this.#removeWaiting(before);
    this.#table.add(attempt);
    this.#running.adopt(attempt, worker, outcome, startedAt);
    return true;
  }

  /** Replaces the run of an attempt that runs here, because its instance was loaded again. False if it does not run here. */
  rebind(run: TaskRun): boolean {
    const attempt = this.#table.getRunning(run.attemptId);
    if (attempt === undefined) return false;
    assert(attempt.run.domain === run.domain, "an attempt stays in its domain");
    attempt.run = run;
    return true;
  }

  /**
   * Removes attempts on remote workers that another member hosts now; they keep running, and their listeners are not notified.
   * Attempts that wait, or run on the embedded worker, cannot be hosted elsewhere and stay.
   */
  detach(attemptIds: Iterable<string>): void {
    for (const id of attemptIds) {
      const attempt = this.#table.get(id);
      if (attempt !== undefined && this.#runsRemotely(attempt)) this.#running.detach(attempt);
    }
  }

  /**
   * Removes hosted attempts whose lease has expired: whether their owner still wants them is not known. Those on a remote
   * worker keep running, and their worker announces them again until an owner is found; the others are aborted. Listeners
   * are not notified.
   */
  giveUpExpired(attemptIds: Iterable<string>): void {
    for (const id of attemptIds) {
      const attempt = this.#table.get(id);
      if (attempt !== undefined && this.#runsRemotely(attempt)) this.#running.unfollow(attempt);
      else this.abort([id]);
    }
  }

  /** True if a remote worker has been sent the attempt. */
  #runsRemotely(attempt: Attempt): boolean {
    return attempt.jobStartedAt !== undefined && this.#table.onRemoteWorkers.has(attempt);
  }

  /**
   * Called when the lease has lapsed. Aborts the attempts on the embedded worker and reports them as lost. Disconnects the
   * remote workers, which announce their attempts to other members. Waiting attempts stay in the queue.
   */
  interruptAll(): void {
    const { running, onRemoteWorkers } = this.#table;
    for (const attempt of running) {
      if (!onRemoteWorkers.has(attempt)) this.#running.interrupt(attempt);
      else if (attempt.jobStartedAt === undefined) this.#running.requeue(attempt, "the lease has lapsed");
      else this.#running.detach(attempt);
    }
    void this.#disconnectWorkers();
  }

  /**
   * Empties the queue and aborts what runs, without notifying listeners. Remote workers are disconnected and keep their
   * attempts. Resolves when the jobs have settled, or after a grace period. EXECUTOR_SHUT_DOWN the second time.
   */
  async shutdown(): Promise<void> {
    if (this.isShutDown) throw new EngineError("EXECUTOR_SHUT_DOWN", "the executor has been shut down already");
    this.#loop.stop();
    this.#isolation.stop();
    for (const attempt of this.#table.onRemoteWorkers) this.#running.detach(attempt);
    const why = "the executor is shutting down";
    for (const attempt of this.#table.running) this.#running.stop(attempt, why);
    this.#abort([...this.#table.byId.keys()], why);
    await this.#disconnectWorkers();
    await this.#unsettled.whenSettled(this.#clock, this.#limits.graceMs);
    const tasks = this.#unsettled.abandoned().map(({ run }) => run.taskName);
    if (tasks.length > 0) this.#logger.warn({ tasks }, "tasks that ignored the signal to stop are left behind");
    await this.#embedded?.stop();
  }

  /** Notes the last report of a running job. */
  noteReport(attemptId: string, { progress, heartbeat }: AttemptReport): void {
    const attempt = this.#table.getRunning(attemptId);
    if (attempt === undefined) return;
    if (heartbeat !== undefined) attempt.heartbeat = { ...heartbeat, at: this.#clock.now() };
    if (progress === undefined) return;
    attempt.progress = progress;
    this.#onProgress?.(attempt.run, progress);
  }

  /** Ends an attempt whose job has sent no heartbeat in time. */
  timeOut(attemptId: string, error: EngineError): void {
    const attempt = this.#table.getRunning(attemptId);
    if (attempt !== undefined) this.#running.timeOut(attempt, error);
  }

  get isShutDown(): boolean {
    return this.#loop.isStopped;
  }

  /** The slots for recorded reactions of workflow code in this process. */
  get reactionSlots(): ReactionSlots {
    return this.#isolation.reactionSlots;
  }

  /** Takes a slot of its domain for an attempt that runs and is not followed here; the returned function frees it. */
  holdSlot(run: Pick<TaskRun, "attemptId" | "domain">): () => void {
    return this.#running.holdSlot(run);
  }

  #abort(attemptIds: Iterable<string>, why: string): void {
    for (const id of attemptIds) {
      const attempt = this.#table.get(id);
      if (attempt === undefined) continue;
      if (attempt.state === "running") this.#running.abort(attempt, why);
      else this.#removeWaiting(attempt);
    }
  }

  #queue(attempt: Attempt): void {
    this.#table.add(attempt);
    this.#pools.of(attempt.run.domain).put(attempt);
    this.#loop.wake();
  }

  #removeWaiting(attempt: Attempt): void {
    this.#table.byId.delete(attempt.run.attemptId);
    if (attempt.state === "placing") attempt.state = "over";
    else if (attempt.state === "unassigned") this.#unassigned.remove(attempt);
    else this.#pools.of(attempt.run.domain).remove(attempt);
  }

  /** Disconnects all remote workers; they connect to other members. */
  async #disconnectWorkers(): Promise<void> {
    const workers = [...this.#workers.connected];
    for (const worker of workers) this.#workers.remove(worker);
    this.onJobsChanged();
    await Promise.all(workers.map((worker) => worker.stop()));
  }
}

const always = (): boolean => true;

/** POOL_SIZE_INVALID, OPTION_INVALID. */
function poolsOf(options: DispatcherOptions): DomainPools {
  const { worker, poolSize = 10, agingMs, sharedDomains: isShared = false } = options;
  return new DomainPools({
    ...(worker === undefined ? {} : { poolSize }),
    poolSizeMax: options.poolSizeMax ?? defaultPoolSizeMax(options.cores ?? 1),
    domains: options.domains ?? {},
    isShared,
    ...(agingMs === undefined ? {} : { agingMs }),
  });
}

export function defaultPoolSizeMax(cores: number): number {
  return Math.max(10, 2 * cores);
}
