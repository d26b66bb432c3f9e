import { EngineError } from "../base/error.ts";
import { preview } from "../base/preview.ts";
import { progressMessageLengthMax } from "../dispatch/session-schema.ts";
import type { ProgressReport } from "../authoring/job.ts";
import type { TaskProgress } from "../dispatch/task-progress.ts";

/** Validates a progress report, because jobs may be written without a compiler. OPTION_INVALID. */
export function progressOf(report: ProgressReport, text: string | undefined, taskName: string): TaskProgress {
  if (typeof report === "number") {
    if (report >= 0 && report <= 1) return { fraction: report, ...messageIn(text, taskName) };
    throw invalid(taskName, `a fraction from 0 to 1, got ${preview(report)}`);
  }
  if (typeof report !== "object" || report === null) {
    throw invalid(taskName, `a fraction from 0 to 1, or { done, total, message? }, got ${preview(report)}`);
  }
  const { done, total } = report;
  if (!(Number.isFinite(total) && total > 0)) throw invalid(taskName, `a total above 0, got ${preview(total)}`);
  if (!(Number.isFinite(done) && done >= 0 && done <= total)) {
    throw invalid(taskName, `done as a number from 0 to its total of ${total}, got ${preview(done)}`);
  }
  return { fraction: done / total, done, total, ...messageIn(text ?? report.message, taskName) };
}

function messageIn(message: string | undefined, taskName: string): Pick<TaskProgress, "message"> {
  if (message === undefined) return {};
  if (typeof message !== "string") throw invalid(taskName, `text as its message, got ${preview(message)}`);
  return { message: message.slice(0, progressMessageLengthMax) };
}

function invalid(taskName: string, takes: string): EngineError {
  return new EngineError("OPTION_INVALID", `progress of task "${taskName}" takes ${takes}`);
}
