import { inspect } from "node:util";
import type { Failure } from "../kernel/failure.ts";

const messageLengthMax = 8192;
const stackFramesMax = 20;
const stackLengthMax = 4096;
const causeDepthMax = 5;

/** Converts whatever a user's code, `who`, has thrown into a failure for the history. Never throws. */
export function failureFrom(thrown: unknown, who = "the job"): Failure {
  return describe(thrown, who, 0);
}

function describe(thrown: unknown, who: string, depth: number): Failure {
  try {
    return isErrorLike(thrown) ? describeError(thrown, who, depth) : describeValue(thrown, who);
  } catch {
    // The thrown value has a getter or proxy that throws when it is read, so it cannot be described.
    return { type: "Error", message: `${who} threw something that cannot be read`, retryable: true };
  }
}

interface ErrorLike {
  readonly name?: unknown;
  readonly message: string;
  readonly code?: unknown;
  readonly retryable?: unknown;
  readonly stack?: unknown;
  readonly cause?: unknown;
}

/** Asks for the shape, not the class: errors come from other realms and other copies of a library. */
function isErrorLike(thrown: unknown): thrown is ErrorLike {
  return typeof thrown === "object" && thrown !== null && "message" in thrown && typeof thrown.message === "string";
}

function describeError(error: ErrorLike, who: string, depth: number): Failure {
  const stack = typeof error.stack === "string" ? trimStack(error.stack) : "";
  const { cause } = error;
  return {
    type: typeOf(error),
    message: cut(
      error.message.trim() === "" ? `${who} threw ${typeOf(error)} without a message` : error.message,
      messageLengthMax,
    ),
    retryable: error.retryable !== false,
    ...(stack === "" ? {} : { stack }),
    ...(cause === undefined || cause === null || depth >= causeDepthMax
      ? {}
      : { cause: describe(cause, who, depth + 1) }),
  };
}

/** Errors of ours are known by their code, others by their name. */
function typeOf(error: ErrorLike): string {
  if (error.name === "EngineError" && typeof error.code === "string") return error.code;
  return typeof error.name === "string" && error.name !== "" ? cut(error.name, 200) : "Error";
}

function describeValue(thrown: unknown, who: string): Failure {
  const isSaying = typeof thrown === "string" && thrown.trim() !== "";
  const message = isSaying ? thrown : `${who} threw ${inspect(thrown, { depth: 2, breakLength: Infinity })}`;
  return { type: "Error", message: cut(message, messageLengthMax), retryable: true };
}

/** Returns the frames only: the message is beside them already, and can be long. */
function trimStack(stack: string): string {
  const frames = stack.split("\n").filter((line) => line.startsWith("    at "));
  return cut(frames.slice(0, stackFramesMax).join("\n"), stackLengthMax);
}

function cut(text: string, lengthMax: number): string {
  return text.length <= lengthMax ? text : `${text.slice(0, lengthMax - 1)}…`;
}
