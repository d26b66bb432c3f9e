import { SettingCheck } from "../authoring/setting-check.ts";
import { checkRetryPolicy } from "../authoring/task-builder.ts";
import { EngineError } from "../base/error.ts";
import { preview } from "../base/preview.ts";
import { isMoment } from "../base/time-limits.ts";
import type { ScheduleSettings, ScheduleSpec } from "./schedule-spec.ts";
import { checkTiming, refuseNeverDue, timetableOf } from "./timetable.ts";

const specNames = {
  workflow: true,
  input: true,
  job: true,
  params: true,
  every: true,
  whenBusy: true,
  whenMissed: true,
  jitterMs: true,
  startAt: true,
  endAt: true,
  retryCount: true,
  retryPolicy: true,
} as const;

const choices = {
  whenBusy: ["skip", "queue", "allow", "cancel-previous"],
  whenMissed: ["once", "all", "none"],
} as const;

/** The settings of a schedule, with a workflow or a job, or both, or none. */
type UncheckedSpec = ScheduleSettings & { readonly [Field in "workflow" | "input" | "job" | "params"]?: unknown };

/** Checks the target: a workflow with its input, or a job with its parameters. `SCHEDULE_INVALID`. */
export function checkTarget(spec: UncheckedSpec): asserts spec is ScheduleSpec {
  const isObject = typeof spec === "object" && spec !== null;
  const { workflow, job, input, params, every }: Partial<UncheckedSpec> = isObject ? spec : {};
  const isTimed = typeof every === "object" && every !== null;
  const isWorkflow = typeof workflow === "string" && job === undefined && params === undefined;
  const isJob = typeof job === "string" && workflow === undefined && input === undefined;
  if (isTimed && (isWorkflow || isJob)) return;
  const check = new SettingCheck("SCHEDULE_INVALID", "a schedule");
  // A misspelt setting is the cause of one that is missing.
  if (isObject) check.options(spec, specNames, "its settings");
  const got = isObject ? `{ ${Object.keys(spec).join(", ")} }` : preview(spec);
  throw new EngineError(
    "SCHEDULE_INVALID",
    `a schedule is { workflow, input?, every, … } or { job, params?, every, … }, got ${got}`,
  );
}

/**
 * Checks that a schedule could be like this: what it starts, when, and from `now` on at least once. `SCHEDULE_INVALID`.
 * Whether there is such a workflow or job is for whoever knows them.
 */
export function checkSchedule(spec: ScheduleSpec, now: number): void {
  checkDeclaration(spec);
  refuseNeverDue(spec, now);
}

/** Checks all of a schedule that does not depend on the time of the check. `SCHEDULE_INVALID`. */
export function checkDeclaration(spec: UncheckedSpec): asserts spec is ScheduleSpec {
  checkTarget(spec);
  checkSettings(spec);
  checkTiming(spec.every);
  // Reads the cron expression, the time zone and the bounds. From when a rate counts does not matter here.
  timetableOf(spec, 0);
}

function checkSettings(spec: ScheduleSpec): void {
  const check = new SettingCheck("SCHEDULE_INVALID", "a schedule");
  check.options(spec, specNames, "its settings");
  for (const name of ["whenBusy", "whenMissed"] as const) {
    if (spec[name] !== undefined) check.oneOf(name, spec[name], choices[name]);
  }
  if (spec.retryCount !== undefined) check.wholeNumber("retryCount", spec.retryCount, 0);
  if (spec.retryPolicy !== undefined) checkRetryPolicy(check, spec.retryPolicy);
  if (spec.jitterMs !== undefined) check.wholeMs("jitterMs", spec.jitterMs, 0);
}

/** Maximum of due times of one backfill. */
export const backfillMax = 10_000;

/** Which due times of the past a backfill runs. */
export interface BackfillRange {
  readonly from: number;
  readonly to: number;
  /** Number of runs at a time. Default 1. */
  readonly parallelism?: number;
}

/** `SCHEDULE_INVALID`. */
export function checkBackfillRange(range: BackfillRange): void {
  const { from, to, parallelism = 1 } = { ...range };
  if (isMoment(from) && isMoment(to) && from <= to && Number.isSafeInteger(parallelism) && parallelism >= 1) return;
  throw new EngineError(
    "SCHEDULE_INVALID",
    `a backfill takes { from, to } in epoch ms and a parallelism of at least 1, got ${preview(range)}`,
  );
}

export function tooManyDueTimes(): EngineError {
  return new EngineError(
    "SCHEDULE_INVALID",
    `a backfill has at most ${backfillMax} due times, and there are more in that range: take a part of it at a time`,
  );
}
