import type { RetryPolicy } from "./retry.ts";

/** A child that has not ended when its parent does: it is terminated, asked to end, or left alone. */
export type WhenParentEnds = "terminate" | "cancel" | "leave";

/** The id of a node in its dag-spec. */
export type NodeId = number | string;

/** 1 job, 2 decision (control), 3 nested workflow. */
export type NodeType = 1 | 2 | 3;

/** PowerJob's execution modes, by number or name: how often the job of a node runs. */
export type ExecuteType = 1 | 2 | 3 | 4 | "STANDALONE" | "BROADCAST" | "MAP_REDUCE" | "MAP";

/** A node whose job runs once for each item of a list. */
export interface MapSpec {
  /** The items, or a CEL expression over `context` and `outputs` that gives them. */
  items?: string | readonly unknown[];
  /** In place of `items`, the job that hands them in with `ctx.map` while it runs. */
  source?: NodeJob;
  /** Items under way at a time. Missing means the instance's `maxConcurrentTasks`. */
  concurrency?: number;
  /** True if no further item starts once the node has failed. Missing means false: all items run. */
  failFast?: boolean;
  /** Failed items that do not fail the node: a number, or a share such as `"10%"`. Missing means 0, with a `reduce` all. */
  tolerateFailures?: number | string;
  /** The job that runs once all items have ended: it reads their results, and its output is that of the node. */
  reduce?: NodeJob;
}

/** A node whose job runs once on every eligible worker. */
export interface BroadcastSpec {
  /** The job that runs once before. If it fails, the job runs on no worker. */
  before?: NodeJob;
  /** The job that runs once all workers have ended: it reads their results, and its output is that of the node. */
  after?: NodeJob;
  /** Workers under way at a time. Missing means all. */
  concurrency?: number;
  /** Workers that may fail without failing the node: a number, or a share. Missing means 0, with an `after` all. */
  tolerateFailures?: number | string;
}

/** A job that runs once for a node with items. Retries, timeout, domain and tags are those of the node. */
export interface NodeJob {
  jobName?: string;
  /** The number that the job was registered with. */
  jobId?: number | string;
  /** Text; objects as JSON. */
  nodeParams?: string;
}

/** A task as definitions and histories describe it: a node of a DAG, a sub-task, or what code asked for. */
export interface NodeSpec {
  nodeId: NodeId;
  /** Missing means job. */
  nodeType?: NodeType;
  /** Number that the job of a job node was registered with, or the id of a nested workflow. */
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
  timeoutSeconds?: number;
  /**
   * The timeout where neither `timeoutSeconds` nor the engine's option `defaultTimeoutSeconds` says one. Builders write 30;
   * missing means an hour: what a file from elsewhere expects.
   */
  defaultTimeoutSeconds?: number;
  /** An attempt whose job sends no heartbeat for so long times out. Missing means that none is expected. */
  heartbeatTimeoutSeconds?: number;
  retryCount?: number;
  retryPolicy?: Partial<RetryPolicy>;
  domain?: string;
  /** Tags that a worker must have to run the task, all of them. */
  workerTags?: string[];
  /** The designated worker: its id or its address. No other worker runs the task. */
  worker?: string;
  /**
   * Missing means `BROADCAST` if there is a `broadcast`, `MAP` or `MAP_REDUCE` if there is a `map`, else `STANDALONE`. The
   * job of a node with `MAP` and no `map` hands in the items itself.
   */
  executeType?: ExecuteType;
  /** The job runs once for each item. */
  map?: MapSpec;
  /** The job runs once on every eligible worker. */
  broadcast?: BroadcastSpec;
  /** Definition of a nested workflow. Without a version, the newest at submit. */
  workflowName?: string;
  workflowVersion?: string;
  /** Dag-spec of a nested workflow, where that travels with its parent. */
  workflow?: object;
  /** Policy for a child of code whose parent ends first. Missing means `terminate`. */
  whenParentEnds?: WhenParentEnds;
  /** Sub-tasks of the same parent, by name, that a sub-task waits for. */
  dependsOn?: string[];
}
