import { EngineError } from "../base/error.ts";
import { utf8Length } from "../base/utf8.ts";
import { toJsonText } from "../authoring/json-text.ts";
import type { Job } from "../authoring/job.ts";
import type { Outcome } from "../kernel/input.ts";
import { payloadBytesMax } from "../kernel/payload.ts";
import type { AttemptContext } from "./attempt-context.ts";
import { failureFrom } from "./failure-from.ts";

/** Calls the job and turns whatever it does into an outcome. Never throws; answers at once if the job does. */
export function callJob(job: Pick<Job, "fn">, params: unknown, context: AttemptContext): Outcome | Promise<Outcome> {
  try {
    const output = job.fn(params, context);
    if (!isThenable(output)) return succeeded(output, context);
    return Promise.resolve(output).then(
      (value) => succeeded(value, context),
      (error: unknown) => failed(error, context),
    );
  } catch (error) {
    return failed(error, context);
  }
}

export function failureOutcome(error: unknown): Outcome {
  return { kind: "failure", failure: failureFrom(error) };
}

function succeeded(value: unknown, context: AttemptContext): Outcome {
  try {
    const output = outputText(value, context.taskName);
    context.close();
    const { patch, subTasks } = context;
    return {
      kind: "success",
      ...(output === undefined ? {} : { output }),
      ...(patch === undefined ? {} : { patch }),
      ...(subTasks === undefined ? {} : { subTasks }),
    };
  } catch (error) {
    return failed(error, context);
  }
}

function failed(error: unknown, context: AttemptContext): Outcome {
  context.close();
  return failureOutcome(error);
}

/** VALUE_NOT_SERIALIZABLE, OUTPUT_TOO_LARGE. */
function outputText(value: unknown, taskName: string): string | undefined {
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
