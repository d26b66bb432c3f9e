import type { Clock, Timer } from "../../base/clock.ts";
import type { TaskProgressReport } from "../../engine/progress-listeners.ts";

/** The pause between two messages about one instance. */
const pauseMs = 500;

/** The progress of tasks of one instance, as it is pushed. */
export interface PushedProgress {
  readonly instanceId: string;
  readonly tasks: readonly Pick<TaskProgressReport, "task" | "taskName" | "attempt" | "progress">[];
}

/**
 * Collects the progress of the instances that are followed one by one, and passes it on at most twice a second for each. Progress
 * is not a change: it has no cursor, and what is not sent is replaced by the next report.
 */
export class ProgressFeed {
  readonly #clock: Clock;
  readonly #isFollowed: (instanceId: string) => boolean;
  readonly #push: (progress: PushedProgress) => void;
  readonly #due = new Map<string, Map<number, TaskProgressReport>>();
  readonly #timers = new Map<string, Timer>();

  constructor(
    clock: Clock,
    parts: { isFollowed: (instanceId: string) => boolean; push: (progress: PushedProgress) => void },
  ) {
    this.#clock = clock;
    this.#isFollowed = parts.isFollowed;
    this.#push = parts.push;
  }

  hear(report: TaskProgressReport): void {
    const { instanceId, task } = report;
    if (!this.#isFollowed(instanceId)) return;
    let due = this.#due.get(instanceId);
    if (due === undefined) this.#due.set(instanceId, (due = new Map<number, TaskProgressReport>()));
    due.set(task, report);
    if (!this.#timers.has(instanceId)) this.#flush(instanceId);
  }

  stop(): void {
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
    this.#due.clear();
  }

  #flush(instanceId: string): void {
    this.#timers.delete(instanceId);
    const due = this.#due.get(instanceId);
    if (due === undefined) return;
    this.#due.delete(instanceId);
    const tasks = Array.from(due.values(), ({ task, taskName, attempt, progress }) => ({
      task,
      taskName,
      attempt,
      progress,
    }));
    this.#push({ instanceId, tasks });
    this.#timers.set(
      instanceId,
      this.#clock.after(pauseMs, () => this.#flush(instanceId)),
    );
  }
}
