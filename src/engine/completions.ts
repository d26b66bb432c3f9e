import { EngineError, hasCode } from "../base/error.ts";
import { toJsonText } from "../base/json-text.ts";
import { localName, namespaceOf } from "../base/namespace.ts";
import { preview } from "../base/preview.ts";
import { utf8Length } from "../base/utf8.ts";
import type { Failure } from "../kernel/failure.ts";
import type { CompletionResult } from "../kernel/input.ts";
import { payloadBytesMax } from "../kernel/payload.ts";
import type { CompletionTokens } from "../runtime/completion-tokens.ts";
import { failureFrom } from "../worker/failure-from.ts";
import type { InstanceCalls } from "./instance-calls.ts";

/** The task that was completed from outside. */
export interface CompletedTask {
  readonly instanceId: string;
}

/** A failure that is reported from outside. */
export interface OutsideFailure {
  readonly message: string;
  /** Compared with the names in a retry policy. Default `Error`. */
  readonly type?: string;
  /** Default true: the task's retry policy decides. */
  readonly retryable?: boolean;
}

const messageLengthMax = 100_000;
const typeLengthMax = 1000;

/** Methods for results of tasks that come from outside, by the tokens that their jobs have given away. */
export class Completions {
  readonly namespace: string;
  readonly #tokens: Pick<CompletionTokens, "open">;
  readonly #instances: Pick<InstanceCalls, "change" | "refuseUnlessUp">;

  constructor(
    namespace: string,
    tokens: Pick<CompletionTokens, "open">,
    instances: Pick<InstanceCalls, "change" | "refuseUnlessUp">,
  ) {
    this.namespace = namespace;
    this.#tokens = tokens;
    this.#instances = instances;
  }

  /**
   * Completes, with this output, the task whose job got the token from `ctx.completeLater()`. The job need not have returned.
   * `COMPLETION_LATE` if the attempt has ended: completed before, timed out, stopped, or its instance has ended or is gone.
   * `COMPLETION_TOKEN_INVALID`, `OUTPUT_TOO_LARGE`, `VALUE_NOT_SERIALIZABLE`.
   */
  async completeTask(token: string, value?: unknown): Promise<CompletedTask> {
    const output = toJsonText(value, "the output for a task");
    const bytes = output === undefined ? 0 : utf8Length(output);
    if (bytes > payloadBytesMax) {
      const message = `the output for a task has ${bytes} bytes, more than the ${payloadBytesMax} allowed`;
      throw new EngineError("OUTPUT_TOO_LARGE", message);
    }
    return await this.#end(token, output === undefined ? { kind: "success" } : { kind: "success", output });
  }

  /**
   * Fails the task whose job got the token from `ctx.completeLater()`; its retry policy decides about another attempt.
   * `COMPLETION_LATE`, `COMPLETION_TOKEN_INVALID`, `OPTION_INVALID`.
   */
  async failTask(token: string, failure: string | Error | OutsideFailure): Promise<CompletedTask> {
    return await this.#end(token, { kind: "failure", failure: failureOf(failure) });
  }

  async #end(token: string, result: CompletionResult): Promise<CompletedTask> {
    this.#instances.refuseUnlessUp();
    const target = this.#tokens.open(token);
    if (namespaceOf(target.id) !== this.namespace) {
      throw new EngineError("COMPLETION_TOKEN_INVALID", "the token belongs to a task of another namespace");
    }
    const id = localName(target.id);
    try {
      await this.#instances.change({ type: "CompleteTask", ...target, id, result });
      return { instanceId: id };
    } catch (error) {
      if (!hasCode(error, "INSTANCE_UNKNOWN")) throw error;
      throw new EngineError("COMPLETION_LATE", `instance "${id}", which waited for that completion, is gone`);
    }
  }
}

/** `OPTION_INVALID`. */
function failureOf(given: string | Error | OutsideFailure): Failure {
  if (given instanceof Error) return failureFrom(given);
  const { message, type = "Error", retryable = true } = typeof given === "string" ? { message: given } : (given ?? {});
  if (isText(message, messageLengthMax) && isText(type, typeLengthMax) && typeof retryable === "boolean") {
    return { type, message, retryable };
  }
  throw new EngineError(
    "OPTION_INVALID",
    `a failure is a text, an error, or { message, type?, retryable? }, got ${preview(given)}`,
  );
}

function isText(value: unknown, lengthMax: number): boolean {
  return typeof value === "string" && value !== "" && value.length <= lengthMax;
}
