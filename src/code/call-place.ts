import { fileURLToPath } from "node:url";
import { isUsers } from "./watch-place.ts";

/** Frames that are kept of a call: the first is of `WorkflowContext`, and those of a library may lie between it and the user's. */
const framesMax = 5;

/**
 * The place of a call in memory. V8 keeps the frames as they are and makes text of them when `stack` is first read, so a
 * place that nobody looks at costs microseconds.
 */
export interface CallPlace {
  readonly stack?: unknown;
}

/** Notes the callers of this function. */
export function placeOfCall(): CallPlace {
  const place: CallPlace = {};
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = framesMax;
  Error.captureStackTrace(place, placeOfCall);
  Error.stackTraceLimit = stackTraceLimit;
  return place;
}

/** The user's line that made the call, in the source if source maps are enabled; undefined if no line of a user did. */
export function lineOf({ stack }: CallPlace): { readonly file: string; readonly line: number } | undefined {
  // A program may replace the text by something else (`Error.prepareStackTrace`).
  if (typeof stack !== "string") return undefined;
  for (const frame of stack.split("\n")) {
    const [, script, line] = /^ {4}at (?:.*\()?(.+?):(\d+):\d+\)?$/.exec(frame) ?? [];
    if (script === undefined || script.startsWith("node:") || !isUsers(script)) continue;
    return { file: script.startsWith("file:") ? fileURLToPath(script) : script, line: Number(line) };
  }
  return undefined;
}
