import { assert } from "../base/assert.ts";
import type { Clock } from "../base/clock.ts";
import { EngineError } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import { localName } from "../base/namespace.ts";
import type { Outcome } from "../kernel/input.ts";
import { Attempt } from "./attempt.ts";
import type { AttemptReport } from "./attempt-report.ts";
import type { DispatcherOptions, DomainDemand, RunningRun, WaitingRun } from "./dispatcher-options.ts";
import type { DomainOptions, DomainOverview, DomainStatus } from "./domain-pool.ts";
import { DomainPools } from "./domain-pools.ts";
import { Isolation } from "./isolation.ts";
import { UnassignedAttempts } from "./unassigned-attempts.ts";
import type { ReactionSlots } from "./reaction-slots.ts";
import { SlotExchange } from "./slot-exchange.ts";
import type { TaskProgress } from "./task-progress.ts";
import type { TaskRun } from "./task-run.ts";
import { UnsettledJobs } from "./unsettled-jobs.ts";
import { countsOthers, suspectFor, type TaskWait, waits } from "./wait-reason.ts";
import {
  type ConnectedOverview,
  type ConnectedWorker,
  isConnected,
  type Worker,
  type WorkerAnswer,
  type WorkerConnection,
} from "./worker.ts";
import { WorkerRing } from "./worker-ring.ts";
import type { WorkerSelector } from "./worker-selector.ts";

export type { DispatcherOptions, DomainDemand, RunningRun, WaitingRun } from "./dispatcher-options.ts";
export type { DomainOptions, DomainOverview, DomainStatus } from "./domain-pool.ts";

