import type { ResourceLimits } from "node:worker_threads";
import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/logger.ts";
import type { Outcome } from "../kernel/input.ts";
import type { Abort } from "../dispatch/abort.ts";
import { failureOutcome } from "./call-job.ts";
import { JobThread } from "./job-thread.ts";
import type { JobOrder } from "./order-message.ts";
import type { OrderServices } from "./sent-order.ts";
import { stopOnAbort } from "./stop-on-abort.ts";

export interface ThreadWorkerOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** The maximum of idle threads that are kept for later attempts. */
  readonly idleMax?: number;
  /** The time between the abort of a job and the termination of its thread. */
  readonly graceMs?: number;
  /** Limits of each thread. */
  readonly resourceLimits?: ResourceLimits;
}

/**
 * Runs jobs in threads, as many as requested: the dispatcher's slots limit them. An aborted job that does not end within the
 * grace period is terminated with its thread, so that an endless loop cannot keep it.
 */
export class ThreadWorker {
  readonly #clock: Clock;
  readonly #options: ThreadWorkerOptions;
  readonly #idleMax: number;
  readonly #graceMs: number;
  readonly #busy = new Set<JobThread>();
  #idle: JobThread[] = [];
  #stopped = false;

  constructor(options: ThreadWorkerOptions) {
    this.#clock = options.clock;
    this.#options = options;
    this.#idleMax = options.idleMax ?? 4;
    this.#graceMs = options.graceMs ?? 100;
  }

  /** The number of idle threads. */
  get idleCount(): number {
    this.#idle = this.#idle.filter((thread) => thread.alive);
    return this.#idle.length;
  }

  /** Runs an attempt in a thread. Never rejects. */
  async execute(order: JobOrder, abort: Abort, services: OrderServices = {}): Promise<Outcome> {
    if (this.#stopped || abort.aborted) return { kind: "lost" };
    let thread: JobThread;
    try {
      thread = this.#takeThread();
    } catch (error) {
      return failureOutcome(error);
    }
    const release = stopOnAbort(abort, thread, { clock: this.#clock, graceMs: this.#graceMs });
    const outcome = await thread.run(order, services);
    release();
    this.#giveBack(thread);
    return outcome;
  }

  /** Terminates all threads, busy or idle. */
  async stop(): Promise<void> {
    this.#stopped = true;
    const threads = [...this.#busy, ...this.#idle];
    this.#idle = [];
    await Promise.all(threads.map((thread) => thread.kill()));
  }

  #takeThread(): JobThread {
    let thread = this.#idle.pop();
    while (thread !== undefined && !thread.alive) thread = this.#idle.pop();
    thread ??= new JobThread(this.#options);
    this.#busy.add(thread);
    return thread;
  }

  #giveBack(thread: JobThread): void {
    this.#busy.delete(thread);
    if (thread.alive && !this.#stopped && this.idleCount < this.#idleMax) this.#idle.push(thread);
    else void thread.kill();
  }
}
