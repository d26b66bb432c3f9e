import type { Clock, Timer } from "../base/clock.ts";
import type { EngineError } from "../base/error.ts";
import { Abort } from "../dispatch/abort.ts";
import type { AttemptDescriptor } from "../dispatch/attempt-descriptor.ts";
import { type AttemptReport, timeoutOutcome, withHeartbeat } from "../dispatch/attempt-report.ts";
import type {
  AbortOrder,
  FinishedAttempt,
  Grant,
  GrantKey,
  RunningAttempt,
  LeaseRenewal,
  WorkerMessage,
} from "../dispatch/session-message.ts";
import { findOutcomeProblem, messageLengthMax, outcomeBytesMax } from "../dispatch/session-schema.ts";
import type { AttemptListener, TaskRun } from "../dispatch/task-run.ts";
import type { Outcome } from "../kernel/input.ts";
import { failureOutcome } from "./call-job.ts";
import type { EmbeddedWorker } from "./embedded-worker.ts";
import { ReportSender } from "./report-sender.ts";
import { GrantWindow } from "./grant-window.ts";
import { earlier, elapsedMs, type Moment } from "../base/moment.ts";
import { localName } from "../base/namespace.ts";

export interface GrantedRunsParts {
  readonly clock: Clock;
  readonly worker: EmbeddedWorker;
  readonly slots: number;
  readonly send: (message: WorkerMessage) => void;
}

/**
 * The attempts of a remote worker, from the grant until the result is acknowledged.
 *
 * - G1 An attempt is in `#running` or in `#results` or in neither; so it never runs twice at once. It leaves `#running` when
 *   its job ends or it is stopped, and later reports of the job are dropped.
 * - G2 Nothing runs for longer than `leaseMs` after its last renewal (M3). So a member that declares this worker lost can be
 *   sure that its attempts have stopped: that member waits longer, and counts from later.
 */
export class GrantedRuns {
  readonly #parts: GrantedRunsParts;
  readonly #running = new Map<string, GrantedRun>();
  readonly #results = new Map<string, PendingResult>();
  /** The latest epoch seen of each shard, in the latest incarnation of the store: epochs of another do not compare. */
  readonly #epochs = new Map<number, number>();
  #incarnation = 0;
  #window = new GrantWindow();
  /** The lease of an attempt: without a renewal for this long, it is stopped. */
  #leaseMs: number;
  #isClosed = false;
  #isStopping = false;
  #timer: Timer | undefined;
  readonly #reports: ReportSender;
  readonly #idleWaiters: (() => void)[] = [];

  constructor(parts: GrantedRunsParts, leaseMs: number) {
    this.#parts = parts;
    this.#leaseMs = leaseMs;
    this.#reports = new ReportSender(parts.clock, (reports) => parts.send({ type: "Reported", reports }));
  }

  /** Sets the lease of all attempts, because the member has its own patience. */
  setLease(leaseMs: number): void {
    this.#leaseMs = leaseMs;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#armTimer();
  }

  get runningCount(): number {
    return this.#running.size;
  }

  get resultCount(): number {
    return this.#results.size;
  }

  isRunning(attemptId: string): boolean {
    return this.#running.has(attemptId);
  }

  // Messages to the member

