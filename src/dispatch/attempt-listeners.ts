import type { Logger } from "../base/logger.ts";
import type { Execution } from "../kernel/event.ts";
import type { Outcome } from "../kernel/input.ts";
import type { Attempt } from "./attempt.ts";
import type { TaskRun } from "./task-run.ts";

/**
 * Notifies the listeners of attempts. A listener that throws is a bug in the listener, which is logged: it must not leak a
 * slot or stop other attempts.
 */
export class AttemptListeners {
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  reportStart(attempt: Attempt): void {
    const { run } = attempt;
    try {
      run.listener.onStarted(run, executionOf(attempt));
    } catch (error) {
      this.#logFailure(run, error);
    }
  }

  /** `settle` is for the listener to call when the end is durable. */
  reportEnd(attempt: Attempt, outcome: Outcome, settle: (() => void) | undefined): void {
    const { run } = attempt;
    const execution = executionOf(attempt);
    try {
      if (settle === undefined) run.listener.onEnded(run, outcome, execution);
      else run.listener.onEnded(run, outcome, execution, settle);
    } catch (error) {
      this.#logFailure(run, error);
    }
  }

  reportWithdrawn(run: TaskRun, heartbeat?: string): void {
    try {
      run.listener.onWithdrawn(run, heartbeat);
    } catch (error) {
      this.#logFailure(run, error);
    }
  }

  reportStopped({ run, heartbeat }: Attempt): void {
    try {
      if (heartbeat?.details !== undefined) run.listener.onStopped?.(run, heartbeat.details);
    } catch (error) {
      this.#logFailure(run, error);
    }
  }

  #logFailure({ attemptId }: TaskRun, error: unknown): void {
    this.#logger.error({ attemptId, error }, "the listener of an attempt threw while it was notified");
  }
}

/** The worker and the start of an attempt that has a slot. */
export function executionOf({ worker, startedAt }: Attempt): Required<Execution> {
  return { worker: worker?.address ?? "", startedAt };
}
