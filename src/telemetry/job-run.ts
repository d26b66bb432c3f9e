import { context, trace } from "@opentelemetry/api";
import type { EngineOptions } from "../engine/options.ts";
import { endSpan } from "./instance-trace.ts";
import { contextOf } from "./traceparent.ts";

export type AroundJob = NonNullable<EngineOptions["aroundJob"]>;
export type JobRun = Parameters<AroundJob>[0];

/**
 * A span for the call of a job in a remote worker's process, in the
 * trace of its instance. The engine has the span of the attempt itself.
 */
export const traceJob: AroundJob = (run, call) => {
  const attributes = {
    "heddle.namespace": run.namespace,
    "heddle.instance.id": run.instanceId,
    "heddle.workflow.name": run.workflowName,
    "heddle.task.name": run.taskName,
    "heddle.task.attempt": run.attempt,
  };
  const above = contextOf(run.traceparent);
  const span = trace.getTracer("heddle").startSpan(`run ${run.taskName}`, { attributes }, above);
  const outcome = context.with(trace.setSpan(above, span), call);
  return afterwards(outcome, (settled) => endSpan(span, { at: Date.now(), problem: problemOf(settled) }));
};

/** Calls `then` with the outcome, and returns the same outcome or promise. A job's failure is part of its outcome: the call itself never rejects. */
export function afterwards<T>(outcome: T, then: (settled: unknown) => void): T {
  if (outcome instanceof Promise) void outcome.then(then, then);
  else then(outcome);
  return outcome;
}

function problemOf(outcome: unknown): string | undefined {
  if (typeof outcome !== "object" || outcome === null || !("failure" in outcome)) return undefined;
  const { failure } = outcome as { failure: { type: string; message: string } };
  return `${failure.type}: ${failure.message}`;
}
