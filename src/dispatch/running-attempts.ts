import type { Clock } from "../base/clock.ts";
import { EngineError } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import { localName } from "../base/namespace.ts";
import type { Outcome } from "../kernel/input.ts";
import { Attempt } from "./attempt.ts";
import { timeoutOutcome, withHeartbeat } from "./attempt-report.ts";
import { AttemptListeners, executionOf } from "./attempt-listeners.ts";
import type { AttemptTable } from "./attempt-table.ts";
import { AttemptTimeouts } from "./attempt-timeouts.ts";
import type { DispatcherDrains } from "./dispatcher-drains.ts";
import type { DispatcherOptions } from "./dispatcher-options.ts";
import type { DomainPools } from "./domain-pools.ts";
import type { Isolation } from "./isolation.ts";
import type { StartLoop } from "./start-loop.ts";
import type { TaskRun } from "./task-run.ts";
import type { UnsettledJobs } from "./unsettled-jobs.ts";
import { type ConnectedWorker, isConnected, type Worker, type WorkerAnswer } from "./worker.ts";
import type { WorkerRing } from "./worker-ring.ts";

export interface RunningAttemptsParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly table: AttemptTable;
  readonly pools: DomainPools;
  readonly workers: WorkerRing;
  readonly isolation: Isolation;
  readonly drains: DispatcherDrains;
  readonly unsettled: UnsettledJobs;
  readonly loop: StartLoop;
  readonly mayStart: () => boolean;
  /** Lets an attempt wait in the queue of its domain. */
  readonly queue: (attempt: Attempt) => void;
  readonly onDetached: DispatcherOptions["onDetached"];
}

/**
 * The attempts that have a slot, from their start to the one report of their end.
 *
 * Here the invariants I1, I2 and I6 to I8 of `Dispatcher` are kept: every end of an attempt passes through `#freeSlot`
 * before its listener is notified.
 */
export class RunningAttempts {
  readonly #parts: RunningAttemptsParts;
  readonly #table: AttemptTable;
  readonly #listeners: AttemptListeners;
  readonly #timeouts: AttemptTimeouts;
  #lateReports = 0;
  #stops = 0;

  constructor(parts: RunningAttemptsParts) {
    this.#parts = parts;
    this.#table = parts.table;
    this.#listeners = new AttemptListeners(parts.logger);
    this.#timeouts = new AttemptTimeouts(parts.clock, (attempt) => this.timeOut(attempt, timeoutOf(attempt.run)));
  }

  /** The number of reports that came after a timeout or an abort, or came twice. */
  get lateReports(): number {
    return this.#lateReports;
  }

  // Starting

  start(attempt: Attempt, worker: Worker, now: number): void {
    this.#occupy(attempt, worker, now);
    const { isCautious, awaitsGrant } = attempt.run;
    if (!isCautious && awaitsGrant !== true && !worker.isRemote) return this.#execute(attempt, now);
    this.#listeners.reportStart(attempt);
    if (attempt.state === "running") void this.#executeConfirmed(attempt);
  }

  /** Takes a slot for an attempt that runs on that worker already, and follows it. */
  adopt(attempt: Attempt, worker: ConnectedWorker, outcome: Promise<WorkerAnswer>, startedAt: number): void {
    attempt.state = "running";
    attempt.isAdopted = true;
    this.#occupy(attempt, worker, startedAt);
    attempt.jobStartedAt = startedAt;
    this.#await(attempt, outcome);
    this.#timeouts.arm(attempt);
  }

