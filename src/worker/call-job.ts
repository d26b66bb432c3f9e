import { EngineError } from "../base/error.ts";
import { utf8Length } from "../base/utf8.ts";
import { toJsonText } from "../base/json-text.ts";
import type { Job } from "../authoring/job.ts";
import type { TaskOfInstance } from "../dispatch/task-run.ts";
import type { NodeSpec } from "../kernel/node-spec.ts";
import type { Outcome } from "../kernel/input.ts";
import { payloadBytesMax } from "../kernel/payload.ts";
import type { AttemptContext } from "./attempt-context.ts";
import { failureFrom } from "./failure-from.ts";

/** Checks generated sub-tasks against the engine's jobs and workflows, and completes them; rejects if one could never run. */
export type CheckSubTasks = (subTasks: readonly NodeSpec[], parent: TaskOfInstance) => Promise<readonly NodeSpec[]>;

/** Calls the job and turns its result or error into an outcome. Never throws; synchronous if the job is. */
export function callJob(
  job: Pick<Job, "fn">,
  params: unknown,
  context: AttemptContext,
  checkSubTasks?: CheckSubTasks,
): Outcome | Promise<Outcome> {
  try {
    const output = job.fn(params, context);
    if (!isThenable(output)) return succeed(output, context, checkSubTasks);
    return Promise.resolve(output).then(
      (value) => succeed(value, context, checkSubTasks),
      (error: unknown) => endWithFailure(error, context),
    );
  } catch (error) {
    return endWithFailure(error, context);
  }
}

/** The items of a call that the job did not await are part of what it did. */
function succeed(
  output: unknown,
  context: AttemptContext,
  checkSubTasks: CheckSubTasks | undefined,
): Outcome | Promise<Outcome> {
  const end = (): Outcome | Promise<Outcome> =>
    checkOutcome(endWithSuccess(output, context), context.run, checkSubTasks);
  return context.handedIn === undefined
    ? end()
    : context.handedIn.then(end, (error: unknown) => endWithFailure(error, context));
}

export function failureOutcome(error: unknown): Outcome {
  return { kind: "failure", failure: failureFrom(error) };
}

/** Checks the sub-tasks of an outcome; the outcome is a failure if one of them is refused. */
export function checkOutcome(
  outcome: Outcome,
  task: TaskOfInstance,
  checkSubTasks: CheckSubTasks | undefined,
): Outcome | Promise<Outcome> {
  if (checkSubTasks === undefined || outcome.kind !== "success" || outcome.subTasks === undefined) return outcome;
  return checkSubTasks(outcome.subTasks, task).then((subTasks) => ({ ...outcome, subTasks }), failureOutcome);
}

/** The outcome of a job that leaves nothing behind, shared by all of them. */
const plainSuccess: Outcome = Object.freeze({ kind: "success" });

function endWithSuccess(value: unknown, context: AttemptContext): Outcome {
  try {
    const output = outputText(value, context.taskName);
    context.close();
    const { patch, subTasks, awaits } = context;
    if (awaits !== undefined) return awaitsOutcome(awaits, context);
    if (output === undefined && patch === undefined && subTasks === undefined) return plainSuccess;
    return {
      kind: "success",
      ...(output === undefined ? {} : { output }),
      ...(patch === undefined ? {} : { patch }),
      ...(subTasks === undefined ? {} : { subTasks }),
    };
  } catch (error) {
    return endWithFailure(error, context);
  }
}

/** A patch or sub-tasks belong to a result, which this attempt does not have: they are not dropped in silence. */
function awaitsOutcome(awaits: Outcome, { patch, subTasks, taskName }: AttemptContext): Outcome {
  if (patch === undefined && subTasks === undefined) return awaits;
  const what = patch === undefined ? "generates sub-tasks" : "changes the context";
  const message = `task "${taskName}" ${what} and is to be completed from outside: only an attempt with a result of its own can do that`;
  return failureOutcome(new EngineError("TASK_INVALID", message));
}

function endWithFailure(error: unknown, context: AttemptContext): Outcome {
  context.close();
  return failureOutcome(error);
}

/** VALUE_NOT_SERIALIZABLE, OUTPUT_TOO_LARGE. */
function outputText(value: unknown, taskName: string): string | undefined {
  if (value === undefined) return undefined;
  const text = toJsonText(value, `the output of task "${taskName}"`);
  if (text === undefined) return undefined;
  const bytes = utf8Length(text);
  if (bytes > payloadBytesMax) {
    const message = `the output of task "${taskName}" has ${bytes} bytes, more than the ${payloadBytesMax} allowed`;
    throw new EngineError("OUTPUT_TOO_LARGE", message);
  }
  return text;
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
