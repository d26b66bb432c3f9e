import { assert } from "../base/assert.ts";
import type { Clock } from "../base/clock.ts";
import { EngineError } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { Outcome } from "../kernel/input.ts";
import { Attempt } from "./attempt.ts";
import type { DomainOptions, DomainOverview, DomainStatus } from "./domain-pool.ts";
import { DomainPools } from "./domain-pools.ts";
import { Isolation } from "./isolation.ts";
import { UnassignedAttempts } from "./unassigned-attempts.ts";
import type { ReactionSlots } from "./reaction-slots.ts";
import type { TaskProgress } from "./task-progress.ts";
import type { TaskRun } from "./task-run.ts";
import { UnsettledJobs } from "./unsettled-jobs.ts";
import type { Wait } from "./wait-reason.ts";
import { type Answer, type ConnectedWorker, isConnected, type Worker, type WorkerConnection } from "./worker.ts";
import { WorkerRing } from "./worker-ring.ts";

export type { DomainOptions, DomainOverview, DomainStatus } from "./domain-pool.ts";

/**
 * Hands attempts to workers, as many at a time as there are slots, in the order of domains, ranks and arrival.
 *
 * What stays true:
 * - I1 The slots in use are exactly the attempts in state `running`: one set of ids per domain, entered in `#occupy` and
 *   left in `#release`. Every way an attempt can end goes through `#release`, before anybody is told. One that a remote
 *   worker is told to stop leaves its slot to a name of its own, until the worker has (`#awaitStop`).
 * - I2 An attempt is in `#attempts` from enqueue until it is `over`, and is over once: what the worker says afterwards
 *   is counted and dropped. So its owner hears of one end at most, and of none after an abort.
 * - I3 No attempt starts while its domain or the whole pool is full. After shrinking more may run than fit, and so after
 *   adopting; they are left alone, and nothing starts until they fit.
 * - I4 No suspect starts beside another, nor where it could do harm (`Isolation`, which knows the reactions of workflow
 *   code in this process too).
 * - I5 Nothing starts inside a caller's `enqueue`: what is enqueued together is put in order before the first starts.
 * - I6 The timeout counts from the job's own start, not from the wait for a slot or for `confirmStart`. No attempt times out
 *   while its remote worker is out of touch: the worker comes back, or the attempt is lost with it.
 * - I7 No job is called while `mayStart` says no, and none goes to a remote worker before its start is durable.
 * - I8 Only an attempt that was meant for a remote worker goes back to the queue once its owner has heard of its start:
 *   whoever takes its instance over looks for it on remote workers, and would not look there for one of the embedded
 *   worker's.
 */
export class Dispatcher {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #embedded: Worker | undefined;
  readonly #workers: WorkerRing;
  readonly #pools: DomainPools;
  readonly #isolation: Isolation;
  readonly #mayStart: () => boolean;
  readonly #onDemand: ((domain: string) => void) | undefined;
  readonly #onDetached: DispatcherOptions["onDetached"];
  readonly #queueMax: number;
  readonly #graceMs: number;

  readonly #attempts = new Map<string, Attempt>();
  readonly #running = new Set<Attempt>();
  /** Of those that run. */
  readonly #remote = new Set<Attempt>();
  readonly #unassigned: UnassignedAttempts;
  readonly #unsettled = new UnsettledJobs();
  #arrivals = 0;
  #lateReports = 0;
  #stops = 0;
  #paused = false;
  /** Resolved, one and all, when nothing runs here. */
  #drain: PromiseWithResolvers<void> | undefined;
  readonly #workerDrains = new Map<ConnectedWorker, PromiseWithResolvers<void>>();
  #shutDown = false;
  #pumpQueued = false;
  /** A unassigned attempt may have found its worker. */
  #recallDue = false;
  #turnBeganAt: number | undefined;

