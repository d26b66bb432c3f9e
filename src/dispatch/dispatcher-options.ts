import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/logger.ts";
import type { DomainOptions } from "./domain-pool.ts";
import type { TaskProgress } from "./task-progress.ts";
import type { TaskRun } from "./task-run.ts";
import type { TaskWait } from "./wait-reason.ts";
import type { ConnectedWorker, Worker } from "./worker.ts";
import type { WorkerSelector } from "./worker-selector.ts";

export interface DispatcherOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** The embedded worker. Without it, jobs run on remote workers only. */
  readonly worker?: Worker;
  /** Slots of the embedded worker. */
  readonly poolSize?: number;
  /** The maximum of `setPoolSize`. Default: the greater of 10 and twice the cores. */
  readonly poolSizeMax?: number;
  readonly cores?: number;
  readonly domains?: Readonly<Record<string, DomainOptions>>;
  /** Members share the domains: each has as many slots here as `setQuota` says, at first none; sizes are cluster-wide. */
  readonly sharedDomains?: boolean;
  /** Called when an attempt begins to wait in a shared domain whose quota is used up. */
  readonly onDemand?: (domain: string) => void;
  /** Called when attempts wait after all that may start here have started. */
  readonly onBacklog?: () => void;
  /** True if a worker of another member may run such attempts, as far as this one knows. */
  readonly hasElsewhere?: (selector: WorkerSelector) => boolean;
  /** Called when an attempt may keep running on a worker that this member does not serve any more. Its listener is notified only if it is lost. */
  readonly onDetached?: (run: TaskRun, gone: DetachedAttempt) => void;
  /** Called when the attempts of a drained remote worker have ended. */
  readonly onWorkerDrained?: (worker: ConnectedWorker) => void;
  /** Called when a running job has reported its progress. */
  readonly onProgress?: (run: TaskRun, progress: TaskProgress) => void;
  /** True if the lease is valid: asked before every start, and again before the job is called if that took a while. */
  readonly mayStart?: () => boolean;
  /** The maximum of waiting tasks for `submit`; `enqueue` has none. */
  readonly queueMax?: number;
  /** Time a task waits before it may overtake tasks of a better rank. */
  readonly agingMs?: number;
  /** Time `shutdown` waits for jobs to settle. */
  readonly graceMs?: number;
}

/** An attempt that this process does not follow any more. */
export interface DetachedAttempt {
  /** The address of its worker. */
  readonly worker: string;
  readonly isLost: boolean;
  /** The details of its last heartbeat: JSON text. */
  readonly heartbeat?: string | undefined;
}

export interface WaitingRun {
  readonly run: TaskRun;
  readonly queuedAt: number;
  readonly wait: TaskWait;
}

export interface RunningRun {
  readonly run: TaskRun;
  readonly startedAt: number;
  readonly worker: string;
  readonly progress?: TaskProgress;
}

export interface DomainDemand {
  readonly running: number;
  readonly waiting: number;
}
