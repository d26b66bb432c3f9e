import { Worker as Thread } from "node:worker_threads";
import { messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { LoopWatch } from "../base/loop-watch.ts";
import { type LeaseThread, SharedLease, sharedLeaseBytes } from "../cluster/shared-lease.ts";
import type { RenewalTimings } from "../cluster/stall-renewals.ts";
import type { LeaseConnectionSource } from "../stores/lease-connection.ts";
import { LoopWorkTable, loopWorkBytes } from "./loop-work-table.ts";
import { monotonicOriginMs } from "./system-clock.ts";
import type { StallLimits } from "./stall-detector.ts";
import type { StallLineFormat } from "./stall-line.ts";

/** What happens when the event loop is blocked. */
export interface WatchdogOptions {
  /** Time the event loop may be blocked before a line on standard error names what blocks it. Default 2000, at least 1000; 0 for never. */
  readonly warnAfterMs?: number;
  /** Time it may be blocked before the process is ended with SIGKILL, at least 1000. Default 0: never. */
  readonly endAfterMs?: number;
  /** Format of these lines: as the default logger writes, as pino does, or for people. Default `json`. */
  readonly format?: StallLineFormat;
}

export type ResolvedWatchdogOptions = Required<WatchdogOptions>;

/** Settings for the renewal of a member's lease by the thread while the event loop is blocked. */
export interface WatchdogLease {
  readonly source: LeaseConnectionSource;
  readonly timings: RenewalTimings;
}

/** The thread's `workerData`. */
export interface WatchdogData extends StallLimits {
  readonly memory: SharedArrayBuffer;
  readonly leaseMemory: SharedArrayBuffer;
  readonly lease: WatchdogLease | undefined;
  readonly format: StallLineFormat;
}

const heartbeatMs = 500;

/** Sources and built package alike: the thread's main file stands beside this one and has the same ending. */
const mainFile = new URL(`./watchdog-main${import.meta.url.slice(import.meta.url.lastIndexOf("."))}`, import.meta.url);

/**
 * A thread that notices when the event loop is blocked, names the users' code that blocks it, renews the lease of a member
 * meanwhile, and may end the process, so that a supervisor starts it again. It does not keep the process alive.
 */
export class Watchdog {
  readonly #memory = new SharedArrayBuffer(loopWorkBytes);
  readonly #table = new LoopWorkTable(this.#memory);
  readonly #leaseMemory = new SharedArrayBuffer(sharedLeaseBytes);
  readonly #leaseThread = new SharedLease(this.#leaseMemory, monotonicOriginMs());
  readonly #lease: WatchdogLease | undefined;
  readonly #options: ResolvedWatchdogOptions;
  readonly #logger: Logger;
  #thread: Thread | undefined;
  #heartbeat: NodeJS.Timeout | undefined;
  #lastBeatAt = 0;

  constructor(options: ResolvedWatchdogOptions, logger: Logger, lease?: WatchdogLease) {
    this.#options = options;
    this.#logger = logger;
    this.#lease = lease;
  }

  /** Undefined if nobody is told what blocks the loop: then nothing has to be written down. */
  get loopWatch(): LoopWatch | undefined {
    const { warnAfterMs, endAfterMs } = this.#options;
    return warnAfterMs > 0 || endAfterMs > 0 ? this.#table : undefined;
  }

  get leaseThread(): LeaseThread | undefined {
    return this.#lease && this.#leaseThread;
  }

  start(): void {
    this.#lastBeatAt = performance.now();
    this.#heartbeat = setInterval(() => this.#beat(), heartbeatMs).unref();
    const workerData: WatchdogData = {
      memory: this.#memory,
      leaseMemory: this.#leaseMemory,
      lease: this.#lease,
      ...this.#options,
    };
    this.#thread = new Thread(mainFile, { workerData, execArgv: [] });
    this.#thread.unref();
    this.#thread.on("error", (error) => {
      this.#logger.error(
        { error: messageOf(error) },
        "the watchdog has stopped: a blocked event loop is not noticed, and the lease not renewed meanwhile",
      );
    });
  }

  async stop(): Promise<void> {
    clearInterval(this.#heartbeat);
    this.#beat();
    await this.#thread?.terminate();
    this.#thread = undefined;
  }

  #beat(): void {
    const now = performance.now();
    const stalledMs = Math.round(now - this.#lastBeatAt);
    this.#lastBeatAt = now;
    this.#table.beat();
    if (this.#table.takeReported()) this.#logger.warn({ stalledMs }, "the event loop runs again");
  }
}
