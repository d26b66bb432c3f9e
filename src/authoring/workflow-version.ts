import type { DagSpec } from "../kernel/dag/dag-spec.ts";
import { canonicalJson } from "../base/canonical-json.ts";
import { textHash } from "./content-hash.ts";

/** Fields that do not affect a run and are left out of the version: ids, and what a run wrote into the file. */
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

/** A hash of all fields of the definition that may affect a run, including unknown ones. */
export function workflowVersion(spec: DagSpec): string {
  const nodes = spec.nodes.map((node) => canonicalJson(node, idsAndRunTime));
  return textHash(`${nodes.join("\n")}\n${canonicalJson(spec, idAndNodes)}`);
}
