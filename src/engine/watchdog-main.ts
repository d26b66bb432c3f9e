/** The watchdog's thread. It writes to standard error itself: the main thread, which has the logger, is blocked. */
import { writeSync } from "node:fs";
import { workerData } from "node:worker_threads";
import { LoopWorkTable } from "./loop-work-table.ts";
import { StallDetector, suspectsOf, tickMs } from "./stall-detector.ts";
import { type Stall, stallLine } from "./stall-line.ts";
import type { WatchdogData } from "./watchdog.ts";

const { memory, format, ...limits } = workerData as WatchdogData;
const standardError = 2;
const table = new LoopWorkTable(memory);
const detector = new StallDetector(limits);

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