  #occupy(attempt: Attempt, worker: Worker, startedAt: number): void {
    const { attemptId, domain } = attempt.run;
    this.#parts.pools.of(domain).slots.add(attemptId);
    this.#table.running.add(attempt);
    this.#parts.isolation.onStarted(attempt);
    attempt.worker = worker;
    attempt.startedAt = startedAt;
    if (!isConnected(worker)) return;
    this.#table.onRemoteWorkers.add(attempt);
    if (!attempt.isAdopted) worker.reserve(attemptId);
  }

  async #executeConfirmed(attempt: Attempt): Promise<void> {
    if (!(await this.#isConfirmed(attempt)) || attempt.state !== "running") return;
    const isRemote = this.#table.onRemoteWorkers.has(attempt);
    // A pause does not withdraw what is on its way to a remote worker.
    if (isRemote && attempt.run.isPaused === true) this.requeue(attempt, "its instance is paused");
    else if (this.#parts.mayStart()) {
      attempt.isStartReported = true;
      this.#execute(attempt, this.#parts.clock.now());
      this.#timeouts.arm(attempt);
    } else if (isRemote) this.requeue(attempt, "the lease has lapsed");
    else this.interrupt(attempt);
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
      this.#parts.logger.warn({ attemptId: run.attemptId, error }, "a start was not confirmed; the task did not run");
      return false;
    }
  }

  /** A job that ends inside its call is reported by its end alone, which carries its start: most jobs are as short. */
  #execute(attempt: Attempt, now: number): void {
    attempt.jobStartedAt = now;
    if (attempt.worker?.isRemote) attempt.followedSince = this.#parts.clock.monotonic();
    let outcome: Outcome;
    try {
      const answer = (attempt.worker as Worker).execute(attempt.run, attempt.abort);
      if ("then" in answer) {
        this.#await(attempt, answer);
        if (!attempt.isStartReported && attempt.state === "running") this.#listeners.reportStart(attempt);
        return;
      }
      outcome = answer;
    } catch (error) {
      outcome = workerFailed(error);
    }
    this.#end(attempt, outcome);
  }

  #await(attempt: Attempt, answer: Promise<WorkerAnswer>): void {
    const remote = attempt.remoteWorker;
    const { unsettled } = this.#parts;
    if (remote === undefined) unsettled.add(attempt);
    const settle = (settled: WorkerAnswer): void => {
      if (remote === undefined) unsettled.delete(attempt);
      if (settled.kind !== "refused") this.#end(attempt, settled, remote);
      else if (attempt.state === "running") this.requeue(attempt, settled.why);
    };
    Promise.resolve(answer).then(settle, (error: unknown) => settle(workerFailed(error)));
  }

  /** Arms timeouts at the end of a tick: most jobs have ended by then and need no timer. */
  armTimeouts(): void {
    for (const attempt of this.#table.running) this.#timeouts.arm(attempt);
  }

  /** Arms the timeouts of overdue attempts again, because their worker is reachable. */
  rearmOverdue(worker: ConnectedWorker): void {
    for (const attempt of this.#table.onRemoteWorkers) if (attempt.worker === worker) this.#timeouts.rearm(attempt);
  }

  // Ending

  /** `from` is the remote worker that sent the result: it keeps the result until it is acknowledged. */
  #end(attempt: Attempt, outcome: Outcome, from?: ConnectedWorker): void {
    const { attemptId } = attempt.run;
    if (attempt.state !== "running") {
      this.#lateReports++;
      from?.acknowledge(attemptId);
      return;
    }
    const isIsolated = attempt.isSuspect && attempt.worker?.isRemote === false;
    const settle = isIsolated ? this.#parts.isolation.awaitDurableEnd(attempt) : undefined;
    this.#freeSlot(attempt);
    const ended = withHeartbeat(outcome, attempt.heartbeat?.details);
    this.#listeners.reportEnd(attempt, ended, from === undefined ? settle : () => from.acknowledge(attemptId));
  }

  /** Ends an attempt as lost with its remote worker, which is gone. */
  lose(attempt: Attempt): void {
    const { worker } = executionOf(attempt);
    this.#end(attempt, { kind: "lost" });
    this.#parts.onDetached?.(attempt.run, { worker, isLost: true });
  }

  /** Ends an attempt on the embedded worker as lost and aborts it, because the lease of this member has lapsed. */
  interrupt(attempt: Attempt): void {
    const { taskName } = attempt.run;
    this.#end(attempt, { kind: "lost" });
    const message = `task "${taskName}" is stopped: this member's lease has lapsed, so it may be run elsewhere`;
    attempt.abort.abort(new EngineError("MEMBER_LOST", message));
  }

  timeOut(attempt: Attempt, error: EngineError): void {
    const { remoteWorker } = attempt;
    // If this member is gone before the timeout is durable, the next owner of the shard gets a result that came late.
    remoteWorker?.keepResult(attempt.run.attemptId);
    this.#end(attempt, timeoutOutcome(error), remoteWorker);
    attempt.abort.abort(error);
    this.#awaitStop(attempt);
  }

  /** Aborts an attempt because this process stops. */
  stop(attempt: Attempt, why: string): void {
    this.#listeners.reportStopped(attempt);
    this.abort(attempt, why);
  }

  /** Aborts an attempt without notifying its listener. */
  abort(attempt: Attempt, why: string): void {
    this.#freeSlot(attempt);
    attempt.abort.abort(new DOMException(why, "AbortError"));
    this.#awaitStop(attempt);
  }

  /** Removes an attempt whose job was not called, and notifies its listener. */
  withdraw(attempt: Attempt): void {
    this.#freeSlot(attempt);
    this.#listeners.reportWithdrawn(attempt.run);
  }

  /** Notifies the listener of an attempt that was removed before its start. */
  reportWithdrawn(run: TaskRun): void {
    this.#listeners.reportWithdrawn(run);
  }

  /**
   * Puts an attempt that was to run on a remote worker back into the queue, in its old place. An adopted one, one
   * whose shard moves, or one whose instance is paused, is reported to its listener as withdrawn: its owner decides where
   * and when it runs. So is one that has sent details with a heartbeat, which the owner makes durable.
   */
  requeue(attempt: Attempt, why: string): void {
    const { run, arrival, queuedAt, worker, isAdopted } = attempt;
    const { attemptId } = run;
    this.#freeBothSlots(attempt);
    const details = attempt.heartbeat?.details;
    if (isAdopted || details !== undefined || run.isHandedOver === true || run.isPaused === true)
      return this.#listeners.reportWithdrawn(run, details);
    const message = "a worker did not take a task; it is queued again";
    this.#parts.logger.info({ attemptId, worker: worker?.address, why }, message);
    this.#parts.queue(new Attempt(run, arrival, queuedAt));
  }

  /** Removes an attempt that keeps running on its remote worker, without notifying its listener. */
  detach(attempt: Attempt): void {
    const { worker } = executionOf(attempt);
    this.#freeBothSlots(attempt);
    this.#parts.onDetached?.(attempt.run, { worker, isLost: false, heartbeat: attempt.heartbeat?.details });
  }

  /** Detaches an attempt whose owner is unknown: its worker announces it again. */
  unfollow(attempt: Attempt): void {
    const { worker } = executionOf(attempt);
    this.#freeSlot(attempt);
    attempt.remoteWorker?.unfollow(attempt.run.attemptId);
    this.#parts.onDetached?.(attempt.run, { worker, isLost: false, heartbeat: attempt.heartbeat?.details });
  }

  // Slots

  /**
   * Keeps the domain's slot until the remote worker has stopped an aborted attempt: the abort is a message and the worker
   * may be unreachable. The attempt itself may be queued again by then, so the slot gets a name of its own.
   */
  #awaitStop({ remoteWorker, run }: Attempt): void {
    const stopping = remoteWorker?.whenStopped(run.attemptId);
    if (remoteWorker === undefined || stopping === undefined) return;
    const release = this.holdSlot(run);
    void stopping.then((how) => {
      if (how === "disconnected") this.#parts.onDetached?.(run, { worker: remoteWorker.address, isLost: true });
      release();
    });
  }

  /** Takes a slot of its domain for an attempt that runs and is not followed here; the returned function frees it. */
  holdSlot({ attemptId, domain }: Pick<TaskRun, "attemptId" | "domain">): () => void {
    const { pools, loop } = this.#parts;
    const { slots } = pools.of(domain);
    const name = `${attemptId} until it stops, ${++this.#stops}`;
    slots.add(name);
    return () => {
      slots.delete(name);
      loop.recallUnassigned();
      loop.wake();
    };
  }

  /** Frees the attempt's slot here, and the one on its remote worker too. */
  #freeBothSlots(attempt: Attempt): void {
    this.#freeSlot(attempt);
    attempt.remoteWorker?.forget(attempt.run.attemptId);
  }

  /** Removes a running attempt and frees its slot. */
  #freeSlot(attempt: Attempt): void {
    const { attemptId, domain } = attempt.run;
    const { pools, isolation, workers, drains, loop } = this.#parts;
    attempt.state = "over";
    attempt.timer?.cancel();
    this.#table.byId.delete(attemptId);
    this.#table.running.delete(attempt);
    pools.of(domain).slots.delete(attemptId);
    isolation.onEnded(attempt);
    if (workers.connected.length > 0 || this.#table.onRemoteWorkers.size > 0) this.#freeWorkerSlot(attempt);
    drains.resolve();
    loop.wake();
  }

  /** Frees the slot on one of several workers, for which unassigned attempts may be waiting. */
  #freeWorkerSlot(attempt: Attempt): void {
    this.#parts.loop.recallUnassigned();
    const hasStarted = attempt.jobStartedAt !== undefined;
    if (this.#table.onRemoteWorkers.delete(attempt) && !hasStarted) attempt.remoteWorker?.forget(attempt.run.attemptId);
  }
}

function timeoutOf({ workflowName, taskName, timeoutMs }: TaskRun): EngineError {
  const where = workflowName === "" ? "" : ` of workflow "${localName(workflowName)}"`;
  const message = `task "${taskName}"${where} ran longer than its timeout of ${timeoutMs / 1000} s`;
  return new EngineError("TASK_TIMEOUT", message);
}

/** The outcome for a worker that throws: failures of jobs are outcomes, so the worker itself is broken. */
function workerFailed(error: unknown): Outcome {
  const problem = error instanceof Error ? error.message : String(error);
  return { kind: "failure", failure: { type: "Error", message: `the worker failed: ${problem}`, retryable: true } };
}
