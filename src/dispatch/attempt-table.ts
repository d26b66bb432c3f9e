import { Attempt } from "./attempt.ts";
import type { TaskRun } from "./task-run.ts";

/** The attempts of a dispatcher, each from enqueue until it is `over`. */
export class AttemptTable {
  readonly byId = new Map<string, Attempt>();
  /** Those that have a slot. */
  readonly running = new Set<Attempt>();
  /** Those of `running` that are on remote workers. */
  readonly onRemoteWorkers = new Set<Attempt>();
  #arrivals = 0;

  has(attemptId: string): boolean {
    return this.byId.has(attemptId);
  }

  get(attemptId: string): Attempt | undefined {
    return this.byId.get(attemptId);
  }

  getRunning(attemptId: string): Attempt | undefined {
    const attempt = this.byId.get(attemptId);
    return attempt?.state === "running" ? attempt : undefined;
  }

  /** Makes an attempt that comes after all others. It is not in the table yet. */
  create(run: TaskRun, queuedAt: number): Attempt {
    return new Attempt(run, this.#arrivals++, queuedAt);
  }

  add(attempt: Attempt): void {
    this.byId.set(attempt.run.attemptId, attempt);
  }

  get waitingCount(): number {
    return this.byId.size - this.running.size;
  }
}
