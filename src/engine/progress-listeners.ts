import { messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import { localName, namespaceOf } from "../base/namespace.ts";
import type { TaskProgress } from "../dispatch/task-progress.ts";
import type { TaskRun } from "../dispatch/task-run.ts";

/** The progress of a running task, as `executor.onTaskProgress` passes it on. */
export interface TaskProgressReport {
  readonly instanceId: string;
  readonly workflowName: string;
  /** The task's number within the instance. */
  readonly task: number;
  readonly taskName: string;
  readonly attempt: number;
  readonly progress: TaskProgress;
}

export type ProgressListener = (report: TaskProgressReport, namespace: string) => void;

/** Passes the progress of jobs that run for this process on to its listeners. */
export class ProgressListeners {
  readonly #listeners = new Set<ProgressListener>();

  /** The returned function removes the listener. */
  add(listener: ProgressListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  report(run: TaskRun, progress: TaskProgress, logger: Logger): void {
    if (this.#listeners.size === 0) return;
    const { task, taskName, attempt } = run;
    const names = { instanceId: localName(run.instanceId), workflowName: localName(run.workflowName) };
    const namespace = namespaceOf(run.instanceId);
    for (const listener of this.#listeners) {
      try {
        listener({ ...names, task, taskName, attempt, progress }, namespace);
      } catch (error) {
        logger.warn({ error: messageOf(error) }, "a listener for progress threw; it is called again");
      }
    }
  }
}
