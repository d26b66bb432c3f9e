import type { RetryPolicy } from "../retry.ts";

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

export type NodeId = number | string;

/** 1 job, 2 decision (control), 3 nested workflow. */
export type NodeType = 1 | 2 | 3;

export interface NodeSpec {
  nodeId: NodeId;
  /** Missing means job. */
  nodeType?: NodeType;
  /** Of a job node: the number its job was registered with. Of a nested workflow: that workflow's id. */
  jobId?: number | string;
  nodeName?: string;
  /** Text; objects as JSON. Of a decision node: its expression. */
  nodeParams?: string;
  /** Missing means true. */
  enable?: boolean;
  /** Missing means false. */
  skipWhenFailed?: boolean;

  /** Run-time fields: PowerJob's algorithms read and write them, a start ignores them. */
  status?: number;
  result?: string | null;
  startTime?: string | number | null;
  finishedTime?: string | number | null;
  instanceId?: string | number | null;
  disableByControlNode?: boolean;

  /** Heddle's own from here on. */
  taskId?: string;
  jobName?: string;
  /** Missing means an hour: what a file from elsewhere expects. Builders always write it. */
  timeoutSeconds?: number;
  retryCount?: number;
  retryPolicy?: Partial<RetryPolicy>;
  domain?: string;
  /** Of a nested workflow: which definition. Without a version, the newest at submit. */
  workflowName?: string;
  workflowVersion?: string;
  /** Of a sub-task: other sub-tasks of its parent, by name, that it waits for. */
  dependsOn?: string[];
}

export interface EdgeSpec {
  from: NodeId;
  to: NodeId;
  /** On the way out of a decision: the result that takes this edge. */
  property?: string;
  /** Missing means true. */
  enable?: boolean;
}

/**
 * What a failure that is not skippable does to the rest of its instance: nothing new starts and what runs may finish,
 * what runs is told to stop, or only what depends on it is canceled.
 */
export type FailurePolicy = "finish-running" | "abort-running" | "continue";

/** What happens to a start above the maximum: it waits, is not run, or fails. */
export type OverflowPolicy = "queue" | "skip" | "fail";

export interface MaxInstances {
  max: number;
  policy: OverflowPolicy;
}
