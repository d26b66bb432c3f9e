/** PowerJob's algorithms as plain functions over a dag-spec, a builder by node ids, and definitions as files. */
export {
  convert,
  decide,
  handleDisableEdges,
  listReadyNodes,
  listRoots,
  resetRetryableNode,
  valid,
} from "./powerjob/powerjob.ts";
export type { DagModel, DagNode } from "./powerjob/powerjob.ts";
export type { DagSpec, EdgeSpec, FailurePolicy, MaxInstances, OverflowPolicy } from "./kernel/dag/dag-spec.ts";
export type { NodeId, NodeSpec, NodeType } from "./kernel/node-spec.ts";
export type { RetryPolicy } from "./kernel/retry.ts";
export { DagSpecBuilder } from "./authoring/dag-spec-builder.ts";
export { WorkflowFileManager } from "./catalogue/workflow-file-manager.ts";
