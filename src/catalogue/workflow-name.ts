import { EngineError } from "../base/error.ts";
import { preview } from "../base/preview.ts";

/** What a file system takes for one name, with room for an ending. */
const bytesMax = 200;

/** Windows gives these to devices, whatever ending they have. */
const deviceName = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;

/**
 * A workflow of the catalogue may live in a folder of its name, so its name is one that can only ever mean a folder
 * right there. `WORKFLOW_INVALID`.
 */
export function checkWorkflowName(name: unknown): asserts name is string {
  const problem = nameProblem(name);
  if (problem !== undefined) throw new EngineError("WORKFLOW_INVALID", `the name of a workflow ${problem}`);
}

/** Undefined if there is none. */
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