  /** Starts a new numbering of grants; all present attempts come from an earlier connection. */
  onReconnect(): void {
    this.#window = new GrantWindow();
    for (const run of this.#running.values()) {
      run.grant = 0;
      run.isHeartbeatKnown = false;
    }
    for (const result of this.#results.values()) result.grant = 0;
  }

  /** Closes all grants up to the highest seen, for a heartbeat, and returns its number. */
  closeGrants(): number {
    return this.#window.close();
  }

  get runningKeys(): GrantKey[] {
    return Array.from(this.#running.values(), keyOf);
  }

  get finishedKeys(): GrantKey[] {
    return Array.from(this.#results.values(), keyOf);
  }

  /**
   * All attempts and results, for a hello. Results that would make the message too long are listed as running; they are sent
   * separately soon after.
   */
  get all(): { running: RunningAttempt[]; results: FinishedAttempt[] } {
    const running = Array.from(this.#running.values(), ({ grant, descriptor }) => ({ grant, descriptor }));
    const results: FinishedAttempt[] = [];
    let bytes = 0;
    for (const { grant, descriptor, outcome } of this.#results.values()) {
      const added = outcomeBytesMax(outcome);
      if (bytes + added > helloResultsBytesMax) running.push({ grant, descriptor });
      else {
        bytes += added;
        results.push({ grant, descriptor, outcome });
      }
    }
    return { running, results };
  }

  /** Sends a report of a job soon, unless its attempt has ended. */
  report(attemptId: string, report: AttemptReport): void {
    const run = this.#running.get(attemptId);
    if (run === undefined) return;
    if (report.heartbeat !== undefined) {
      run.heartbeat = report.heartbeat.details;
      run.isHeartbeatKnown = true;
    }
    this.#reports.note(attemptId, report);
  }

  /** Ends an attempt whose job has sent no heartbeat in time. */
  timeOut(attemptId: string, error: EngineError): void {
    const run = this.#running.get(attemptId);
    if (run === undefined) return;
    this.#running.delete(attemptId);
    this.#finish(run, timeoutOutcome(error));
    run.abort.abort(error);
  }

  resendResults(): void {
    for (const result of this.#results.values()) this.#sendResult(result);
  }

  // Messages from the member

  /** `renewedAt` is the time of the last renewal by this member, from which it counts before it declares the worker lost. */
  onGrant(message: Grant, renewedAt: Moment): void {
    const { grant, descriptor } = message;
    const { attemptId } = descriptor;
    const result = this.#results.get(attemptId);
    if (!this.#window.take(grant)) {
      if (result?.grant === grant) this.#sendResult(result);
      return;
    }
    const fenced = this.#reasonFenced(message);
    if (fenced === undefined && result !== undefined && result.outcome.kind !== "lost") {
      result.grant = grant;
      return this.#sendResult(result);
    }
    const why = fenced ?? this.#reasonToRefuse(message, renewedAt);
    if (why !== undefined) return this.#parts.send({ type: "Refused", attemptId, grant, why });
    this.#results.delete(attemptId);
    this.#start(message, { descriptor, grant, abort: new Abort(), renewedAt });
  }

  abort({ attemptId, grant, reason }: AbortOrder): void {
    // A grant that arrives after its abort must not start any more.
    if (grant > 0) this.#window.take(grant);
    const run = this.#running.get(attemptId);
    if (run?.grant === grant) {
      const error = new Error(reason.message);
      error.name = reason.name;
      this.#stop(run, error);
    }
    this.#parts.send({ type: "Refused", attemptId, grant, why: "the task was aborted" });
  }

  onAcknowledged({ attemptId, grant }: GrantKey): void {
    if (this.#results.get(attemptId)?.grant !== grant) return;
    this.#results.delete(attemptId);
    this.#resolveIfIdle();
  }

  /** Applies the member's answer to a heartbeat that was sent at that time. */
  applyRenewal({ unwanted, undecided, renewalAges }: LeaseRenewal, sentAt: Moment): void {
    const { clock } = this.#parts;
    for (const { attemptId, grant } of unwanted) {
      const run = this.#running.get(attemptId);
      if (run?.grant === grant) this.#stop(run, new DOMException("the task is not wanted any more", "AbortError"));
    }
    const open = new Set(undecided.map(({ attemptId }) => attemptId));
    const ages = new Map(renewalAges.map(({ attemptId, ageMs }) => [attemptId, ageMs]));
    for (const run of this.#running.values()) {
      const { attemptId } = run.descriptor;
      if (open.has(attemptId)) continue;
      this.#repeatHeartbeat(run);
      const renewedAt = earlier(sentAt, ages.get(attemptId) ?? 0);
      // The machine may have slept between two renewals, so compare elapsed times: the monotonic clock alone may be wrong.
      if (elapsedMs(clock, renewedAt) < elapsedMs(clock, run.renewedAt)) run.renewedAt = renewedAt;
    }
  }

  /** Another member than the one that received the last heartbeat follows the attempt now. */
  #repeatHeartbeat(run: GrantedRun): void {
    const { heartbeat: details, isHeartbeatKnown } = run;
    if (details === undefined || isHeartbeatKnown) return;
    run.isHeartbeatKnown = true;
    this.#reports.note(run.descriptor.attemptId, { heartbeat: { details } });
  }

  // Stopping

  /** Refuses new grants. */
  close(): void {
    this.#isClosed = true;
  }

  /** True if it refuses new grants. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** The number of slots that are announced. */
  get slots(): number {
    return this.#isClosed ? 0 : this.#parts.slots;
  }

  /** Refuses new grants and aborts all running attempts. */
  stop(): void {
    this.close();
    this.#isStopping = true;
    for (const { abort } of this.#running.values()) {
      abort.abort(new DOMException("the worker is stopping", "AbortError"));
    }
  }

  /** Refuses the attempts that have not stopped by now, and returns them. */
  abandon(): GrantedRun[] {
    this.#timer?.cancel();
    const left = [...this.#running.values()];
    this.#running.clear();
    for (const run of left) this.#refuse(run);
    this.#reports.stop();
    return left;
  }

  /** Resolves when nothing runs and every result is acknowledged. */
  whenIdle(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#idleWaiters.push(resolve);
    this.#resolveIfIdle();
    return promise;
  }

  #resolveIfIdle(): void {
    if (this.#running.size + this.#results.size > 0) return;
    for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }

  // Running

  /** Returns why a grant of an earlier owner of the shard is refused; undefined if it is not. */
  #reasonFenced({ fence }: Grant): string | undefined {
    if (fence === undefined) return undefined;
    const { incarnation } = fence;
    if (incarnation < this.#incarnation)
      return `the store has a later incarnation: ${this.#incarnation}, not ${incarnation}`;
    if (incarnation > this.#incarnation) this.#epochs.clear();
    this.#incarnation = incarnation;
    const epoch = this.#epochs.get(fence.shard) ?? 0;
    if (fence.epoch < epoch) return `shard ${fence.shard} has a later owner: epoch ${epoch}, not ${fence.epoch}`;
    this.#epochs.set(fence.shard, fence.epoch);
    return undefined;
  }

  #reasonToRefuse({ descriptor }: Grant, renewedAt: Moment): string | undefined {
    const { clock, worker, slots } = this.#parts;
    const { attemptId, job } = descriptor;
    const running = this.#running.get(attemptId);
    if (running !== undefined) {
      this.#stop(running, new DOMException("the task was granted anew", "AbortError"));
      return "an earlier go at the attempt was still running";
    }
    if (this.#isClosed) return "the worker is stopping";
    if (!worker.hasJob(job)) return `the worker has no job ${localName(job)}`;
    if (this.#running.size >= slots) return `all ${slots} slots are in use`;
    if (elapsedMs(clock, renewedAt) >= this.#leaseMs) return "the worker has been cut off for too long";
    return undefined;
  }

  #start(message: Grant, run: GrantedRun): void {
    this.#running.set(run.descriptor.attemptId, run);
    this.#armTimer();
    const answer = this.#parts.worker.execute(taskRunOf(message), run.abort);
    if (!("then" in answer)) return this.#onEnded(run, answer);
    answer.then(
      // The embedded worker has no `mayStart` here, so it never refuses.
      (given) => this.#onEnded(run, given.kind === "refused" ? failureOutcome(new Error(given.why)) : given),
      (error: unknown) => this.#onEnded(run, failureOutcome(error)),
    );
  }

  #onEnded(run: GrantedRun, outcome: Outcome): void {
    if (!this.#isRunning(run)) return;
    this.#running.delete(run.descriptor.attemptId);
    // An attempt that was aborted because the worker stops counts only if it did its work.
    const isDone = outcome.kind === "success" || outcome.kind === "awaits";
    if (this.#isStopping && !isDone) this.#refuse(run);
    else this.#finish(run, outcome);
    this.#resolveIfIdle();
  }

  #finish({ descriptor, grant, heartbeat }: GrantedRun, given: Outcome): void {
    const outcome = withHeartbeat(sendableOutcome(given, descriptor.taskName), heartbeat);
    const result = { descriptor, grant, outcome };
    this.#results.set(descriptor.attemptId, result);
    this.#sendResult(result);
  }

  #refuse({ descriptor, grant }: GrantedRun): void {
    // The member gives the details of the last heartbeat to the next run.
    this.#reports.flush();
    this.#parts.send({ type: "Refused", attemptId: descriptor.attemptId, grant, why: "the worker is stopping" });
  }

  /** Stops an attempt without keeping a result. */
  #stop(run: GrantedRun, reason: Error): void {
    this.#running.delete(run.descriptor.attemptId);
    run.abort.abort(reason);
    this.#resolveIfIdle();
  }

  #isRunning(run: GrantedRun): boolean {
    return this.#running.get(run.descriptor.attemptId) === run;
  }

  #sendResult({ descriptor, grant, outcome }: PendingResult): void {
    const { attemptId, startedAt } = descriptor;
    this.#parts.send({ type: "Result", attemptId, grant, outcome, startedAt });
  }

  /** Arms one timer for the lease that expires first; renewals only postpone it. */
  #armTimer(): void {
    if (this.#timer !== undefined || this.#running.size === 0) return;
    const { clock } = this.#parts;
    const leftMs = Array.from(this.#running.values(), (run) => this.#leaseMs - elapsedMs(clock, run.renewedAt));
    // The timer may fire slightly early; then the next delay must not be zero.
    this.#timer = clock.after(Math.max(1, Math.min(...leftMs)), () => {
      this.#timer = undefined;
      this.stopExpired();
      this.#armTimer();
    });
  }

  /** Stops attempts whose lease has expired. Also called periodically, because timers do not count the time a machine sleeps. */
  stopExpired(): void {
    const { clock } = this.#parts;
    for (const run of this.#running.values()) {
      if (elapsedMs(clock, run.renewedAt) < this.#leaseMs) continue;
      this.#stop(run, new DOMException("the lease of the task has expired: no member renewed it", "AbortError"));
      this.#finish(run, { kind: "lost" });
    }
  }
}

/** The maximum of results in a hello; the rest of it is names. */
const helloResultsBytesMax = messageLengthMax / 2;

/** An attempt that this worker runs. */
export interface GrantedRun {
  readonly descriptor: AttemptDescriptor;
  grant: number;
  readonly abort: Abort;
  renewedAt: Moment;
  /** The last details that its job has sent with a heartbeat. */
  heartbeat?: string | undefined;
  /** True once its last heartbeat was sent over this connection. */
  isHeartbeatKnown?: boolean;
}

interface PendingResult {
  readonly descriptor: AttemptDescriptor;
  grant: number;
  readonly outcome: Outcome;
}

function keyOf({ grant, descriptor }: RunningAttempt): GrantKey {
  return { attemptId: descriptor.attemptId, grant };
}

/** Turns an outcome that the member would refuse because of its size into a failure; otherwise it would be sent for ever. */
function sendableOutcome(outcome: Outcome, taskName: string): Outcome {
  const problem = findOutcomeProblem(outcome);
  if (problem === undefined) return outcome;
  const message = `what task "${taskName}" gave cannot be sent to the server: ${problem}`;
  return { kind: "failure", failure: { type: "OUTPUT_TOO_LARGE", message, retryable: false } };
}

/** A listener that ignores notifications: a remote worker sends messages to its member instead. */
const nobody: AttemptListener = { onStarted: () => undefined, onEnded: () => undefined, onWithdrawn: () => undefined };

/** A run for the embedded worker. Order, isolation and timeout are managed by the member. */
function taskRunOf({ descriptor, params, inputs, completionToken }: Grant): TaskRun {
  return {
    ...descriptor,
    params,
    rank: 0,
    successors: 0,
    timeoutMs: descriptor.timeoutMs ?? Infinity,
    interruptions: 0,
    isCautious: false,
    confirmStart: () => Promise.resolve(),
    inputs: () => inputs,
    completionToken,
    listener: nobody,
  };
}
