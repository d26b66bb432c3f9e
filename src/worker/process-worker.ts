import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/logger.ts";
import type { Abort } from "../dispatch/abort.ts";
import type { Outcome } from "../kernel/input.ts";
import { JobProcess, type ProcessLimits } from "./job-process.ts";
import type { JobOrder } from "./order-message.ts";
import type { OrderServices } from "./sent-order.ts";
import { stopOnAbort } from "./stop-on-abort.ts";

export interface ProcessWorkerOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** The time between the abort of a job and the end of its processes. */
  readonly graceMs?: number;
}

/**
 * Runs jobs in child processes, one for each attempt: the dispatcher's slots limit them. When an attempt ends, is aborted or
 * loses its worker, its process is killed with all that it has started.
 */
export class ProcessWorker {
  readonly #options: ProcessWorkerOptions;
  readonly #running = new Set<JobProcess>();
  #isStopped = false;

  constructor(options: ProcessWorkerOptions) {
    this.#options = options;
  }

  /** Runs an attempt in a process of its own. Never rejects. */
  async execute(order: JobOrder, abort: Abort, services: OrderServices & ProcessLimits = {}): Promise<Outcome> {
    if (this.#isStopped || abort.aborted) return { kind: "lost" };
    const { clock, logger, graceMs = 2000 } = this.#options;
    const process = new JobProcess(order, { ...services, logger });
    this.#running.add(process);
    const release = stopOnAbort(abort, process, { clock, graceMs });
    const outcome = await process.run();
    release();
    this.#running.delete(process);
    return outcome;
  }

  /** Kills all processes. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(Array.from(this.#running, (process) => process.kill()));
  }
}
