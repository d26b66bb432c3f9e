/** The watchdog's thread. It writes to standard error itself: the main thread, which has the logger, is blocked. */
import { writeSync } from "node:fs";
import { workerData } from "node:worker_threads";
import { messageOf } from "../base/error.ts";
import { SharedLease } from "../cluster/shared-lease.ts";
import { StallRenewals } from "../cluster/stall-renewals.ts";
import { connectForLease } from "../stores/lease-connection.ts";
import { LoopWorkTable } from "./loop-work-table.ts";
import { StallDetector, suspectsOf, tickMs } from "./stall-detector.ts";
import { type Stall, stallLine } from "./stall-line.ts";
import { monotonicOriginMs, systemClock } from "./system-clock.ts";
import type { WatchdogData, WatchdogLease } from "./watchdog.ts";

const { memory, leaseMemory, lease, format, ...limits } = workerData as WatchdogData;
const standardError = 2;
const table = new LoopWorkTable(memory);
const detector = new StallDetector(limits);
const renewals = lease && makeRenewals(lease);

function makeRenewals({ source, timings }: WatchdogLease): StallRenewals {
  return new StallRenewals({
    clock: systemClock,
    lease: new SharedLease(leaseMemory, monotonicOriginMs()),
    connect: () => connectForLease(source),
    timings,
    onFailure: (error) => {
      const message = `the lease could not be renewed while the event loop is blocked; retrying: ${messageOf(error)}`;
      report({ level: "warn", message, stalledMs: detector.stalledMs });
    },
  });
}

function report(stall: Omit<Stall, "suspects">): void {
  const line = stallLine({ ...stall, suspects: suspectsOf(table.list(), table.unnamedCount) }, format, new Date());
  try {
    writeSync(standardError, `${line}\n`);
  } catch {
    // Standard error is closed, or a pipe that nobody empties: there is no other place to write to, and the watchdog
    // continues.
  }
}

setInterval(() => {
  const { action, stalledMs } = detector.tick(table.heartbeat);
  renewals?.tick(stalledMs);
  if (action === "warn") {
    table.markReported();
    report({ level: "warn", message: "the event loop is blocked", stalledMs });
  } else if (action === "end") {
    report({
      level: "error",
      message: "the event loop has been blocked for too long: the process is ended",
      stalledMs,
    });
    // No handler of the main thread can run any more, and `process.exit` would end this thread alone.
    process.kill(process.pid, "SIGKILL");
  }
}, tickMs);
