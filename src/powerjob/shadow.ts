import type { DagSpec } from "../kernel/dag/dag-spec.ts";
import type { NodeSpec } from "../kernel/node-spec.ts";
import { nodeTypes } from "../kernel/task-definition.ts";

/** A finished row of `workflow_instance_info`: what PowerJob did in one run. */
export interface PowerJobRun {
  readonly id: number;
  readonly workflowId: number;
  readonly wfInstanceId: string;
  /** 3 failed, 4 succeed, 10 stopped. */
  readonly status: number;
  /** JSON: the context at the end of the run, values as text. */
  readonly wfContext: string | null;
  /** JSON: the graph with the status and result of each node. */
  readonly dag: string | null;
}

/** Params of the job that stands for every job in a shadow run. */
export interface RecordedOutcome {
  readonly failed: boolean;
  readonly result: string | null;
}

/** The name of that job. */
export const recordedJob = "recorded";

/** Statuses of nodes in PowerJob: waiting, failed, succeed, canceled. */
const nodeStatus = { waiting: 1, failed: 4, succeed: 5, canceled: 9 } as const;
const runSucceeded = 4;

/**
 * The definition of a workflow in which every job gives the outcome that PowerJob recorded for its node, so that a run of
 * it has no effects. Decisions are made here; nested workflows count as jobs. Undefined if the record cannot be read.
 */
export function shadowSpec(spec: DagSpec, run: PowerJobRun): DagSpec | undefined {
  const recorded = recordedNodes(run);
  if (recorded === undefined) return undefined;
  const { maxInstances: _, ...settings } = spec;
  return { ...settings, nodes: spec.nodes.map((node) => shadowNode(node, recorded.get(node.nodeId))) };
}

function shadowNode(
  { nodeId, nodeType, nodeName, enable, skipWhenFailed, nodeParams }: NodeSpec,
  recorded?: NodeSpec,
): NodeSpec {
  const common = {
    nodeId,
    ...(nodeName !== undefined && { nodeName }),
    ...(enable !== undefined && { enable }),
    ...(skipWhenFailed !== undefined && { skipWhenFailed }),
  };
  if (nodeType === nodeTypes.decision) {
    return { ...common, nodeType, ...(nodeParams !== undefined && { nodeParams }) };
  }
  const outcome: RecordedOutcome = {
    failed: recorded?.status === nodeStatus.failed,
    result: typeof recorded?.result === "string" ? recorded.result : null,
  };
  return { ...common, nodeType: nodeTypes.job, jobName: recordedJob, nodeParams: JSON.stringify(outcome) };
}

/** What the job gives. */
export function giveRecorded({ failed, result }: RecordedOutcome): string | null {
  if (failed) throw new Error(result ?? "the task failed in PowerJob");
  return result;
}

/** The context of a run. PowerJob keeps each value as text; one that is JSON is its value here. */
export function contextOf({ wfContext }: PowerJobRun): Record<string, unknown> {
  const context = objectIn(wfContext) ?? {};
  return Object.fromEntries(Object.entries(context).map(([key, value]) => [key, valueOf(value)]));
}

/** What became of one node here. */
export interface ShadowTask {
  readonly nodeId: number | string;
  readonly name: string;
  readonly status: string;
}

/** The differences between a run of PowerJob and the same run here, in words; empty if they agree. */
export function compareRuns(run: PowerJobRun, status: string, tasks: readonly ShadowTask[]): string[] {
  const differences: string[] = [];
  const theirs = run.status === runSucceeded ? "Success" : "Failed";
  if (theirs !== status) differences.push(`the run ended in ${theirs} in PowerJob, and in ${status} here`);
  const recorded = recordedNodes(run) ?? new Map<number | string, NodeSpec>();
  for (const { nodeId, name, status: ours } of tasks) {
    const theirStatus = recorded.get(nodeId)?.status ?? nodeStatus.waiting;
    const expected = statusesFor(theirStatus);
    if (!expected.includes(ours)) {
      differences.push(`task "${name}" is ${expected[0]} in PowerJob, and ${ours} here`);
    }
  }
  return differences;
}

/** The statuses here that agree with one of PowerJob. A node that it never started is canceled here when the run ends. */
function statusesFor(status: number): readonly string[] {
  switch (status) {
    case nodeStatus.succeed:
      return ["Success", "Skipped"];
    case nodeStatus.failed:
      return ["Failed"];
    default:
      return ["Canceled"];
  }
}

function recordedNodes({ dag }: PowerJobRun): Map<number | string, NodeSpec> | undefined {
  const graph: { nodes?: NodeSpec[] } | undefined = objectIn(dag);
  const nodes = graph?.nodes;
  return Array.isArray(nodes) ? new Map(nodes.map((node) => [Number(node.nodeId), node])) : undefined;
}

function objectIn(text: string | null): object | undefined {
  const value = valueOf(text);
  return typeof value === "object" && value !== null ? value : undefined;
}

function valueOf(value: unknown): unknown {
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return value;
  }
}
