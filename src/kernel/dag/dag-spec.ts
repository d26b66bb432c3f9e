import type { NodeId, NodeSpec } from "../node-spec.ts";

/**
 * The serialisable point-and-line model, field names as PowerJob's `PEWorkflowDAG`. A file written by PowerJob
 * or TIS loads unchanged. Fields that this program does not know are kept as they are.
 */
export interface DagSpec {
  nodes: NodeSpec[];
  /** A missing list reads as empty. */
  edges?: EdgeSpec[];
  /** Heddle's own from here on. */
  name?: string;
  domain?: string;
  maxConcurrentTasks?: number;
  timeoutSeconds?: number;
  failurePolicy?: FailurePolicy;
  maxInstances?: MaxInstances;
  /** Start values of the context; what the start request gives comes on top. */
  context?: Record<string, unknown>;
}

/** An edge of a dag-spec: `to` runs after `from`. */
export interface EdgeSpec {
  from: NodeId;
  to: NodeId;
  /** Result of a decision that takes this out-edge. */
  property?: string;
  /** Missing means true. */
  enable?: boolean;
}

/**
 * Effect of a failure that is not skippable on the rest of its instance: nothing new starts and what runs may finish,
 * running tasks are aborted, or only what depends on it is canceled.
 */
export type FailurePolicy = "finish-running" | "abort-running" | "continue";

/** Handling of a start above the maximum: it waits, is not run, or fails. */
export type OverflowPolicy = "queue" | "skip" | "fail";

/** The maximum of active instances of a workflow, and what becomes of one above it. */
export interface MaxInstances {
  max: number;
  policy: OverflowPolicy;
}
