import type { CodeWorkflow } from "../authoring/code-workflow.ts";
import type { Job } from "../authoring/job.ts";
import type { Workflow } from "../authoring/workflow.ts";
import { EngineError } from "../base/error.ts";
import { preview } from "../base/preview.ts";
import { checkDeclaration } from "./schedule-check.ts";
import type { ScheduleSettings, ScheduleSpec } from "./schedule-spec.ts";

/** A schedule that a program declares; created by `defineSchedule`. */
export interface DeclaredSchedule {
  readonly scheduleId: string;
  readonly spec: ScheduleSpec;
}

/** The input of each run, or the parameters of the job; they may be left out if it takes none. */
type Given<Setting extends string, Input> = undefined extends Input
  ? { readonly [Name in Setting]?: Input }
  : { readonly [Name in Setting]: Input };

/** A target by its name, or a DAG, whose input has no type. */
interface UntypedTarget {
  readonly workflow?: Workflow | string;
  readonly input?: unknown;
  readonly job?: string;
  readonly params?: unknown;
}

/**
 * Declares a schedule, for the option `schedules` of an engine or as an export of a module: it is created when the engine
 * starts, and changed if it differs from what is declared. Throws SCHEDULE_INVALID.
 *
 * ```ts
 * export const nightly = defineSchedule("nightly", { workflow: order, input: { id: "A-1" }, every: { cron: "30 2 * * *" } });
 * ```
 */
export function defineSchedule<Params, Output, Input>(
  scheduleId: string,
  declaration: ScheduleSettings & { readonly workflow: CodeWorkflow<Params, Output, Input> } & Given<"input", Input>,
): DeclaredSchedule;
export function defineSchedule<Params, Output, Input>(
  scheduleId: string,
  declaration: ScheduleSettings & { readonly job: Job<Params, Output, Input> } & Given<"params", Input>,
): DeclaredSchedule;
export function defineSchedule(scheduleId: string, declaration: ScheduleSettings & UntypedTarget): DeclaredSchedule;
export function defineSchedule(
  scheduleId: string,
  declaration: ScheduleSettings & { readonly [Field in "workflow" | "input" | "job" | "params"]?: unknown },
): DeclaredSchedule {
  if (typeof scheduleId !== "string" || scheduleId.trim() === "") {
    throw new EngineError("SCHEDULE_INVALID", `a schedule's id must be text, not blank, got ${preview(scheduleId)}`);
  }
  const { workflow, job } = { ...declaration };
  const spec = {
    ...declaration,
    ...(workflow !== undefined && { workflow: nameOf(workflow) }),
    ...(job !== undefined && { job: nameOf(job) }),
  };
  try {
    checkDeclaration(spec);
  } catch (error) {
    throw aboutSchedule(scheduleId, error);
  }
  return Object.freeze({ scheduleId, spec });
}

/** The error with the name of the schedule that it is about: a program declares many. */
export function aboutSchedule(scheduleId: string, error: unknown): unknown {
  if (!(error instanceof EngineError)) return error;
  const message = `schedule ${preview(scheduleId)}: ${error.message.replace(/^a schedule: /, "")}`;
  return new EngineError(error.code, message, { cause: error });
}

/** True for what `defineSchedule` gave. */
export function isDeclaredSchedule(value: unknown): value is DeclaredSchedule {
  return (
    typeof value === "object" &&
    value !== null &&
    "scheduleId" in value &&
    "spec" in value &&
    typeof value.spec === "object"
  );
}

/** The name of a workflow or job; what is none of them is left to the check. */
function nameOf(target: unknown): unknown {
  return typeof target === "object" && target !== null && "name" in target ? target.name : target;
}
