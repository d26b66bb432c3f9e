import type { Timer } from "../base/clock.ts";
import { Abort } from "./abort.ts";
import type { JobHeartbeat } from "./attempt-report.ts";
import type { TaskProgress } from "./task-progress.ts";
import type { TaskRun } from "./task-run.ts";
import { type ConnectedWorker, isConnected, type Worker } from "./worker.ts";

/** The number of losses after which a run is suspected of killing its process. */
const interruptionsOfSuspect = 2;

/**
 * The isolation class of a run. `careful`: it was running when a process died, and may be the cause. `suspect`: it was
 * lost twice. `last`: it fails if it is lost with its process once more.
 */
export type StartCare = "plain" | "careful" | "suspect" | "last";

/**
 * `unassigned`: waits for a worker with its job and a free slot, outside the queues. `placing`: its start on another member
 * is being made durable. `over`: has ended; later reports are dropped.
 */
export type AttemptState = "queued" | "unassigned" | "placing" | "running" | "over";

/** The last heartbeat of the attempt's job that this process has received. */
export interface ReceivedHeartbeat extends JobHeartbeat {
  readonly at: number;
}

/** A run inside the dispatcher, from enqueue to its one report. */
export class Attempt {
  /** Replaced by another run if the instance is loaded again meanwhile. */
  run: TaskRun;
  /** Position in the order of arrival. */
  readonly arrival: number;
  readonly queuedAt: number;
  readonly care: StartCare;
  readonly abort = new Abort();
  state: AttemptState = "queued";
  progress: TaskProgress | undefined;
  heartbeat: ReceivedHeartbeat | undefined;
  /** Set when it starts. */
  worker: Worker | undefined;
  startedAt = 0;
  /** True if its listener was notified of the start before the job was called. */
  isStartReported = false;
  /** True if the attempt was already running when it was added, and cannot be started here again. */
  isAdopted = false;
  /** Start of the job, from which the timeout counts; absent until then. */
  jobStartedAt: number | undefined;
  timer: Timer | undefined;
  /** Monotonic time since which its worker runs it for this process. */
  followedSince = -Infinity;
  /** True if the timeout passed while the worker was unreachable. */
  isOverdue = false;

  constructor(run: TaskRun, arrival: number, queuedAt: number) {
    this.run = run;
    this.arrival = arrival;
    this.queuedAt = queuedAt;
    this.care = careOf(run);
  }

  get remoteWorker(): ConnectedWorker | undefined {
    return this.worker !== undefined && isConnected(this.worker) ? this.worker : undefined;
  }

  get isSuspect(): boolean {
    return this.care === "suspect" || this.care === "last";
  }
}

function careOf({ interruptions, isLastTry, isCautious }: TaskRun): StartCare {
  if (isLastTry) return "last";
  if (interruptions >= interruptionsOfSuspect) return "suspect";
  return interruptions > 0 || isCautious ? "careful" : "plain";
}
