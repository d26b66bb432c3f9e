import type { DagSpec } from "../kernel/dag/dag-spec.ts";
import { canonicalJson, textHash } from "./content-hash.ts";

/** Who a task is, and what a run wrote into the file: neither changes how the next run goes. */
const idsAndRunTime: ReadonlySet<string> = new Set([
  "taskId",
  "status",
  "result",
  "startTime",
  "finishedTime",
  "instanceId",
  "disableByControlNode",
]);

const idAndNodes: ReadonlySet<string> = new Set(["id", "nodes"]);

/** A hash of everything in the definition that may matter, fields unknown to this program included. */
export function workflowVersion(spec: DagSpec): string {
  const nodes = spec.nodes.map((node) => canonicalJson(node, idsAndRunTime));
  return textHash(`${nodes.join("\n")}\n${canonicalJson(spec, idAndNodes)}`);
}
