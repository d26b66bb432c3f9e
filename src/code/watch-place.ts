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
  const frames = getCallSites(framesMax, { sourceMap: false });
  const scripts = frames.map(({ scriptName }) => (scriptName.startsWith("node:") ? "" : scriptName));
  const users = scripts.findIndex(isUsers);
  const caller = users === -1 ? scripts.findIndex(isOthers) : users;
  if (caller === -1) return scripts.every((script) => script === "" || isWatch(script)) ? undefined : "engine";
  // What was compiled is named as it was written, where the process can tell.
  const written = process.sourceMapsEnabled ? getCallSites(framesMax, { sourceMap: true }) : frames;
  return placeOf(written[caller] as CallSiteObject);
}

function isOthers(script: string): boolean {
  return script !== "" && !script.startsWith(ours);
}

function isUsers(script: string): boolean {
  return isOthers(script) && !/[\\/]node_modules[\\/]/.test(script);
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
