import { EngineError } from "../base/error.ts";
import { preview } from "../base/preview.ts";
import type { ProgressReport } from "../authoring/job.ts";
import type { TaskProgress } from "../dispatch/task-progress.ts";

const messageLengthMax = 1000;

/** Validates a progress report, because jobs may be written without a compiler. OPTION_INVALID. */
export function progressOf(report: ProgressReport, taskName: string): TaskProgress {
  if (typeof report === "number") {
    if (report >= 0 && report <= 1) return { fraction: report };
    throw invalid(taskName, `a fraction from 0 to 1, got ${preview(report)}`);
  }
  if (typeof report !== "object" || report === null) {
    throw invalid(taskName, `a fraction from 0 to 1, or { done, total, message? }, got ${preview(report)}`);
  }
  const { done, total, message } = report;
  if (!(Number.isFinite(total) && total > 0)) throw invalid(taskName, `a total above 0, got ${preview(total)}`);
  if (!(Number.isFinite(done) && done >= 0 && done <= total)) {
    throw invalid(taskName, `done as a number from 0 to its total of ${total}, got ${preview(done)}`);
  }
  if (message !== undefined && typeof message !== "string") {
    throw invalid(taskName, `text as its message, got ${preview(message)}`);
  }
  const text = message?.slice(0, messageLengthMax);
  return { fraction: done / total, done, total, ...(text !== undefined && { message: text }) };
}

function invalid(taskName: string, takes: string): EngineError {
  return new EngineError("OPTION_INVALID", `reportProgress of task "${taskName}" takes ${takes}`);
}
