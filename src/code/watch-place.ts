import { fileURLToPath } from "node:url";
import { type CallSiteObject, getCallSites } from "node:util";

const framesMax = 50;

/** A line of somebody's code. */
export interface CodePlace {
  readonly functionName: string;
  readonly file: string;
  readonly line: number;
}

/** Where our own sources are, whatever they were built to. */
const ours = import.meta.url.replace(/code\/watch-place\.[jt]s$/, "");

/**
 * The user's line that called, directly or through a library. Undefined where no line did: a function was handed to
 * somebody who called it. `"engine"` where nobody called but ourselves.
 */
export function placeOfCaller(): CodePlace | "engine" | undefined {
  const frames = getCallSites(framesMax).filter(
    ({ scriptName }) => scriptName !== "" && !scriptName.startsWith("node:"),
  );
  const others = frames.filter(({ scriptName }) => !scriptName.startsWith(ours));
  const frame = others.find(({ scriptName }) => !/[\\/]node_modules[\\/]/.test(scriptName)) ?? others[0];
  if (frame !== undefined) return placeOf(frame);
  return frames.every(({ scriptName }) => isWatch(scriptName)) ? undefined : "engine";
}

/** On the way from the call to here. */
function isWatch(scriptName: string): boolean {
  return /^code\/watch-\w+\.[jt]s$/.test(scriptName.slice(ours.length));
}

function placeOf({ functionName, scriptName, lineNumber }: CallSiteObject): CodePlace {
  return {
    functionName: functionName === "" ? "(anonymous)" : functionName,
    file: scriptName.startsWith("file:") ? fileURLToPath(scriptName) : scriptName,
    line: lineNumber,
  };
}
