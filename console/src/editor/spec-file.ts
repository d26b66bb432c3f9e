import type { CallArgument } from "../../../src/client/call.ts";
import { prettyJson } from "../base/format.ts";
import type { Draft } from "./draft.ts";

type SentSpec = CallArgument<"createWorkflow">[0]["body"]["dagSpec"];

/** A draft as the interface takes it: with unknown fields, which the kernel's type does not name. */
export function sentSpec(draft: Draft): SentSpec {
  return draft as unknown as SentSpec;
}

/** Downloads the draft as a file, as definitions are kept in folders and in git. */
export function downloadSpec(name: string, draft: Draft): void {
  const address = URL.createObjectURL(new Blob([`${prettyJson(draft)}\n`], { type: "application/json" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = `${name}.dag-spec.json`;
  link.click();
  URL.revokeObjectURL(address);
}
