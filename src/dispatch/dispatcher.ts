import type { Clock, Timer } from "../base/clock.ts";
import { EngineError } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { Outcome } from "../kernel/input.ts";
import { Attempt, type Care } from "./attempt.ts";
import type { DomainOptions, DomainOverview, DomainStatus } from "./domain-pool.ts";
import { DomainPools } from "./domain-pools.ts";
import { ParkedAttempts } from "./parked-attempts.ts";
import type { TaskRun } from "./task-run.ts";
import { UnsettledJobs } from "./unsettled-jobs.ts";
import type { Worker } from "./worker.ts";

export type { DomainOptions, DomainOverview, DomainStatus } from "./domain-pool.ts";

/**
 * Hands attempts to the worker, as many at a time as there are slots, in the order of domains, ranks and arrival.
 *
 * What stays true:
 * - I1 The slots in use are exactly the attempts in state `running`: one set of ids per domain, entered in `#start` and
 *   left in `#release`, nowhere else. Every way an attempt can end goes through `#release`, before anybody is told.
 * - I2 An attempt is in `#attempts` from enqueue until it is `over`, and is over once: what the worker says afterwards
 *   is counted and dropped. So its owner hears of one end at most, and of none after an abort.
 * - I3 No attempt starts while its domain or the whole pool is full. After shrinking more may run than fit; they are
 *   left alone, and nothing starts until they fit.
 * - I4 At most one suspect runs at a time. It starts among no careful runs but those that have been running for a
 *   while, and no careful run starts beside it; so one of them that kills its process does not do it at the expense of the
 *   other. One on its last chance starts among no young runs at all, and has its own first moments to itself.
 * - I5 Nothing starts inside a caller's `enqueue`: what is enqueued together is put in order before the first starts.
 * - I6 The timeout counts from the job's own start, not from the wait for a slot or for `confirmStart`.
 */
export class Dispatcher {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #worker: Worker;
  readonly #pools: DomainPools;
  readonly #queueMax: number;
  readonly #graceMs: number;

  readonly #attempts = new Map<string, Attempt>();
  readonly #running = new Set<Attempt>();
  readonly #parked = new ParkedAttempts();
  readonly #unsettled = new UnsettledJobs();
  #suspect: Attempt | undefined;
  #youthTimer: Timer | undefined;
  #arrivals = 0;
  #lateReports = 0;
  #paused = false;
  #shutDown = false;
  #pumpQueued = false;
  #turnBeganAt: number | undefined;

