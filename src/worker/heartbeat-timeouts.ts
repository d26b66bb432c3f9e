import type { Clock, Timer } from "../base/clock.ts";
import { EngineError } from "../base/error.ts";
import { localName } from "../base/namespace.ts";
import type { Abort } from "../dispatch/abort.ts";
import type { TaskRun } from "../dispatch/task-run.ts";
import type { Outcome } from "../kernel/input.ts";
import type { JobCall } from "./job-call.ts";

/** Called when the job of an attempt has sent no heartbeat within its heartbeat timeout: the attempt is to time out. */
export type OnSilent = (attemptId: string, error: EngineError) => void;

/**
 * Finds jobs that send no heartbeat within the heartbeat timeout of their task. It measures where the jobs run, so a worker
 * that is out of touch with its member loses no heartbeats.
 *
 * A timer that fires late shows that this process stood still: it was frozen, or its event loop was blocked. Jobs could not
 * send anything during that time, so it does not count.
 */
export class HeartbeatTimeouts {
  readonly #clock: Clock;
  readonly #onSilent: OnSilent;
  readonly #watched = new Map<string, WatchedJob>();

  constructor(clock: Clock, onSilent: OnSilent) {
    this.#clock = clock;
    this.#onSilent = onSilent;
  }

  /**
   * Calls the job of an attempt, and expects heartbeats until its outcome is known: from now on or, of a job with a thread or
   * process to be started, from the first one on, which its runner sends for it.
   */
  watch(
    { job: { isolation }, run, abort }: JobCall,
    call: () => Outcome | Promise<Outcome>,
  ): Outcome | Promise<Outcome> {
    const { attemptId } = run;
    const job = new WatchedJob(run, { clock: this.#clock, abort, onSilent: this.#onSilent });
    this.#watched.set(attemptId, job);
    const forget = (): void => {
      job.end();
      if (this.#watched.get(attemptId) === job) this.#watched.delete(attemptId);
    };
    const outcome = call();
    if (!("then" in outcome)) {
      forget();
      return outcome;
    }
    if (isolation === "inline") job.start();
    return outcome.finally(forget);
  }

  onHeartbeat(attemptId: string): void {
    const job = this.#watched.get(attemptId);
    job?.onHeartbeat();
    job?.start();
  }
}

interface WatchedJobParts {
  readonly clock: Clock;
  readonly abort: Abort;
  readonly onSilent: OnSilent;
}

class WatchedJob {
  readonly #run: TaskRun;
  readonly #parts: WatchedJobParts;
  readonly #timeoutMs: number;
  /** Monotonic time until which it may be silent. */
  #silentUntil = 0;
  #timer: Timer | undefined;
  #isOver = false;

  constructor(run: TaskRun, parts: WatchedJobParts) {
    this.#run = run;
    this.#parts = parts;
    this.#timeoutMs = run.heartbeatTimeoutMs ?? Infinity;
    this.onHeartbeat();
  }

  onHeartbeat(): void {
    this.#silentUntil = this.#parts.clock.monotonic() + this.#timeoutMs;
  }

  /** Does nothing if it has started. */
  start(): void {
    if (this.#timer === undefined) this.#armTimer();
  }

  #armTimer(): void {
    const { clock } = this.#parts;
    const dueAt = this.#silentUntil;
    this.#timer = clock.after(Math.max(0, dueAt - clock.monotonic()), () => {
      const lateMs = clock.monotonic() - dueAt;
      // Heartbeats of threads and processes that have arrived meanwhile are read first.
      clock.soon(() => this.#look(dueAt, lateMs));
    });
  }

  end(): void {
    this.#isOver = true;
    this.#timer?.cancel();
  }

  #look(dueAt: number, lateMs: number): void {
    const { clock, abort, onSilent } = this.#parts;
    if (this.#isOver || abort.aborted) return;
    if (this.#silentUntil > dueAt) return this.#armTimer();
    if (lateMs >= standstillMsMin) {
      this.#silentUntil = clock.monotonic() + Math.min(lateMs, this.#timeoutMs);
      return this.#armTimer();
    }
    onSilent(this.#run.attemptId, silenceOf(this.#run, this.#timeoutMs));
  }
}

/** Timers are a little late on any machine that has something to do. */
const standstillMsMin = 50;

function silenceOf({ workflowName, taskName }: TaskRun, timeoutMs: number): EngineError {
  const where = workflowName === "" ? "" : ` of workflow "${localName(workflowName)}"`;
  const message = `task "${taskName}"${where} sent no heartbeat within its heartbeat timeout of ${timeoutMs / 1000} s`;
  return new EngineError("HEARTBEAT_TIMEOUT", message);
}