  /** POOL_SIZE_INVALID, OPTION_INVALID. */
  constructor(options: DispatcherOptions) {
    const { agingMs, sharedDomains: isShared = false } = options;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#embedded = options.worker;
    this.#workers = new WorkerRing(options.worker);
    this.#mayStart = options.mayStart ?? always;
    this.#onDemand = options.onDemand;
    this.#onDetached = options.onDetached;
    this.#queueMax = options.queueMax ?? 10_000;
    this.#graceMs = options.graceMs ?? 5000;
    this.#unassigned = new UnassignedAttempts(agingMs);
    this.#pools = new DomainPools({
      ...(options.worker === undefined ? {} : { poolSize: options.poolSize ?? 10 }),
      poolSizeMax: options.poolSizeMax ?? defaultPoolSizeMax(options.cores ?? 1),
      domains: options.domains ?? {},
      isShared,
      ...(agingMs === undefined ? {} : { agingMs }),
    });
    const [clock, pools, running] = [this.#clock, this.#pools, this.#running];
    this.#isolation = new Isolation({ clock, pools, running, wake: () => this.#wake() });
  }

  /** The engine's own way in: never refused. An attempt that is here already is not taken twice. */
  enqueue(run: TaskRun): void {
    if (this.#shutDown || this.#attempts.has(run.attemptId)) return;
    this.#put(new Attempt(run, this.#arrivals++, this.#clock.now()));
  }

  /** EXECUTOR_SHUT_DOWN, DOMAIN_UNKNOWN, QUEUE_FULL. */
  submit(run: TaskRun): void {
    if (this.#shutDown) throw new EngineError("EXECUTOR_SHUT_DOWN", "the executor is shut down and takes no tasks");
    this.#pools.getDeclared(run.domain);
    if (this.waitingCount >= this.#queueMax) {
      const message = `the queue is full: ${this.waitingCount} tasks wait, at most ${this.#queueMax} may`;
      throw new EngineError("QUEUE_FULL", message);
    }
    this.enqueue(run);
  }

  /** Takes back what has not started and tells its owner; what has started goes on. */
  withdraw(attemptIds: Iterable<string>): void {
    for (const id of attemptIds) {
      const attempt = this.#attempts.get(id);
      if (attempt === undefined || this.#hasStarted(attempt)) continue;
      if (attempt.state === "running") this.#release(attempt);
      else this.#leave(attempt);
      this.#reportWithdrawn(attempt.run);
    }
  }

  /** Its job was called, or may have been: a remote worker may have the grant before this process knows. */
  #hasStarted(attempt: Attempt): boolean {
    return attempt.state === "running" && (attempt.jobStartedAt !== undefined || this.#remote.has(attempt));
  }

  /** Nothing more is heard of these; those that run are told to stop. */
  abort(attemptIds: Iterable<string>): void {
    this.#abort(attemptIds, "the task was told to stop");
  }

  /** Those that wait leave without a word; those that run stay. */
  drop(which: (run: TaskRun) => boolean): void {
    for (const attempt of this.#attempts.values()) {
      if (attempt.state !== "running" && which(attempt.run)) this.#leave(attempt);
    }
  }

  /** Of the embedded worker's part of the pool. POOL_SIZE_INVALID. */
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

  /** How much of a shared domain may run here. Lowering it kills nothing. DOMAIN_UNKNOWN. */
  setQuota(domain: string, quota: number): void {
    this.#pools.setQuota(domain, quota);
    this.#wake();
  }

  /** What a shared domain could use here. Those that no worker could take are not counted among the waiting. */
  demand(domain: string): DomainDemand {
    const { slots, waiting } = this.#pools.of(domain);
    return { running: slots.size, waiting };
  }

  /** Workers may know other jobs than before, or have other slots. */
  onJobsChanged(): void {
    this.#pools.setWorkerSlots(this.#workers.slots);
    this.#recallDue = true;
    this.#wake();
  }

  /** What runs goes on; nothing else starts. */
  pauseDispatch(): void {
    this.#paused = true;
  }

  resumeDispatch(): void {
    this.#paused = false;
    this.#wake();
  }

  /** Nothing starts here any more. Resolves when what runs here has ended. */
  drain(): Promise<void> {
    this.#drain ??= Promise.withResolvers<void>();
    this.#resolveDrains();
    return this.#drain.promise;
  }

  get isDraining(): boolean {
    return this.#drain !== undefined;
  }

  /** Nothing more goes to that remote worker. Resolves when what it runs for this process has ended. False if it is not here. */
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
      if ([...this.#remote].some((attempt) => attempt.worker === worker)) continue;
      this.#workerDrains.delete(worker);
      drain.resolve();
    }
  }

  /** `mayStart` may say something else than before. */
  onLeaseChanged(): void {
    this.#wake();
  }

  // Workers from outside

  /** From now on attempts go to it too. */
  connect(worker: ConnectedWorker): void {
    if (this.#shutDown) return;
    this.#workers.add(worker);
    this.#rearmOverdue(worker);
    this.onJobsChanged();
  }

  /** It is not there any more, and what it ran is lost with it. */
  disconnect(worker: ConnectedWorker): void {
    this.#workers.remove(worker);
    for (const attempt of this.#remote) {
      if (attempt.worker !== worker) continue;
      if (attempt.jobStartedAt === undefined) this.#requeue(attempt, "the worker is gone");
      else {
        const { address } = worker;
        this.#end(attempt, { kind: "lost" });
        this.#onDetached?.(attempt.run, { worker: address, isLost: true });
      }
    }
    this.onJobsChanged();
  }

  /**
   * An attempt that already runs on a worker which has just connected: takes its slot, even above the size, and is
   * followed like one that was started here; only that, if the worker gives it up in good order, its owner hears of it as
   * withdrawn. One that waits here runs after all. False if it runs here on another worker, or this one has gone by now.
   */
  adopt(run: TaskRun, worker: ConnectedWorker, outcome: Promise<Answer>, startedAt: number): boolean {
    if (!this.#workers.has(worker)) return false;
    const before = this.#attempts.get(run.attemptId);
    if (before?.state === "running") return before.worker === worker && this.rebind(run);
    const attempt = new Attempt(run, this.#arrivals++, this.#clock.now());
    if (!worker.follow(run.attemptId, attempt.abort)) return false;
    if (before !== undefined) this.#leave(before);
    attempt.state = "running";
    attempt.isAdopted = true;
    this.#attempts.set(run.attemptId, attempt);
    this.#occupy(attempt, worker, startedAt);
    attempt.jobStartedAt = startedAt;
    this.#await(attempt, outcome);
    this.#armTimeout(attempt);
    return true;
  }

  /** If the attempt runs here, it is this run that its owner hears of from now on: the instance was loaded anew. */
  rebind(run: TaskRun): boolean {
    const attempt = this.#attempts.get(run.attemptId);
    if (attempt?.state !== "running") return false;
    assert(attempt.run.domain === run.domain, "an attempt stays in its domain");
    attempt.run = run;
    return true;
  }

  /**
   * Another member has these now: those that run on a remote worker leave without a word, and run on. What waits, or runs
   * on the embedded worker, can be nowhere else, and stays.
   */
  detach(attemptIds: Iterable<string>): void {
    for (const id of attemptIds) {
      const attempt = this.#attempts.get(id);
      if (attempt?.jobStartedAt !== undefined && this.#remote.has(attempt)) this.#detach(attempt);
    }
  }

  /**
   * Who owns these is not known here: those that run on a remote worker leave without a word, and run on for whoever does.
   * Their worker asks who that is. The others are told to stop.
   */
  release(attemptIds: Iterable<string>): void {
    for (const id of attemptIds) {
      const attempt = this.#attempts.get(id);
      if (attempt?.jobStartedAt === undefined || !this.#remote.has(attempt)) {
        this.abort([id]);
        continue;
      }
      const { worker } = executionOf(attempt);
      this.#release(attempt);
      if (attempt.worker !== undefined && isConnected(attempt.worker)) attempt.worker.release(id);
      this.#onDetached?.(attempt.run, { worker, isLost: false });
    }
  }

  /**
   * The lease has lapsed. What runs on the embedded worker is told to stop, and its owner that it is lost. What runs on
   * remote workers leaves without a word: they are sent away, and will announce it elsewhere. What waits goes on waiting.
   */
  interruptAll(): void {
    for (const attempt of this.#running) {
      if (!this.#remote.has(attempt)) this.#interrupt(attempt);
      else if (attempt.jobStartedAt === undefined) this.#requeue(attempt, "the lease has lapsed");
      else this.#detach(attempt);
    }
    void this.#disconnectWorkers();
  }

  /**
   * Empties the queue and tells what runs to stop; owners hear nothing. Remote workers are sent away with what they run.
   * Resolves when the jobs have settled, or after a grace. EXECUTOR_SHUT_DOWN the second time.
   */
  async shutdown(): Promise<void> {
    if (this.#shutDown) throw new EngineError("EXECUTOR_SHUT_DOWN", "the executor has been shut down already");
    this.#shutDown = true;
    this.#isolation.stop();
    for (const attempt of this.#remote) this.#detach(attempt);
    this.#abort([...this.#attempts.keys()], "the executor is shutting down");
    await this.#disconnectWorkers();
    await this.#unsettled.whenSettled(this.#clock, this.#graceMs);
    const tasks = this.#unsettled.abandoned().map(({ run }) => run.taskName);
    if (tasks.length > 0) this.#logger.warn({ tasks }, "tasks that ignored the signal to stop are left behind");
    await this.#embedded?.stop();
  }

  // What there is to see

  /** DOMAIN_UNKNOWN. */
  domainStatus(domain: string): DomainStatus {
    const pool = this.#pools.getDeclared(domain);
    return { running: pool.slots.size, size: pool.size };
  }

  /** Every declared domain, the highest priority first. */
  listDomains(): DomainOverview[] {
    return this.#pools.all.map((pool) => pool.overview());
  }

  /** In order of arrival, which is not the order they will start in. */
  listWaiting(): WaitingRun[] {
    const waiting = [...this.#attempts.values()].filter((attempt) => attempt.state !== "running");
    waiting.sort((a, b) => a.arrival - b.arrival);
    return waiting.map((attempt) => ({
      run: attempt.run,
      queuedAt: attempt.queuedAt,
      wait: this.#reasonToWait(attempt),
    }));
  }

  /** Those that are connected, and what each runs for this process. */
  listConnected(): { worker: ConnectedWorker; runningTasks: number }[] {
    const running = [...this.#remote];
    return this.#workers.connected.map((worker) => ({
      worker,
      runningTasks: running.filter((attempt) => attempt.worker === worker).length,
    }));
  }

  listRunning(): RunningRun[] {
    return [...this.#running].map((attempt) => ({ run: attempt.run, ...executionOf(attempt) }));
  }

  isRunning(attemptId: string): boolean {
    return this.#attempts.get(attemptId)?.state === "running";
  }

  /** It runs here, and its worker is not cut off: otherwise it may be connected to another member by now. */
  isReachable(attemptId: string): boolean {
    const attempt = this.#attempts.get(attemptId);
    if (attempt?.state !== "running") return false;
    return attempt.worker !== undefined && (!isConnected(attempt.worker) || attempt.worker.isReachable);
  }

  isRunningOn(attemptId: string, worker: Worker): boolean {
    return this.isRunning(attemptId) && this.#attempts.get(attemptId)?.worker === worker;
  }

  /** By which connection the remote worker that runs it came here. Undefined if there is no such worker. */
  connectionOf(attemptId: string): WorkerConnection | undefined {
    const worker = this.isRunning(attemptId) ? this.#attempts.get(attemptId)?.worker : undefined;
    return worker !== undefined && isConnected(worker) ? worker.connection : undefined;
  }

  /** Why it does not run; undefined if it runs, or is not here. */
  waitingFor(attemptId: string): string | undefined {
    const attempt = this.#attempts.get(attemptId);
    return attempt === undefined || attempt.state === "running" ? undefined : this.#reasonToWait(attempt).text;
  }

  /** Of an attempt that runs here; undefined if its job has reported none. */
  progressOf(attemptId: string): TaskProgress | undefined {
    const attempt = this.#attempts.get(attemptId);
    return attempt?.state === "running" ? attempt.progress : undefined;
  }

  noteProgress(attemptId: string, progress: TaskProgress): void {
    const attempt = this.#attempts.get(attemptId);
    if (attempt?.state === "running") attempt.progress = progress;
  }

  get isShutDown(): boolean {
    return this.#shutDown;
  }

  /** Of workflow code that reacts in this process. */
  get reactionSlots(): ReactionSlots {
    return this.#isolation.reactionSlots;
  }

  /** The embedded worker's part and the slots of the workers that are connected. */
  get poolSize(): number {
    return this.#pools.size;
  }

  /** Of the workers that are connected. */
  get workerSlots(): number {
    return this.#pools.size - this.#pools.ownSize;
  }

  get waitingCount(): number {
    return this.#attempts.size - this.#running.size;
  }

  /** When the one that runs longest was started. */
  get oldestRunningAt(): number | undefined {
    let oldest: number | undefined;
    for (const { startedAt } of this.#running) if (oldest === undefined || startedAt < oldest) oldest = startedAt;
    return oldest;
  }

  get runningCount(): number {
    return this.#running.size;
  }

  /** Reports that came after a timeout or an abort, or came twice. */
  get lateReports(): number {
    return this.#lateReports;
  }

  /** Jobs that were timed out or aborted and have still not settled. */
  get abandonedCount(): number {
    return this.#unsettled.abandoned().length;
  }

  // Starting

  #wake(): void {
    if (this.#pumpQueued || this.#paused || this.isDraining || this.#shutDown) return;
    this.#pumpQueued = true;
    queueMicrotask(this.#pump);
  }

  readonly #pump = (): void => {
    this.#pumpQueued = false;
    if (this.#recallDue) this.#recall();
    this.#startAll();
    if (this.#onDemand !== undefined) this.#reportDemand(this.#onDemand);
  };

  /** Starts what may start. Jobs that end at once could keep it busy for ever, so it leaves the event loop its share. */
  #startAll(): void {
    while (
      !this.#paused &&
      !this.isDraining &&
      !this.#shutDown &&
      this.#running.size < this.#pools.size &&
      this.#mayStart()
    ) {
      const now = this.#clock.now();
      if (this.#turnBeganAt !== undefined && now - this.#turnBeganAt > loopShareMs) return;
      const attempt = this.#pools.take(now, (care) => this.#isolation.allows(care, now));
      if (attempt === undefined) return this.#isolation.awaitAge();
      const worker = this.#workers.choose(attempt.run.job, this.#embeddedSlots);
      if (worker === undefined) {
        this.#addUnassigned(attempt);
        continue;
      }
      if (this.#turnBeganAt === undefined) {
        this.#turnBeganAt = now;
        this.#clock.soon(this.#endTurn);
      }
      this.#start(attempt, worker, now);
    }
  }

  /** Most jobs have ended by now. Only those that have not are worth a timer. */
  readonly #endTurn = (): void => {
    this.#turnBeganAt = undefined;
    for (const attempt of this.#running) this.#armTimeout(attempt);
    this.#wake();
  };

  /** Those of the embedded worker that are free: of the pool it has its own part and no more. */
  get #embeddedSlots(): number {
    return this.#pools.ownSize - (this.#running.size - this.#remote.size);
  }

  #put(attempt: Attempt): void {
    this.#attempts.set(attempt.run.attemptId, attempt);
    this.#pools.of(attempt.run.domain).put(attempt);
    this.#wake();
  }

  #addUnassigned(attempt: Attempt): void {
    const { job, taskName } = attempt.run;
    if (!this.#unassigned.add(attempt) || this.#workers.knows(job)) return;
    this.#logger.warn({ job, taskName }, "tasks wait for a job that is not registered on any worker");
  }

  #recall(): void {
    this.#recallDue = false;
    const slotsFor = (job: string): number => this.#workers.slotsFor(job, this.#embeddedSlots);
    for (const attempt of this.#unassigned.recall(this.#clock.now(), slotsFor)) {
      this.#pools.of(attempt.run.domain).put(attempt);
    }
  }

  #reportDemand(onDemand: (domain: string) => void): void {
    for (const pool of this.#pools.all) if (pool.declared && pool.takeShortage()) onDemand(pool.name);
  }

  #start(attempt: Attempt, worker: Worker, now: number): void {
    const { run } = attempt;
    this.#occupy(attempt, worker, now);
    try {
      run.owner.started(run, executionOf(attempt));
    } catch (error) {
      this.#logOwnerFailure(run, error);
    }
    if (attempt.state !== "running") return;
    if (run.isCautious || worker.isRemote) void this.#executeConfirmed(attempt);
    else this.#execute(attempt, now);
  }

  #occupy(attempt: Attempt, worker: Worker, startedAt: number): void {
    const { attemptId, domain } = attempt.run;
    this.#pools.of(domain).slots.add(attemptId);
    this.#running.add(attempt);
    this.#isolation.onStarted(attempt);
    attempt.worker = worker;
    attempt.startedAt = startedAt;
    if (!isConnected(worker)) return;
    this.#remote.add(attempt);
    if (!attempt.isAdopted) worker.reserve(attemptId);
  }

  async #executeConfirmed(attempt: Attempt): Promise<void> {
    if (!(await this.#isConfirmed(attempt)) || attempt.state !== "running") return;
    if (this.#mayStart()) {
      this.#execute(attempt, this.#clock.now());
      this.#armTimeout(attempt);
    } else if (this.#remote.has(attempt)) this.#requeue(attempt, "the lease has lapsed");
    else this.#interrupt(attempt);
  }

  /** A start that cannot be confirmed is told to nobody: whoever refused it knows. But an owner that has come since does not. */
  async #isConfirmed(attempt: Attempt): Promise<boolean> {
    const { run } = attempt;
    try {
      await run.confirmStart();
      return true;
    } catch (error) {
      if (attempt.state !== "running") return false;
      if (attempt.run !== run) return this.#isConfirmed(attempt);
      this.#release(attempt);
      this.#logger.warn({ attemptId: run.attemptId, error }, "a start was not confirmed; the task did not run");
      return false;
    }
  }

  #execute(attempt: Attempt, now: number): void {
    attempt.jobStartedAt = now;
    attempt.followedSince = this.#clock.monotonic();
    let outcome: Outcome;
    try {
      const answer = (attempt.worker as Worker).execute(attempt.run, attempt.abort);
      if ("then" in answer) {
        this.#await(attempt, answer);
        return;
      }
      outcome = answer;
    } catch (error) {
      outcome = workerFailed(error);
    }
    this.#end(attempt, outcome);
  }

  // Ending

  #await(attempt: Attempt, answer: Promise<Answer>): void {
    const worker = attempt.worker as Worker;
    const remote = isConnected(worker) ? worker : undefined;
    if (remote === undefined) this.#unsettled.add(attempt);
    const settle = (settled: Answer): void => {
      if (remote === undefined) this.#unsettled.delete(attempt);
      if (settled.kind === "refused") this.#onRefused(attempt, settled.why);
      else this.#end(attempt, settled, remote);
    };
    Promise.resolve(answer).then(settle, (error: unknown) => settle(workerFailed(error)));
  }

  /** `from` is the remote worker whose result it is: it keeps it until it is durable, or nobody wants it. */
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
    this.#release(attempt);
    const execution = executionOf(attempt);
    try {
      if (from !== undefined) run.owner.ended(run, outcome, execution, () => from.acknowledge(attemptId));
      else if (settle !== undefined) run.owner.ended(run, outcome, execution, settle);
      else run.owner.ended(run, outcome, execution);
    } catch (error) {
      this.#logOwnerFailure(run, error);
    }
  }

  /** What was granted here waits again. What was not is taken back from its owner's point of view. */
  #onRefused(attempt: Attempt, why: string): void {
    if (attempt.state !== "running") return;
    if (!attempt.isAdopted) return this.#requeue(attempt, why);
    this.#releaseFromWorker(attempt);
    this.#reportWithdrawn(attempt.run);
  }

  /** Of an attempt that was to run on a remote worker: it waits again, in its old place. */
  #requeue(attempt: Attempt, why: string): void {
    const { run, arrival, queuedAt, worker } = attempt;
    const { attemptId } = run;
    this.#logger.info({ attemptId, worker: worker?.address, why }, "a worker did not take a task; it is queued again");
    this.#releaseFromWorker(attempt);
    this.#put(new Attempt(run, arrival, queuedAt));
  }

  #armTimeout(attempt: Attempt): void {
    const { timeoutMs } = attempt.run;
    if (attempt.timer !== undefined || attempt.jobStartedAt === undefined || timeoutMs === Infinity) return;
    if (attempt.state !== "running" || attempt.isOverdue) return;
    const elapsedMs = Math.max(0, this.#clock.now() - attempt.jobStartedAt);
    attempt.timer = this.#clock.after(Math.max(0, timeoutMs - elapsedMs), () => this.#expire(attempt));
  }

  /** The worker is in touch: what was overdue may time out again, if no result comes. */
  #rearmOverdue(worker: ConnectedWorker): void {
    for (const attempt of this.#remote) {
      if (attempt.worker !== worker || !attempt.isOverdue) continue;
      attempt.isOverdue = false;
      attempt.timer = undefined;
      this.#armTimeout(attempt);
    }
  }

  #expire(attempt: Attempt): void {
    if (attempt.state !== "running") return;
    const { worker, followedSince } = attempt;
    const graceMs = worker !== undefined && isConnected(worker) ? worker.timeoutGraceMs(followedSince) : 0;
    if (graceMs === Infinity) attempt.isOverdue = true;
    else if (graceMs > 0) attempt.timer = this.#clock.after(Math.ceil(graceMs), () => this.#expire(attempt));
    else this.#timeOut(attempt);
  }

  #timeOut(attempt: Attempt): void {
    const { workflowName, taskName, timeoutMs } = attempt.run;
    const where = workflowName === "" ? "" : ` of workflow "${workflowName}"`;
    const message = `task "${taskName}"${where} ran longer than its timeout of ${timeoutMs / 1000} s`;
    const error = new EngineError("TASK_TIMEOUT", message);
    this.#end(attempt, { kind: "timeout", failure: { type: error.code, message, retryable: error.retryable } });
    attempt.abort.abort(error);
    this.#awaitStop(attempt);
  }

  /** Of an attempt on the embedded worker: this member may not run it any more. */
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
      if (attempt.state !== "running") this.#leave(attempt);
      else {
        this.#release(attempt);
        attempt.abort.abort(new DOMException(why, "AbortError"));
        this.#awaitStop(attempt);
      }
    }
  }

  /**
   * A remote worker is told by message, and may be out of reach: until it has stopped the attempt, the domain is as full as
   * before. The attempt itself may be waiting again by then, so its slot has another name.
   */
  #awaitStop({ worker, run }: Attempt): void {
    const stopping = worker !== undefined && isConnected(worker) ? worker.whenStopped(run.attemptId) : undefined;
    if (worker === undefined || stopping === undefined) return;
    const { slots } = this.#pools.of(run.domain);
    const name = `${run.attemptId} until it stops, ${++this.#stops}`;
    slots.add(name);
    void stopping.then((how) => {
      if (how === "disconnected") this.#onDetached?.(run, { worker: worker.address, isLost: true });
      slots.delete(name);
      this.#recallDue = true;
      this.#wake();
    });
  }

  /** Of an attempt that waits. */
  #leave(attempt: Attempt): void {
    this.#attempts.delete(attempt.run.attemptId);
    if (attempt.state === "unassigned") this.#unassigned.remove(attempt);
    else this.#pools.of(attempt.run.domain).remove(attempt);
  }

  /** Of an attempt on a remote worker, on which it runs on: nothing is said to its owner. */
  #detach(attempt: Attempt): void {
    const { worker } = executionOf(attempt);
    this.#releaseFromWorker(attempt);
    this.#onDetached?.(attempt.run, { worker, isLost: false });
  }

  /** Of an attempt on a remote worker, which has nothing more to do with it. */
  #releaseFromWorker(attempt: Attempt): void {
    this.#release(attempt);
    this.#forget(attempt);
  }

  /** Of an attempt that runs. */
  #release(attempt: Attempt): void {
    const { attemptId, domain } = attempt.run;
    attempt.state = "over";
    attempt.timer?.cancel();
    this.#attempts.delete(attemptId);
    this.#running.delete(attempt);
    this.#pools.of(domain).slots.delete(attemptId);
    this.#isolation.onEnded(attempt);
    if (this.#workers.connected.length > 0 || this.#remote.size > 0) this.#releaseWorker(attempt);
    if (this.isDraining || this.#workerDrains.size > 0) this.#resolveDrains();
    this.#wake();
  }

  /** Where there are several workers, a slot is that of one of them: it is free for whoever waits for this one. */
  #releaseWorker(attempt: Attempt): void {
    this.#recallDue = true;
    if (this.#remote.delete(attempt) && attempt.jobStartedAt === undefined) this.#forget(attempt);
  }

  #forget({ worker, run }: Attempt): void {
    if (worker !== undefined && isConnected(worker)) worker.forget(run.attemptId);
  }

  /** All workers from outside connect elsewhere. */
  async #disconnectWorkers(): Promise<void> {
    const workers = [...this.#workers.connected];
    for (const worker of workers) this.#workers.remove(worker);
    this.onJobsChanged();
    await Promise.all(workers.map((worker) => worker.stop()));
  }

  #reportWithdrawn(run: TaskRun): void {
    try {
      run.owner.withdrawn(run);
    } catch (error) {
      this.#logOwnerFailure(run, error);
    }
  }

  /** An owner that throws is a bug of its own; it must not cost a slot or stop its neighbours. */
  #logOwnerFailure({ attemptId }: TaskRun, error: unknown): void {
    this.#logger.error({ attemptId, error }, "the owner of a task failed to take its report");
  }

  #reasonToWait({ state, run, care }: Attempt): Wait {
    const suspect = this.#isolation.isolatedSuspect(this.#clock.now());
    const pool = this.#pools.of(run.domain);
    if (!this.#workers.knows(run.job)) {
      return { reason: "no-worker", text: `job ${run.job} is not registered on any worker` };
    }
    if (!this.#pools.has(run.domain)) return { reason: "domain", text: `domain ${run.domain} is not declared` };
    if (pool.size === 0) {
      return { reason: "domain", text: `domain ${run.domain} has no slots: the other domains take the whole pool` };
    }
    if (this.isDraining) return { reason: "engine", text: "another start: this process is being drained" };
    if (this.#paused) return { reason: "engine", text: "the engine has stopped taking work" };
    if (!this.#mayStart()) return { reason: "engine", text: "this member's lease has lapsed" };
    if (state === "unassigned") return { reason: "slot", text: `a free slot on a worker that has job ${run.job}` };
    if (care !== "plain" && suspect !== undefined) {
      const text = `it was lost ${run.interruptions} times and waits for ${suspect.run.taskName}, which was lost too`;
      return { reason: "isolation", text };
    }
    if (!pool.isFull && (care !== "plain" || this.#isolation.isQuiet(this.#clock.now()))) {
      return { reason: "isolation", text: "tasks that were lost with their process run alone for a moment" };
    }
    const isPoolFull = run.domain === "default" || !pool.isFull;
    return { reason: isPoolFull ? "slot" : "domain", text: `a free slot in domain ${run.domain}` };
  }
}

/** Starting jobs that end at once, the dispatcher hands the event loop back after this long. */
const loopShareMs = 5;

const always = (): boolean => true;

function executionOf({ worker, startedAt }: Attempt): { worker: string; startedAt: number } {
  return { worker: worker?.address ?? "", startedAt };
}

/** What goes wrong in a job, a worker answers as an outcome; one that throws is broken itself. */
function workerFailed(error: unknown): Outcome {
  const problem = error instanceof Error ? error.message : String(error);
  return { kind: "failure", failure: { type: "Error", message: `the worker failed: ${problem}`, retryable: true } };
}

export function defaultPoolSizeMax(cores: number): number {
  return Math.max(10, 2 * cores);
}

export interface DispatcherOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** The embedded worker. Without it, jobs run on those that connect. */
  readonly worker?: Worker;
  /** Slots of the embedded worker. */
  readonly poolSize?: number;
  /** The ceiling of `setPoolSize`. Default: the greater of 10 and twice the cores. */
  readonly poolSizeMax?: number;
  readonly cores?: number;
  readonly domains?: Readonly<Record<string, DomainOptions>>;
  /** Declared domains have as many slots here as `setQuota` says, none to begin with; their sizes are for all members. */
  readonly sharedDomains?: boolean;
  /** Somebody has begun to wait in a shared domain whose quota is used up. */
  readonly onDemand?: (domain: string) => void;
  /** An attempt may run on, on a worker that is not connected here any more. One that is not lost has left without a word. */
  readonly onDetached?: (run: TaskRun, gone: { worker: string; isLost: boolean }) => void;
  /** The lease: asked before every start, and again before the job is called if that took a while. */
  readonly mayStart?: () => boolean;
  /** Of `submit` only. */
  readonly queueMax?: number;
  /** How long a task waits before it may overtake its betters. */
  readonly agingMs?: number;
  /** How long `shutdown` waits for jobs to settle. */
  readonly graceMs?: number;
}

export interface WaitingRun {
  readonly run: TaskRun;
  readonly queuedAt: number;
  readonly wait: Wait;
}

export interface RunningRun {
  readonly run: TaskRun;
  readonly startedAt: number;
  readonly worker: string;
}

export interface DomainDemand {
  readonly running: number;
  readonly waiting: number;
}