  /** POOL_SIZE_INVALID, OPTION_INVALID. */
  constructor(options: DispatcherOptions) {
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#worker = options.worker;
    this.#queueMax = options.queueMax ?? 10_000;
    this.#graceMs = options.graceMs ?? 5000;
    this.#pools = new DomainPools({
      poolSize: options.poolSize ?? 10,
      poolSizeMax: options.poolSizeMax ?? defaultPoolSizeMax(options.cores ?? 1),
      domains: options.domains ?? {},
      ...(options.agingMs === undefined ? {} : { agingMs: options.agingMs }),
    });
  }

  /** The engine's own way in: never refused. An attempt that is here already is not taken twice. */
  enqueue(run: TaskRun): void {
    if (this.#shutDown || this.#attempts.has(run.attemptId)) return;
    const attempt = new Attempt(run, this.#arrivals++, this.#clock.now());
    this.#attempts.set(run.attemptId, attempt);
    this.#pools.of(run.domain).put(attempt);
    this.#wake();
  }

  /** EXECUTOR_SHUT_DOWN, DOMAIN_UNKNOWN, QUEUE_FULL. */
  submit(run: TaskRun): void {
    if (this.#shutDown) throw new EngineError("EXECUTOR_SHUT_DOWN", "the executor is shut down and takes no tasks");
    this.#pools.declared(run.domain);
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
      if (attempt === undefined || attempt.state === "running") continue;
      this.#drop(attempt);
      this.#tell(attempt, () => attempt.run.owner.withdrawn(attempt.run));
    }
  }

  /** Nothing more is heard of these; those that run are told to stop. */
  abort(attemptIds: Iterable<string>): void {
    this.#abort(attemptIds, "the task was told to stop");
  }

  /** POOL_SIZE_INVALID. */
  setPoolSize(size: number): void {
    this.#pools.resize(size);
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

  /** The worker may know other jobs than before. */
  jobsChanged(): void {
    const known = this.#parked.takeKnown((job) => this.#worker.hasJob(job));
    for (const attempt of known) this.#pools.of(attempt.run.domain).put(attempt);
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

  /**
   * Empties the queue and tells what runs to stop; owners hear nothing. Resolves when the jobs have settled, or after a
   * grace. EXECUTOR_SHUT_DOWN the second time.
   */
  async shutdown(): Promise<void> {
    if (this.#shutDown) throw new EngineError("EXECUTOR_SHUT_DOWN", "the executor has been shut down already");
    this.#shutDown = true;
    this.#youthTimer?.cancel();
    this.#abort([...this.#attempts.keys()], "the executor is shutting down");
    await this.#unsettled.settled(this.#clock, this.#graceMs);
    const tasks = this.#unsettled.abandoned().map(({ run }) => run.taskName);
    if (tasks.length > 0) this.#logger.warn({ tasks }, "tasks that ignored the signal to stop are left behind");
    await this.#worker.stop();
  }

  /** DOMAIN_UNKNOWN. */
  domainStatus(domain: string): DomainStatus {
    const pool = this.#pools.declared(domain);
    return { running: pool.slots.size, size: pool.size };
  }

  /** Every declared domain, the highest priority first. */
  listDomains(): DomainOverview[] {
    return this.#pools.all.map((pool) => pool.overview());
  }

  /** In order of arrival, which is not the order they will start in. */
  listWaiting(): WaitingRun[] {
    const waiting = [...this.#attempts.values()].filter((attempt) => attempt.state !== "running");
    return waiting.map((attempt) => ({
      run: attempt.run,
      queuedAt: attempt.queuedAt,
      waitingFor: this.#reasonToWait(attempt),
    }));
  }

  listRunning(): RunningRun[] {
    return [...this.#running].map(({ run, startedAt }) => ({ run, startedAt, worker: this.#worker.address }));
  }

  /** Why it does not run; undefined if it runs, or is not here. */
  waitingFor(attemptId: string): string | undefined {
    const attempt = this.#attempts.get(attemptId);
    return attempt === undefined || attempt.state === "running" ? undefined : this.#reasonToWait(attempt);
  }

  get isShutDown(): boolean {
    return this.#shutDown;
  }

  get poolSize(): number {
    return this.#pools.size;
  }

  get waitingCount(): number {
    return this.#attempts.size - this.#running.size;
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

  #wake(): void {
    if (this.#pumpQueued || this.#paused || this.#shutDown) return;
    this.#pumpQueued = true;
    queueMicrotask(this.#pump);
  }

  /** Starts what may start. Jobs that end at once could keep it busy for ever, so it leaves the event loop its share. */
  readonly #pump = (): void => {
    this.#pumpQueued = false;
    while (!this.#paused && !this.#shutDown && this.#running.size < this.#pools.size) {
      const now = this.#clock.now();
      if (this.#turnBeganAt !== undefined && now - this.#turnBeganAt > loopShareMs) return;
      const attempt = this.#pools.take(now, (care) => this.#mayStart(care, now));
      if (attempt === undefined) return this.#awaitAge();
      if (!this.#worker.hasJob(attempt.run.job)) {
        this.#park(attempt);
        continue;
      }
      if (this.#turnBeganAt === undefined) {
        this.#turnBeganAt = now;
        this.#clock.soon(this.#endTurn);
      }
      this.#start(attempt, now);
    }
  };

  /** Most jobs have ended by now. Only those that have not are worth a timer. */
  readonly #endTurn = (): void => {
    this.#turnBeganAt = undefined;
    for (const attempt of this.#running) this.#armTimeout(attempt);
    this.#wake();
  };

  #mayStart(care: Care, now: number): boolean {
    if (care === "plain") return !this.#isQuiet(now);
    if (this.#suspect !== undefined) return false;
    if (care === "careful") return true;
    const young = this.#young(now);
    return care === "last" ? young.length === 0 : !young.some((attempt) => attempt.care === "careful");
  }

  /** One on its last chance has just started; or is next, and waits for those that run to be no longer young. */
  #isQuiet(now: number): boolean {
    if (this.#suspect !== undefined) return this.#suspect.care === "last" && this.#isYoung(this.#suspect, now);
    return this.#pools.hasNext("last") && !this.#pools.hasNext("careful") && !this.#pools.hasNext("suspect");
  }

  #young(now: number): Attempt[] {
    return [...this.#running].filter((attempt) => this.#isYoung(attempt, now));
  }

  #isYoung({ jobStartedAt }: Attempt, now: number): boolean {
    return jobStartedAt === undefined || now - jobStartedAt < youthMs;
  }

  /** What waits for others to grow older is looked at again in a while. */
  #awaitAge(): void {
    if (this.#youthTimer !== undefined || this.#running.size === 0) return;
    const isWaiting = this.#suspect?.care === "last" || this.#pools.hasNext("suspect") || this.#pools.hasNext("last");
    if (!isWaiting) return;
    this.#youthTimer = this.#clock.after(youthMs / 4, () => {
      this.#youthTimer = undefined;
      this.#wake();
    });
  }

  #park(attempt: Attempt): void {
    if (!this.#parked.add(attempt)) return;
    const { job, taskName } = attempt.run;
    this.#logger.warn({ job, taskName }, "tasks wait for a job that is not registered on any worker");
  }

  #start(attempt: Attempt, now: number): void {
    const { run } = attempt;
    this.#pools.of(run.domain).slots.add(run.attemptId);
    this.#running.add(attempt);
    if (attempt.isSuspect) this.#suspect = attempt;
    attempt.startedAt = now;
    this.#tell(attempt, () => run.owner.started(run, { worker: this.#worker.address, startedAt: now }));
    if (attempt.state !== "running") return;
    if (run.confirmStart === undefined) this.#execute(attempt);
    else void this.#executeConfirmed(attempt);
  }

  /** A start that cannot be confirmed is told to nobody: whoever refused it knows. */
  async #executeConfirmed(attempt: Attempt): Promise<void> {
    try {
      await attempt.run.confirmStart?.();
    } catch (error) {
      if (attempt.state !== "running") return;
      this.#release(attempt);
      this.#logger.warn({ attemptId: attempt.run.attemptId, error }, "a start was not confirmed; the task did not run");
      return;
    }
    this.#execute(attempt);
    this.#armTimeout(attempt);
  }

  #execute(attempt: Attempt): void {
    if (attempt.state !== "running") return;
    attempt.jobStartedAt = attempt.run.confirmStart === undefined ? attempt.startedAt : this.#clock.now();
    let outcome: Outcome;
    try {
      const answer = this.#worker.execute(attempt.run, attempt.abort);
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

  #await(attempt: Attempt, outcome: Promise<Outcome>): void {
    this.#unsettled.add(attempt);
    const settle = (settled: Outcome): void => {
      this.#unsettled.delete(attempt);
      this.#end(attempt, settled);
    };
    Promise.resolve(outcome).then(settle, (error: unknown) => settle(workerFailed(error)));
  }

  #end(attempt: Attempt, outcome: Outcome): void {
    if (attempt.state !== "running") {
      this.#lateReports++;
      return;
    }
    this.#release(attempt);
    const { run, startedAt } = attempt;
    this.#tell(attempt, () => run.owner.ended(run, outcome, { worker: this.#worker.address, startedAt }));
  }

  #armTimeout(attempt: Attempt): void {
    const { timeoutMs } = attempt.run;
    if (attempt.timer !== undefined || attempt.jobStartedAt === undefined || timeoutMs === Infinity) return;
    if (attempt.state !== "running") return;
    const elapsedMs = Math.max(0, this.#clock.now() - attempt.jobStartedAt);
    attempt.timer = this.#clock.after(Math.max(0, timeoutMs - elapsedMs), () => this.#expire(attempt));
  }

  #expire(attempt: Attempt): void {
    if (attempt.state !== "running") return;
    const { workflowName, taskName, timeoutMs } = attempt.run;
    const where = workflowName === "" ? "" : ` of workflow "${workflowName}"`;
    const message = `task "${taskName}"${where} ran longer than its timeout of ${timeoutMs / 1000} s`;
    const error = new EngineError("TASK_TIMEOUT", message);
    this.#end(attempt, { kind: "timeout", failure: { type: error.code, message, retryable: error.retryable } });
    attempt.abort.abort(error);
  }

  #abort(attemptIds: Iterable<string>, why: string): void {
    for (const id of attemptIds) {
      const attempt = this.#attempts.get(id);
      if (attempt === undefined) continue;
      if (attempt.state !== "running") this.#drop(attempt);
      else {
        this.#release(attempt);
        attempt.abort.abort(new DOMException(why, "AbortError"));
      }
    }
  }

  /** Of an attempt that waits. */
  #drop(attempt: Attempt): void {
    this.#attempts.delete(attempt.run.attemptId);
    if (attempt.state === "parked") this.#parked.remove(attempt);
    else this.#pools.of(attempt.run.domain).remove(attempt);
  }

  /** Of an attempt that runs. */
  #release(attempt: Attempt): void {
    const { attemptId, domain } = attempt.run;
    attempt.state = "over";
    attempt.timer?.cancel();
    this.#attempts.delete(attemptId);
    this.#running.delete(attempt);
    this.#pools.of(domain).slots.delete(attemptId);
    if (this.#suspect === attempt) this.#suspect = undefined;
    this.#wake();
  }

  /** An owner that throws is a bug of its own; it must not cost a slot or stop its neighbours. */
  #tell(attempt: Attempt, report: () => void): void {
    try {
      report();
    } catch (error) {
      this.#logger.error({ attemptId: attempt.run.attemptId, error }, "the owner of a task failed to take its report");
    }
  }

  #reasonToWait({ state, run, care }: Attempt): string {
    if (state === "parked" || !this.#worker.hasJob(run.job)) return `job ${run.job} is not registered on any worker`;
    const pool = this.#pools.of(run.domain);
    if (!this.#pools.has(run.domain)) return `domain ${run.domain} is not declared`;
    if (pool.size === 0) return `domain ${run.domain} has no slots: the other domains take the whole pool`;
    if (this.#paused) return "the engine has stopped taking work";
    if (care !== "plain" && this.#suspect !== undefined) {
      return `it was lost ${run.interruptions} times and waits for ${this.#suspect.run.taskName}, which was lost too`;
    }
    if (pool.slots.size < pool.size && (care !== "plain" || this.#isQuiet(this.#clock.now()))) {
      return "tasks that were lost with their process run alone for a moment";
    }
    return `a free slot in domain ${run.domain}`;
  }
}

/** A run this old has shown that it does not kill its process as soon as it starts. */
const youthMs = 2000;

/** Starting jobs that end at once, the dispatcher hands the event loop back after this long. */
const loopShareMs = 5;

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
  readonly worker: Worker;
  readonly poolSize?: number;
  /** The ceiling of `setPoolSize`. Default: the greater of 10 and twice the cores. */
  readonly poolSizeMax?: number;
  readonly cores?: number;
  readonly domains?: Readonly<Record<string, DomainOptions>>;
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
  readonly waitingFor: string;
}

export interface RunningRun {
  readonly run: TaskRun;
  readonly startedAt: number;
  readonly worker: string;
}
