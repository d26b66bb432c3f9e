import { EngineError } from "../base/error.ts";
import { preview } from "../base/preview.ts";

/** Limit of a file name in most file systems, with room for an extension. */
const bytesMax = 200;

/** Names of devices in Windows, with any extension. */
const deviceName = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;

/**
 * Checks that a workflow's name is a valid folder name: a saved workflow may have a folder of its name
 * right there. `WORKFLOW_INVALID`.
 */
export function checkWorkflowName(name: unknown): asserts name is string {
  const problem = nameProblem(name);
  if (problem !== undefined) throw new EngineError("WORKFLOW_INVALID", `the name of a workflow ${problem}`);
}

/** The problem of a name; undefined if it is valid. */
export function nameProblem(name: unknown): string | undefined {
  if (typeof name !== "string" || name.trim() === "") return `must be text that is not blank, got ${preview(name)}`;
  if (Buffer.byteLength(name) > bytesMax) return `must have at most ${bytesMax} bytes, got ${Buffer.byteLength(name)}`;
  if (!name.isWellFormed()) return `must be whole Unicode characters, got ${preview(name)}`;
  // oxlint-disable-next-line no-control-regex -- a file system may end a name at one of them
  if (/[/\\\u0000-\u001f\u007f]/.test(name)) return `must not have slashes or control characters, got ${preview(name)}`;
  if (name.startsWith(".")) return `must not begin with a dot, got ${preview(name)}`;
  if (/^\s|[\s.]$/.test(name)) return `must not begin or end with a space, nor end with a dot, got ${preview(name)}`;
  if (/^[a-z]:/i.test(name) || deviceName.test(name)) return `must not be a drive or a device, got ${preview(name)}`;
  return undefined;
}
