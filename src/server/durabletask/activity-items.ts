import { localName } from "../../base/namespace.ts";
import { utf8Length } from "../../base/utf8.ts";
import type { Dialect } from "../../durabletask/dialect.ts";
import type { Given, ValueOf } from "../../durabletask/message.ts";
import { activityName } from "../../durabletask/names.ts";
import { failureOf, jsonOf } from "../../durabletask/payloads.ts";
import type { ActivityResponse, activityRequest } from "../../durabletask/worker-messages.ts";
import type { Grant } from "../../dispatch/session-message.ts";
import type { Failure } from "../../kernel/failure.ts";
import type { Outcome } from "../../kernel/input.ts";
import { payloadBytesMax } from "../../kernel/payload.ts";

/** SDKs compare ids as if 0 were none. */
const firstTaskId = 1;

/** The activity of an attempt, as its worker gets it. */
export function requestOf(
  { descriptor, params }: Grant,
  dialect: Dialect,
): Given<ValueOf<typeof activityRequest>> & { readonly taskId: number } {
  const { attemptId, instanceId, task, job, traceparent } = descriptor;
  return {
    name: activityName(localName(job)),
    input: params === "" ? undefined : params,
    instance: { instanceId: localName(instanceId) },
    taskId: task + firstTaskId,
    ...(traceparent !== undefined && { parentTrace: { traceParent: traceparent } }),
    ...(dialect === "dapr" && { taskExecutionId: attemptId }),
  };
}

/** The key of an activity for workers that echo no token. */
export function activityKey({ instanceId, taskId }: { readonly instanceId: string; readonly taskId: number }): string {
  return `${taskId} ${instanceId}`;
}

export function outcomeOf({ result, failure }: Pick<ActivityResponse, "result" | "failure">): Outcome {
  if (failure !== undefined) return { kind: "failure", failure: cut(failureOf(failure), 0) };
  const output = jsonOf(result);
  if (output === undefined) return { kind: "success" };
  const bytes = utf8Length(output);
  if (bytes <= payloadBytesMax) return { kind: "success", output };
  const message = `the result of the activity has ${bytes} bytes; at most ${payloadBytesMax} are allowed`;
  return { kind: "failure", failure: { type: "OUTPUT_TOO_LARGE", message, retryable: false } };
}

const typeLengthMax = 1000;
const messageLengthMax = 50_000;
const causesMax = 10;

/** Shortens a failure to what a history takes. */
function cut({ type, message, retryable, stack, cause }: Failure, depth: number): Failure {
  return {
    type: type.slice(0, typeLengthMax),
    message: message.slice(0, messageLengthMax),
    retryable,
    ...(stack !== undefined && { stack: stack.slice(0, messageLengthMax) }),
    ...(cause !== undefined && depth < causesMax && { cause: cut(cause, depth + 1) }),
  };
}
