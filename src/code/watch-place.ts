import { fileURLToPath } from "node:url";
import { type CallSiteObject, getCallSites } from "node:util";

const framesMax = 50;

/** A line of code that made a call. */
export interface CodePlace {
  readonly functionName: string;
  readonly file: string;
  readonly line: number;
}

/** URL of our own sources, whatever they were built to. */
const ours = import.meta.url.replace(/code\/watch-place\.[jt]s$/, "");

/**
 * Returns the user's line that made the call, directly or through a library. Undefined if no line did: a function was
 * passed to something that called it. `"engine"` if only the engine itself, or the HTTP client of Node, made the call.
 */
export function placeOfCaller(): CodePlace | "engine" | undefined {
  const frames = getCallSites(framesMax, { sourceMap: false });
  const scripts = frames.map(({ scriptName }) => (/^(node|wasm):/.test(scriptName) ? "" : scriptName));
  const users = scripts.findIndex(isUsers);
  const caller = users === -1 ? scripts.findIndex(isOthers) : users;
  if (caller === -1) {
    const isOfNobody = scripts.some((script) => script !== "" && !isWatch(script)) || frames.some(isOfHttpClient);
    return isOfNobody ? "engine" : undefined;
  }
  // Names the lines of the source instead of the compiled code (source maps), where the process has them.
  const written = process.sourceMapsEnabled ? getCallSites(framesMax, { sourceMap: true }) : frames;
  return placeOf(written[caller] as CallSiteObject);
}

function isOthers(script: string): boolean {
  return script !== "" && !script.startsWith(ours);
}

/** True for a script of the user: neither ours nor that of a library. */
export function isUsers(script: string): boolean {
  return isOthers(script) && !/[\\/]node_modules[\\/]/.test(script);
}

function isOfHttpClient({ scriptName }: CallSiteObject): boolean {
  return /^(wasm:|node:internal\/deps\/undici\/)/.test(scriptName);
}

/** True for scripts of this watch itself, which lie between the watched call and the code that made it. */
function isWatch(scriptName: string): boolean {
  return /^code\/watch-\w+\.[jt]s$/.test(scriptName.slice(ours.length));
}

/** `at file:line`, for a message; undefined where no line of the user called. */
export function shownPlace(place: CodePlace | "engine" | undefined): string | undefined {
  return place === undefined || place === "engine" ? undefined : `at ${place.file}:${place.line}`;
}

function placeOf({ functionName, scriptName, lineNumber }: CallSiteObject): CodePlace {
  return {
    functionName: functionName === "" ? "(anonymous)" : functionName,
    file: scriptName.startsWith("file:") ? fileURLToPath(scriptName) : scriptName,
    line: lineNumber,
  };
}
