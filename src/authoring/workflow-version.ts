import type { DagSpec } from "../kernel/dag/dag-spec.ts";
import { contentHash } from "./content-hash.ts";

/** Who a workflow or task is, and what a run wrote into the file: neither changes how the next run goes. */
const idsAndRunTime = {
  taskId: undefined,
  status: undefined,
  result: undefined,
  startTime: undefined,
  finishedTime: undefined,
  instanceId: undefined,
  disableByControlNode: undefined,
};

/** A hash of everything in the definition that may matter, fields unknown to this program included. */
export function workflowVersion(spec: DagSpec): string {
  const nodes = spec.nodes.map((node) => ({ ...node, ...idsAndRunTime }));
  return contentHash({ ...spec, id: undefined, nodes });
}
