/** Rows of PowerJob's tables (4.x and 5.x), with the columns that an import reads. Times are epoch ms. */
export interface PowerJobData {
  readonly workflows: readonly PowerJobWorkflow[];
  readonly nodes: readonly PowerJobNode[];
  readonly jobs: readonly PowerJobJob[];
}

/** What workflows and jobs have in common: when they are triggered. */
export interface PowerJobTiming {
  /** 1 API, 2 cron, 3 fixed rate, 4 fixed delay, 5 part of a workflow, 11 daily interval. */
  readonly timeExpressionType: number | null;
  readonly timeExpression: string | null;
  /** JSON with `start` and `end`. */
  readonly lifecycle: string | null;
  /** 1 enabled, 2 disabled, 99 deleted. */
  readonly status: number | null;
}

/** A row of `workflow_info`. */
export interface PowerJobWorkflow extends PowerJobTiming {
  readonly id: number;
  readonly wfName: string | null;
  /** JSON: the ids of the nodes, and the edges. */
  readonly peDag: string | null;
  /** Above it a run fails; 0 and less is no limit. */
  readonly maxWfInstanceNum: number | null;
}

/** A row of `workflow_node_info`. */
export interface PowerJobNode {
  readonly id: number;
  readonly workflowId: number;
  readonly type: number | null;
  /** The job, or the nested workflow. */
  readonly jobId: number | null;
  readonly nodeName: string | null;
  readonly nodeParams: string | null;
  readonly enable: boolean;
  readonly skipWhenFailed: boolean;
}

/** A row of `job_info`. */
export interface PowerJobJob extends PowerJobTiming {
  readonly id: number;
  readonly jobName: string | null;
  readonly jobParams: string | null;
  /** 1 standalone, 2 broadcast, 3 map-reduce, 4 map. */
  readonly executeType: number | null;
  /** The Java class, for built-in processors. */
  readonly processorInfo: string | null;
  readonly maxInstanceNum: number | null;
  /** Milliseconds; 0 is no limit. */
  readonly instanceTimeLimit: number | null;
  readonly instanceRetryNum: number | null;
  readonly taskRetryNum: number | null;
  readonly designatedWorkers: string | null;
}
