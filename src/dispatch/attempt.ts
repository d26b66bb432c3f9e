import type { Timer } from "../base/clock.ts";
import { Abort } from "./abort.ts";
import type { TaskProgress } from "./task-progress.ts";
import type { TaskRun } from "./task-run.ts";
import type { Worker } from "./worker.ts";

/** Lost this often already, a run is suspected of killing its process. */
const interruptionsOfSuspect = 2;

/**
 * How far a run is trusted. `careful`: it was under way when a process died, and may be the reason. `suspect`: it was
 * lost twice. `last`: lost with its process once more, it fails.
 */
export type StartCare = "plain" | "careful" | "suspect" | "last";

/**
 * `unassigned` waits for a worker that has its job and a slot, and takes no part in the order; `over` may be reported on no
 * more.
 */
export type AttemptState = "queued" | "unassigned" | "running" | "over";

/** A run inside the dispatcher, from enqueue to its one report. */
export class Attempt {
  /** Another one if the instance was loaded anew while it ran. */
  run: TaskRun;
  /** Place in the order of arrival. */
  readonly arrival: number;
  readonly queuedAt: number;
  readonly care: StartCare;
  readonly abort = new Abort();
  state: AttemptState = "queued";
  progress: TaskProgress | undefined;
  /** Since it is running. */
  worker: Worker | undefined;
  startedAt = 0;
  /** It was running already when it came here, and cannot be started here again. */
  isAdopted = false;
  /** The time from which the timeout counts; absent until the job itself runs. */
  jobStartedAt: number | undefined;
  timer: Timer | undefined;
  /** On the monotonic clock: since when its worker runs it for this process. */
  followedSince = -Infinity;
  /** Its time was up while its worker was out of touch. */
  isOverdue = false;

  constructor(run: TaskRun, arrival: number, queuedAt: number) {
    this.run = run;
    this.arrival = arrival;
    this.queuedAt = queuedAt;
    this.care = careOf(run);
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