/**
 * Hands attempts to workers, as many at a time as there are slots, in the order of domains, ranks and arrival.
 *
 * Invariants:
 * - I1 The slots in use are exactly the attempts in state `running`: one set of ids per domain, added to in `#occupy` and
 *   removed from in `#freeSlot`, which every end of an attempt passes through before its listener is notified. An attempt that
 *   is aborted on a remote worker leaves its slot to a placeholder until the worker has stopped it (`#awaitStop`).
 * - I2 An attempt is in `#attempts` from enqueue until it is `over`, and is over once: later reports of the worker are
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
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #embedded: Worker | undefined;
  readonly #workers: WorkerRing;
  readonly #pools: DomainPools;
  readonly #isolation: Isolation;
  /** Places attempts on slots of other members, and their attempts on slots of this process. */
  readonly exchange: SlotExchange;
  readonly #mayStart: () => boolean;
  readonly #hooks: Pick<
    DispatcherOptions,
    "onBacklog" | "onDemand" | "onDetached" | "onWorkerDrained" | "onProgress" | "hasElsewhere"
  >;
  readonly #limits: { readonly queueMax: number; readonly graceMs: number };

  readonly #attempts = new Map<string, Attempt>();
  readonly #running = new Set<Attempt>();
  /** The running attempts that are on remote workers. */
  readonly #onRemoteWorkers = new Set<Attempt>();
  readonly #unassigned: UnassignedAttempts;
  readonly #unsettled = new UnsettledJobs();
  #arrivals = 0;
  #lateReports = 0;
  #stops = 0;
  #paused = false;
  /** Resolved when nothing runs here any more. */
  #drain: PromiseWithResolvers<void> | undefined;
  readonly #workerDrains = new Map<ConnectedWorker, PromiseWithResolvers<void>>();
  #shutDown = false;
  #pumpQueued = false;
  /** A worker may have become free for an unassigned attempt. */
  #recallDue = false;
  #tickBeganAt: number | undefined;

  /** POOL_SIZE_INVALID, OPTION_INVALID. */
  constructor(options: DispatcherOptions) {
    const { agingMs, sharedDomains: isShared = false } = options;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#embedded = options.worker;
    this.#workers = new WorkerRing(options.worker);
    this.#mayStart = options.mayStart ?? always;
    this.#hooks = options;
    this.#limits = { queueMax: options.queueMax ?? 10_000, graceMs: options.graceMs ?? 5000 };
    this.#unassigned = new UnassignedAttempts(agingMs);
    this.#pools = new DomainPools({
      ...(options.worker === undefined ? {} : { poolSize: options.poolSize ?? 10 }),
      poolSizeMax: options.poolSizeMax ?? defaultPoolSizeMax(options.cores ?? 1),
      domains: options.domains ?? {},
      isShared,
      ...(agingMs === undefined ? {} : { agingMs }),
    });
    const [clock, pools, running] = [this.#clock, this.#pools, this.#running];
    const [attempts, unassigned, workers] = [this.#attempts, this.#unassigned, this.#workers];
    this.exchange = new SlotExchange({ clock, pools, attempts, unassigned, running, workers });
    this.#isolation = new Isolation({ clock, pools, running, wake: () => this.#wake() });
  }

  /** Queues an attempt of the engine; never refuses. Does nothing if the attempt is here already. */
  enqueue(run: TaskRun, waitedMs = 0): void {
    if (this.#shutDown || this.#attempts.has(run.attemptId)) return;
    this.#put(new Attempt(run, this.#arrivals++, this.#clock.now() - waitedMs));
  }

  /** EXECUTOR_SHUT_DOWN, DOMAIN_UNKNOWN, QUEUE_FULL. */
  submit(run: TaskRun): void {
    if (this.#shutDown) throw new EngineError("EXECUTOR_SHUT_DOWN", "the executor is shut down and takes no tasks");
    this.#pools.getDeclared(run.domain);
    const { queueMax } = this.#limits;
    if (this.waitingCount >= queueMax) {
      const message = `the queue is full: ${this.waitingCount} tasks wait, at most ${queueMax} may`;
      throw new EngineError("QUEUE_FULL", message);
    }
    this.enqueue(run);
  }

  /** Removes attempts that have not started and notifies their listeners; started attempts keep running. */
  withdraw(attemptIds: Iterable<string>): void {
    for (const id of attemptIds) {
      const attempt = this.#attempts.get(id);
      if (attempt === undefined || this.#hasStarted(attempt)) continue;
      if (attempt.state === "running") this.#freeSlot(attempt);
      else this.#removeWaiting(attempt);
      this.#reportWithdrawn(attempt.run);
    }
  }

  /** True if its job was called, or may have been: a remote worker may have the grant before this process knows. */
  #hasStarted(attempt: Attempt): boolean {
    if (attempt.state === "placing") return true;
    return attempt.state === "running" && (attempt.jobStartedAt !== undefined || this.#onRemoteWorkers.has(attempt));
  }

  /** Removes these attempts and aborts those that run. Their listeners are not notified. */
  abort(attemptIds: Iterable<string>): void {
    this.#abort(attemptIds, "the task was aborted");
  }

  /** Removes waiting attempts without notifying their listeners; running attempts stay. */
  drop(which: (run: TaskRun) => boolean): void {
    for (const attempt of this.#attempts.values()) {
      if (attempt.state !== "running" && which(attempt.run)) this.#removeWaiting(attempt);
    }
  }

  /** Sets the number of slots of the embedded worker. POOL_SIZE_INVALID. */
  setPoolSize(size: number): void {
    this.#pools.resize(size);
    this.#recallDue = true;
    this.#wake();
  }

  /** DOMAIN_UNKNOWN, POOL_SIZE_INVALID. */
  setDomainPoolSize(domain: string, size: number): void {
    this.#pools.resizeDomain(domain, size);
    this.#wake();
  }

  /** Adds a domain, or changes its size and priority. POOL_SIZE_INVALID, OPTION_INVALID. */
  declareDomain(domain: string, options: DomainOptions): void {
    this.#pools.declare(domain, options);
    this.#wake();
  }

  hasDomain(domain: string): boolean {
    return this.#pools.has(domain);
  }

  /** Sets how many attempts of a shared domain may run here. Lowering it aborts nothing. DOMAIN_UNKNOWN. */
  setQuota(domain: string, quota: number): void {
    this.#pools.setQuota(domain, quota);
    this.#wake();
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
    this.#recallDue = true;
    this.#wake();
  }

  /** Starts nothing more until `resumeDispatch`; running attempts continue. */
  pauseDispatch(): void {
    this.#paused = true;
  }

  resumeDispatch(): void {
    this.#paused = false;
    this.#wake();
  }

  /** Starts nothing here any more. Resolves when all running attempts have ended. */
  drain(): Promise<void> {
    this.#drain ??= Promise.withResolvers<void>();
    this.#resolveDrains();
    return this.#drain.promise;
  }

  get isDraining(): boolean {
    return this.#drain !== undefined;
  }

  /** Sends that remote worker nothing more. Resolves when its attempts for this process have ended; false if it is unknown. */
  async drainWorker(address: string): Promise<boolean> {
    const worker = this.#workers.connected.find((each) => each.address === address);
    if (worker === undefined) return false;
    worker.drain();
    const drain = this.#workerDrains.get(worker) ?? Promise.withResolvers<void>();
    this.#workerDrains.set(worker, drain);
    this.#resolveDrains();
    await drain.promise;
    return true;
  }

  #resolveDrains(): void {
    if (this.#running.size === 0) this.#drain?.resolve();
    for (const [worker, drain] of this.#workerDrains) {
      if ([...this.#onRemoteWorkers].some((attempt) => attempt.worker === worker)) continue;
      this.#workerDrains.delete(worker);
      if (this.#workers.connected.includes(worker)) this.#hooks.onWorkerDrained?.(worker);
      drain.resolve();
    }
  }

  /** Called when `mayStart` may return something else than before. */
  onLeaseChanged(): void {
    this.#wake();
  }

  // Remote workers

  /** Adds a remote worker, or notes that one is reachable again. */
  connect(worker: ConnectedWorker): void {
    if (this.#shutDown) return;
    this.#workers.add(worker);
    this.#rearmOverdue(worker);
    this.onJobsChanged();
  }

  /** Removes a remote worker; the attempts that it ran are lost. */
  disconnect(worker: ConnectedWorker): void {
    this.#workers.remove(worker);
    for (const attempt of this.#onRemoteWorkers) {
      if (attempt.worker !== worker) continue;
      if (attempt.jobStartedAt === undefined) this.#requeue(attempt, "the worker is gone");
      else {
        const { address } = worker;
        this.#end(attempt, { kind: "lost" });
        this.#hooks.onDetached?.(attempt.run, { worker: address, isLost: true });
      }
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
    const before = this.#attempts.get(run.attemptId);
    if (before?.state === "running") return before.worker === worker && this.rebind(run);
    const attempt = new Attempt(run, this.#arrivals++, this.#clock.now());
    if (!worker.follow(run.attemptId, attempt.abort)) return false;
    if (before !== undefined) this.#removeWaiting(before);
    attempt.state = "running";
    attempt.isAdopted = true;
    this.#attempts.set(run.attemptId, attempt);
    this.#occupy(attempt, worker, startedAt);
    attempt.jobStartedAt = startedAt;
    this.#await(attempt, outcome);
    this.#armTimeout(attempt);
    return true;
  }

  /** Replaces the run of an attempt that runs here, because its instance was loaded again. False if it does not run here. */
  rebind(run: TaskRun): boolean {
    const attempt = this.#attempts.get(run.attemptId);
    if (attempt?.state !== "running") return false;
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
      const attempt = this.#attempts.get(id);
      if (attempt?.jobStartedAt !== undefined && this.#onRemoteWorkers.has(attempt)) this.#detach(attempt);
    }
  }

  /**
   * Removes hosted attempts whose lease has expired: whether their owner still wants them is not known. Those on a remote
   * worker keep running, and their worker announces them again until an owner is found; the others are aborted. Listeners
   * are not notified.
   */
  giveUpExpired(attemptIds: Iterable<string>): void {
    for (const id of attemptIds) {
      const attempt = this.#attempts.get(id);
      if (attempt?.jobStartedAt === undefined || !this.#onRemoteWorkers.has(attempt)) {
        this.abort([id]);
        continue;
      }
      const { worker } = executionOf(attempt);
      this.#freeSlot(attempt);
      attempt.remoteWorker?.unfollow(id);
      this.#hooks.onDetached?.(attempt.run, { worker, isLost: false });
    }
  }

  /**
   * Called when the lease has lapsed. Aborts the attempts on the embedded worker and reports them as lost. Disconnects the
   * remote workers, which announce their attempts to other members. Waiting attempts stay in the queue.
   */
  interruptAll(): void {
    for (const attempt of this.#running) {
      if (!this.#onRemoteWorkers.has(attempt)) this.#interrupt(attempt);
      else if (attempt.jobStartedAt === undefined) this.#requeue(attempt, "the lease has lapsed");
      else this.#detach(attempt);
    }
    void this.#disconnectWorkers();
  }

  /**
   * Empties the queue and aborts what runs, without notifying listeners. Remote workers are disconnected and keep their
   * attempts. Resolves when the jobs have settled, or after a grace period. EXECUTOR_SHUT_DOWN the second time.
   */
  async shutdown(): Promise<void> {
    if (this.#shutDown) throw new EngineError("EXECUTOR_SHUT_DOWN", "the executor has been shut down already");
    this.#shutDown = true;
    this.#isolation.stop();
    for (const attempt of this.#onRemoteWorkers) this.#detach(attempt);
    this.#abort([...this.#attempts.keys()], "the executor is shutting down");
    await this.#disconnectWorkers();
    await this.#unsettled.whenSettled(this.#clock, this.#limits.graceMs);
    const tasks = this.#unsettled.abandoned().map(({ run }) => run.taskName);
    if (tasks.length > 0) this.#logger.warn({ tasks }, "tasks that ignored the signal to stop are left behind");
    await this.#embedded?.stop();
  }

  // Status

  /** DOMAIN_UNKNOWN. */
  domainStatus(domain: string): DomainStatus {
    const pool = this.#pools.getDeclared(domain);
    return { running: pool.slots.size, size: pool.size };
  }

  /** All declared domains, the highest priority first. */
  listDomains(): DomainOverview[] {
    return this.#pools.all.map((pool) => pool.overview());
  }

  /** Waiting attempts in order of arrival, which is not the order they will start in. Reservations are not listed. */
  listWaiting(): WaitingRun[] {
    const waiting = [...this.#attempts.values()].filter(({ state, run }) => {
      return state !== "running" && run.awaitsGrant !== true;
    });
    waiting.sort((a, b) => a.arrival - b.arrival);
    return waiting.map((attempt) => ({
      run: attempt.run,
      queuedAt: attempt.queuedAt,
      wait: this.#reasonToWait(attempt),
    }));
  }

  /** The connected workers, and how many attempts each runs for this process. */
  listConnected(): ConnectedOverview[] {
    const running = [...this.#onRemoteWorkers];
    return this.#workers.connected.map((worker) => ({
      worker,
      runningTasks: running.filter((attempt) => attempt.worker === worker).length,
    }));
  }

  /** The names of the workers of this process that would run such an attempt, now or when they have a free slot. */
  listEligible(selector: WorkerSelector): string[] {
    return this.isDraining ? [] : this.#workers.listEligible(selector);
  }

  listRunning(): RunningRun[] {
    const attempts = [...this.#running].filter(({ run }) => run.awaitsGrant !== true);
    return attempts.map((attempt) => {
      const { run, progress } = attempt;
      return { run, ...executionOf(attempt), ...(progress !== undefined && { progress }) };
    });
  }

  isRunning(attemptId: string): boolean {
    return this.#attempts.get(attemptId)?.state === "running";
  }

  /** True if it runs here on a reachable worker. An unreachable one may be connected to another member by now. */
  isReachable(attemptId: string): boolean {
    const attempt = this.#attempts.get(attemptId);
    if (attempt?.state !== "running") return false;
    return attempt.worker !== undefined && (!isConnected(attempt.worker) || attempt.worker.isReachable);
  }

  isRunningOn(attemptId: string, worker: Worker): boolean {
    return this.isRunning(attemptId) && this.#attempts.get(attemptId)?.worker === worker;
  }

  /** The connection of the remote worker that runs it. Undefined if no remote worker runs it here. */
  connectionOf(attemptId: string): WorkerConnection | undefined {
    return this.isRunning(attemptId) ? this.#attempts.get(attemptId)?.remoteWorker?.connection : undefined;
  }

  /** The reason why it waits; undefined if it runs, or is not here. */
  waitOf(attemptId: string): TaskWait | undefined {
    const attempt = this.#attempts.get(attemptId);
    return attempt === undefined || attempt.state === "running" ? undefined : this.#reasonToWait(attempt);
  }

  /** The progress of an attempt that runs here; undefined if its job has reported none. */
  progressOf(attemptId: string): TaskProgress | undefined {
    const attempt = this.#attempts.get(attemptId);
    return attempt?.state === "running" ? attempt.progress : undefined;
  }

  /** Notes the last report of a running job. */
  noteReport(attemptId: string, { progress }: AttemptReport): void {
    const attempt = this.#attempts.get(attemptId);
    if (attempt?.state !== "running" || progress === undefined) return;
    attempt.progress = progress;
    this.#hooks.onProgress?.(attempt.run, progress);
  }

  get isShutDown(): boolean {
    return this.#shutDown;
  }

  /** The slots for recorded reactions of workflow code in this process. */
  get reactionSlots(): ReactionSlots {
    return this.#isolation.reactionSlots;
  }

  /** The slots of the embedded worker and of all connected workers. */
  get poolSize(): number {
    return this.#pools.size;
  }

  /** The slots of all connected workers. */
  get workerSlots(): number {
    return this.#pools.size - this.#pools.ownSize;
  }

  get waitingCount(): number {
    return this.#attempts.size - this.#running.size;
  }

  /** The start of the attempt that has been running longest. */
  get oldestRunningAt(): number | undefined {
    let oldest: number | undefined;
    for (const { startedAt } of this.#running) if (oldest === undefined || startedAt < oldest) oldest = startedAt;
    return oldest;
  }

  get runningCount(): number {
    return this.#running.size;
  }

  /** The number of reports that came after a timeout or an abort, or came twice. */
  get lateReports(): number {
    return this.#lateReports;
  }

  /** The number of jobs that were timed out or aborted and have not settled. */
  get abandonedCount(): number {
    return this.#unsettled.abandoned().length;
  }

  // Starting

  #wake(): void {
    if (this.#pumpQueued || this.#paused || this.#shutDown) return;
    this.#pumpQueued = true;
    queueMicrotask(this.#pump);
  }

  readonly #pump = (): void => {
    this.#pumpQueued = false;
    if (this.#recallDue) this.#recall();
    this.#startAll();
    const { onDemand, onBacklog } = this.#hooks;
    if (this.waitingCount > 0) onBacklog?.();
    if (onDemand === undefined) return;
    for (const pool of this.#pools.all) if (pool.declared && pool.takeShortage()) onDemand(pool.name);
  };

  /** Starts what may start. Jobs that end at once could keep this loop busy for ever, so it yields to the event loop. */
  #startAll(): void {
    while (
      !this.#paused &&
      !this.isDraining &&
      !this.#shutDown &&
      this.#running.size < this.#pools.size &&
      this.#mayStart()
    ) {
      const now = this.#clock.now();
      if (this.#tickBeganAt !== undefined && now - this.#tickBeganAt > loopShareMs) return;
      const attempt = this.#pools.take(now, this.#isolation);
      if (attempt === undefined) return this.#isolation.awaitAge();
      const worker = this.#workers.choose(attempt.run, this.#embeddedSlots);
      if (worker === undefined) {
        this.#addUnassigned(attempt);
        continue;
      }
      if (this.#tickBeganAt === undefined) {
        this.#tickBeganAt = now;
        this.#clock.soon(this.#endTick);
      }
      this.#start(attempt, worker, now);
    }
  }

  /** Arms timeouts at the end of the tick: most jobs have ended by then and need no timer. */
  readonly #endTick = (): void => {
    this.#tickBeganAt = undefined;
    for (const attempt of this.#running) this.#armTimeout(attempt);
    this.#wake();
  };

  /** The free slots of the embedded worker, which uses its own part of the pool and no more. */
  get #embeddedSlots(): number {
    return this.#pools.ownSize - (this.#running.size - this.#onRemoteWorkers.size);
  }

  #put(attempt: Attempt): void {
    this.#attempts.set(attempt.run.attemptId, attempt);
    this.#pools.of(attempt.run.domain).put(attempt);
    this.#wake();
  }

  #addUnassigned(attempt: Attempt): void {
    const { job, taskName, placement } = attempt.run;
    const absent = this.#unassigned.add(attempt) ? this.#workers.reasonAbsent(attempt.run) : undefined;
    if (absent === undefined) return;
    const where = this.#hooks.onBacklog === undefined ? "" : ", as far as this member knows; it asks the others";
    this.#logger.warn({ job: localName(job), taskName, ...placement }, `tasks wait for ${absent.text}${where}`);
  }

  #recall(): void {
    this.#recallDue = false;
    const slotsFor = (selector: WorkerSelector): number => this.#workers.slotsFor(selector, this.#embeddedSlots);
    for (const attempt of this.#unassigned.recall(this.#clock.now(), slotsFor)) {
      this.#pools.of(attempt.run.domain).put(attempt);
    }
  }

  #start(attempt: Attempt, worker: Worker, now: number): void {
    this.#occupy(attempt, worker, now);
    const { isCautious, awaitsGrant } = attempt.run;
    if (!isCautious && awaitsGrant !== true && !worker.isRemote) return this.#execute(attempt, now);
    this.#reportStart(attempt);
    if (attempt.state === "running") void this.#executeConfirmed(attempt);
  }

  #reportStart(attempt: Attempt): void {
    const { run } = attempt;
    try {
      run.listener.onStarted(run, executionOf(attempt));
    } catch (error) {
      this.#logListenerFailure(run, error);
    }
  }

  #occupy(attempt: Attempt, worker: Worker, startedAt: number): void {
    const { attemptId, domain } = attempt.run;
    this.#pools.of(domain).slots.add(attemptId);
    this.#running.add(attempt);
    this.#isolation.onStarted(attempt);
    attempt.worker = worker;
    attempt.startedAt = startedAt;
    if (!isConnected(worker)) return;
    this.#onRemoteWorkers.add(attempt);
    if (!attempt.isAdopted) worker.reserve(attemptId);
  }

  async #executeConfirmed(attempt: Attempt): Promise<void> {
    if (!(await this.#isConfirmed(attempt)) || attempt.state !== "running") return;
    const isRemote = this.#onRemoteWorkers.has(attempt);
    // A pause does not withdraw what is on its way to a remote worker.
    if (isRemote && attempt.run.isPaused === true) this.#requeue(attempt, "its instance is paused");
    else if (this.#mayStart()) {
      attempt.isStartReported = true;
      this.#execute(attempt, this.#clock.now());
      this.#armTimeout(attempt);
    } else if (isRemote) this.#requeue(attempt, "the lease has lapsed");
    else this.#interrupt(attempt);
  }

  /** Awaits `confirmStart`. A rejection comes from the instance, which needs no report; if the run was rebound, asks the new one. */
  async #isConfirmed(attempt: Attempt): Promise<boolean> {
    const { run } = attempt;
    try {
      await run.confirmStart();
      return true;
    } catch (error) {
      if (attempt.state !== "running") return false;
      if (attempt.run !== run) return this.#isConfirmed(attempt);
      this.#freeSlot(attempt);
      this.#logger.warn({ attemptId: run.attemptId, error }, "a start was not confirmed; the task did not run");
      return false;
    }
  }

  /** A job that ends inside its call is reported by its end alone, which carries its start: most jobs are as short. */
  #execute(attempt: Attempt, now: number): void {
    attempt.jobStartedAt = now;
    if (attempt.worker?.isRemote) attempt.followedSince = this.#clock.monotonic();
    let outcome: Outcome;
    try {
      const answer = (attempt.worker as Worker).execute(attempt.run, attempt.abort);
      if ("then" in answer) {
        this.#await(attempt, answer);
        if (!attempt.isStartReported && attempt.state === "running") this.#reportStart(attempt);
        return;
      }
      outcome = answer;
    } catch (error) {
      outcome = workerFailed(error);
    }
    this.#end(attempt, outcome);
  }

  // Ending

  #await(attempt: Attempt, answer: Promise<WorkerAnswer>): void {
    const remote = attempt.remoteWorker;
    if (remote === undefined) this.#unsettled.add(attempt);
    const settle = (settled: WorkerAnswer): void => {
      if (remote === undefined) this.#unsettled.delete(attempt);
      if (settled.kind !== "refused") this.#end(attempt, settled, remote);
      else if (attempt.state === "running") this.#requeue(attempt, settled.why);
    };
    Promise.resolve(answer).then(settle, (error: unknown) => settle(workerFailed(error)));
  }

  /** `from` is the remote worker that sent the result: it keeps the result until it is acknowledged. */
  #end(attempt: Attempt, outcome: Outcome, from?: ConnectedWorker): void {
    const { run } = attempt;
    const { attemptId } = run;
    if (attempt.state !== "running") {
      this.#lateReports++;
      from?.acknowledge(attemptId);
      return;
    }
    const isIsolated = attempt.isSuspect && attempt.worker?.isRemote === false;
    const settle = isIsolated ? this.#isolation.awaitDurableEnd(attempt) : undefined;
    this.#freeSlot(attempt);
    const execution = executionOf(attempt);
    try {
      if (from !== undefined) run.listener.onEnded(run, outcome, execution, () => from.acknowledge(attemptId));
      else if (settle !== undefined) run.listener.onEnded(run, outcome, execution, settle);
      else run.listener.onEnded(run, outcome, execution);
    } catch (error) {
      this.#logListenerFailure(run, error);
    }
  }

  /**
   * Puts an attempt that was to run on a remote worker back into the queue, in its old place. An adopted one, one
   * whose shard moves, or one whose instance is paused, is reported to its listener as withdrawn: its owner decides where
   * and when it runs.
   */
  #requeue(attempt: Attempt, why: string): void {
    const { run, arrival, queuedAt, worker, isAdopted } = attempt;
    const { attemptId } = run;
    this.#freeBothSlots(attempt);
    if (isAdopted || run.isHandedOver === true || run.isPaused === true) return this.#reportWithdrawn(run);
    this.#logger.info({ attemptId, worker: worker?.address, why }, "a worker did not take a task; it is queued again");
    this.#put(new Attempt(run, arrival, queuedAt));
  }

  #armTimeout(attempt: Attempt): void {
    const { timeoutMs } = attempt.run;
    if (attempt.timer !== undefined || attempt.jobStartedAt === undefined || timeoutMs === Infinity) return;
    if (attempt.state !== "running" || attempt.isOverdue) return;
    const elapsedMs = Math.max(0, this.#clock.now() - attempt.jobStartedAt);
    attempt.timer = this.#clock.after(Math.max(0, timeoutMs - elapsedMs), () => this.#expire(attempt));
  }

  /** Arms the timeouts of overdue attempts again, because their worker is reachable. */
  #rearmOverdue(worker: ConnectedWorker): void {
    for (const attempt of this.#onRemoteWorkers) {
      if (attempt.worker !== worker || !attempt.isOverdue) continue;
      attempt.isOverdue = false;
      attempt.timer = undefined;
      this.#armTimeout(attempt);
    }
  }

  #expire(attempt: Attempt): void {
    if (attempt.state !== "running") return;
    const graceMs = attempt.remoteWorker?.timeoutGraceMs(attempt.followedSince) ?? 0;
    if (graceMs === Infinity) attempt.isOverdue = true;
    else if (graceMs > 0) attempt.timer = this.#clock.after(Math.ceil(graceMs), () => this.#expire(attempt));
    else this.#timeOut(attempt);
  }

  #timeOut(attempt: Attempt): void {
    const { attemptId, workflowName, taskName, timeoutMs } = attempt.run;
    const where = workflowName === "" ? "" : ` of workflow "${localName(workflowName)}"`;
    const message = `task "${taskName}"${where} ran longer than its timeout of ${timeoutMs / 1000} s`;
    const error = new EngineError("TASK_TIMEOUT", message);
    const failure = { type: error.code, message, retryable: error.retryable };
    const { remoteWorker } = attempt;
    // If this member is gone before the timeout is durable, the next owner of the shard gets a result that came late.
    remoteWorker?.keepResult(attemptId);
    this.#end(attempt, { kind: "timeout", failure }, remoteWorker);
    attempt.abort.abort(error);
    this.#awaitStop(attempt);
  }

  /** Ends an attempt on the embedded worker as lost and aborts it, because the lease of this member has lapsed. */
  #interrupt(attempt: Attempt): void {
    const { taskName } = attempt.run;
    this.#end(attempt, { kind: "lost" });
    const message = `task "${taskName}" is stopped: this member's lease has lapsed, so it may be run elsewhere`;
    attempt.abort.abort(new EngineError("MEMBER_LOST", message));
  }

  #abort(attemptIds: Iterable<string>, why: string): void {
    for (const id of attemptIds) {
      const attempt = this.#attempts.get(id);
      if (attempt === undefined) continue;
      if (attempt.state !== "running") this.#removeWaiting(attempt);
      else {
        this.#freeSlot(attempt);
        attempt.abort.abort(new DOMException(why, "AbortError"));
        this.#awaitStop(attempt);
      }
    }
  }

  /**
   * Keeps the domain's slot until the remote worker has stopped an aborted attempt: the abort is a message and the worker
   * may be unreachable. The attempt itself may be queued again by then, so the slot gets a name of its own.
   */
  #awaitStop({ remoteWorker, run }: Attempt): void {
    const stopping = remoteWorker?.whenStopped(run.attemptId);
    if (remoteWorker === undefined || stopping === undefined) return;
    const release = this.holdSlot(run);
    void stopping.then((how) => {
      if (how === "disconnected") this.#hooks.onDetached?.(run, { worker: remoteWorker.address, isLost: true });
      release();
    });
  }

  /** Takes a slot of its domain for an attempt that runs and is not followed here; the returned function frees it. */
  holdSlot({ attemptId, domain }: Pick<TaskRun, "attemptId" | "domain">): () => void {
    const { slots } = this.#pools.of(domain);
    const name = `${attemptId} until it stops, ${++this.#stops}`;
    slots.add(name);
    return () => {
      slots.delete(name);
      this.#recallDue = true;
      this.#wake();
    };
  }

  /** Removes a waiting attempt. */
  #removeWaiting(attempt: Attempt): void {
    this.#attempts.delete(attempt.run.attemptId);
    if (attempt.state === "placing") attempt.state = "over";
    else if (attempt.state === "unassigned") this.#unassigned.remove(attempt);
    else this.#pools.of(attempt.run.domain).remove(attempt);
  }

  /** Removes an attempt that keeps running on its remote worker, without notifying its listener. */
  #detach(attempt: Attempt): void {
    const { worker } = executionOf(attempt);
    this.#freeBothSlots(attempt);
    this.#hooks.onDetached?.(attempt.run, { worker, isLost: false });
  }

  /** Frees the attempt's slot here, and the one on its remote worker too. */
  #freeBothSlots(attempt: Attempt): void {
    this.#freeSlot(attempt);
    attempt.remoteWorker?.forget(attempt.run.attemptId);
  }

  /** Removes a running attempt and frees its slot (I1). */
  #freeSlot(attempt: Attempt): void {
    const { attemptId, domain } = attempt.run;
    attempt.state = "over";
    attempt.timer?.cancel();
    this.#attempts.delete(attemptId);
    this.#running.delete(attempt);
    this.#pools.of(domain).slots.delete(attemptId);
    this.#isolation.onEnded(attempt);
    if (this.#workers.connected.length > 0 || this.#onRemoteWorkers.size > 0) this.#freeWorkerSlot(attempt);
    if (this.isDraining || this.#workerDrains.size > 0) this.#resolveDrains();
    this.#wake();
  }

  /** Frees the slot on one of several workers, for which unassigned attempts may be waiting. */
  #freeWorkerSlot(attempt: Attempt): void {
    this.#recallDue = true;
    const hasStarted = attempt.jobStartedAt !== undefined;
    if (this.#onRemoteWorkers.delete(attempt) && !hasStarted) attempt.remoteWorker?.forget(attempt.run.attemptId);
  }

  /** Disconnects all remote workers; they connect to other members. */
  async #disconnectWorkers(): Promise<void> {
    const workers = [...this.#workers.connected];
    for (const worker of workers) this.#workers.remove(worker);
    this.onJobsChanged();
    await Promise.all(workers.map((worker) => worker.stop()));
  }

  #reportWithdrawn(run: TaskRun): void {
    try {
      run.listener.onWithdrawn(run);
    } catch (error) {
      this.#logListenerFailure(run, error);
    }
  }

  /** Logs that a listener threw: that is a bug in the listener, and must not leak a slot or stop other attempts. */
  #logListenerFailure({ attemptId }: TaskRun, error: unknown): void {
    this.#logger.error({ attemptId, error }, "the listener of an attempt threw while it was notified");
  }

  #reasonToWait({ state, run, care }: Attempt): TaskWait {
    const suspect = this.#isolation.isolatedSuspect(this.#clock.now());
    const pool = this.#pools.of(run.domain);
    const absent = this.#workers.reasonAbsent(run);
    if (state === "placing") return waits.placing;
    if (absent !== undefined) return this.#hooks.hasElsewhere?.(run) === true ? waits.freeWorker(run) : absent;
    if (!this.#pools.has(run.domain)) return waits.noDomain(run.domain);
    if (pool.size === 0) return waits.noSlots(pool.overview());
    if (this.isDraining) return waits.engine("another start: this process is being drained");
    if (this.#paused) return waits.engine("the engine, which has stopped taking work");
    if (!this.#mayStart()) return waits.engine("the lease of this member, which has lapsed");
    if (state === "unassigned") return waits.freeWorker(run);
    if (care !== "plain" && suspect !== undefined)
      return waits.suspect(suspectFor(run, suspect.run), run.interruptions);
    if (!pool.isFull && (care !== "plain" || this.#isolation.isQuiet(this.#clock.now()))) return waits.isolation;
    const isPoolFull = run.domain === "default" || !pool.isFull;
    const wait = waits.freeSlot(isPoolFull ? "slot" : "domain", pool.overview());
    return countsOthers(run) ? { ...wait, slots: undefined } : wait;
  }
}

/** Time in one tick after which the dispatcher yields to the event loop. */
const loopShareMs = 5;

const always = (): boolean => true;

function executionOf({ worker, startedAt }: Attempt): { worker: string; startedAt: number } {
  return { worker: worker?.address ?? "", startedAt };
}

/** The outcome for a worker that throws: failures of jobs are outcomes, so the worker itself is broken. */
function workerFailed(error: unknown): Outcome {
  const problem = error instanceof Error ? error.message : String(error);
  return { kind: "failure", failure: { type: "Error", message: `the worker failed: ${problem}`, retryable: true } };
}

export function defaultPoolSizeMax(cores: number): number {
  return Math.max(10, 2 * cores);
}
