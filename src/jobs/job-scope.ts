import type { JobContext, JobFunction } from "../authoring/job.ts";
import { type ContextLog, contextLog } from "../base/context-log.ts";
import { messageOf } from "../base/error.ts";
import { Redactor } from "./redactor.ts";
import { References } from "./reference.ts";
import type { SecretRules } from "./secret-rules.ts";

/** The surroundings of one attempt of a ready-made job. */
export interface JobScope {
  readonly ctx: JobContext;
  /** Redacts secrets. */
  readonly log: ContextLog;
  readonly redactor: Redactor;
  readonly references: References;
}

/** Makes the function of a job: whatever leaves it, as a result, an error or a log line, is redacted first. */
export function inScope<Params, Output>(
  rules: SecretRules,
  run: (params: Params, scope: JobScope) => Promise<Output>,
): JobFunction<Params, Output> {
  return async (params, ctx) => {
    const redactor = new Redactor();
    const references = new References(rules, ctx, redactor);
    const log = contextLog((level, fields, message) =>
      ctx.log[level](redactor.redactValue(fields) as Record<string, unknown>, redactor.redact(message)),
    );
    try {
      return redactor.redactValue(await run(params, { ctx, log, redactor, references })) as Output;
    } catch (error) {
      throw redactedError(error, redactor);
    }
  };
}

/** A new error without a cause: the original may have a secret in any of its fields. */
function redactedError(error: unknown, redactor: Redactor): Error {
  const safe = new Error(redactor.redact(messageOf(error)));
  if (!(error instanceof Error)) return safe;
  safe.name = redactor.redact(error.name);
  safe.stack = redactor.redact(error.stack ?? "");
  const { code, retryable } = error as { code?: unknown; retryable?: unknown };
  return Object.assign(safe, {
    ...(error.name === "EngineError" && typeof code === "string" && { code }),
    ...(typeof retryable === "boolean" && { retryable }),
  });
}
