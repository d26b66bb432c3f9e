import { EngineError } from "../base/error.ts";
import { localName } from "../base/namespace.ts";
import type { ParentAddress } from "./address.ts";
import type { Context } from "./context.ts";
import { type Payload, payloadBytes, payloadBytesMax } from "./payload.ts";

/** CONTEXT_TOO_LARGE. `what` begins the message. */
export function refuseLargeContext(context: Context, what: string): void {
  if (context.bytes > payloadBytesMax) throw new EngineError("CONTEXT_TOO_LARGE", tooLarge(what, context.bytes));
}

/** OUTPUT_TOO_LARGE. `what` begins the message. */
export function refuseLargeOutput(output: Payload, what: string): void {
  const bytes = payloadBytes(output);
  if (bytes > payloadBytesMax) throw new EngineError("OUTPUT_TOO_LARGE", tooLarge(what, bytes));
}

/** Maximum depth of nested instances, which stops a definition that nests itself. */
const nestingDepthMax = 32;

/** NESTING_TOO_DEEP. */
export function refuseDeep(workflow: string, parent: ParentAddress | undefined): void {
  if (parent === undefined || parent.depth <= nestingDepthMax) return;
  throw new EngineError(
    "NESTING_TOO_DEEP",
    `workflow "${localName(workflow)}" is nested more than ${nestingDepthMax} deep, which is the limit; start it with ctx.startChild() and whenParentEnds "leave", or let one instance do the work of several levels`,
  );
}

function tooLarge(what: string, bytes: number): string {
  return `${what} takes ${bytes} bytes; at most ${payloadBytesMax} are allowed`;
}
