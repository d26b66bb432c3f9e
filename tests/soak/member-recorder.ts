import type { LogFields, Logger } from "../../src/base/logger.ts";
import { EventLog } from "../sim/event-log.ts";
import type { JobRun } from "../sim/evidence.ts";
import { Recorder } from "../sim/recorder.ts";
import type { Journal } from "./journal.ts";

type RunArguments = Parameters<Recorder["recordRun"]>;

/** Writes what jobs do and what the engine says into the journal, before the job goes on. */
export class MemberRecorder extends Recorder {
  readonly #journal: Journal;
  readonly #numbers = new WeakMap<JobRun, number>();

  constructor(journal: Journal, now: () => number) {
    super(new EventLog(now), now);
    this.#journal = journal;
  }

  override recordRun(...args: RunArguments): JobRun {
    const run = super.recordRun(...args);
    const number = this.runs.length;
    this.#numbers.set(run, number);
    const { attemptId, taskName, workflow, job, params, start } = run;
    this.#journal.writeAt(start.at, { what: "run", run: number, attemptId, taskName, workflow, job, params });
    return run;
  }

  override recordAbort(run: JobRun): void {
    super.recordAbort(run);
    this.#journal.write({ what: "aborted", run: this.#numberOf(run) });
  }

  override recordRunEnd(run: JobRun, how: "done" | "failed" | "aborted"): void {
    super.recordRunEnd(run, how);
    this.#journal.write({ what: "ended", run: this.#numberOf(run), how });
  }

  override loggerOf(): Logger {
    const write = (level: "debug" | "info" | "warn" | "error") => (fields: LogFields, message: string) =>
      this.#journal.write({ what: "log", level, fields: shown(fields), message });
    return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
  }

  #numberOf(run: JobRun): number {
    return this.#numbers.get(run) ?? 0;
  }
}

/** An error has nothing to say as JSON. */
function shown(fields: LogFields): LogFields {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, value instanceof Error ? (value.stack ?? "") : value]),
  );
}
