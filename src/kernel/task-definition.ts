import { assert } from "../base/assert.ts";
import type { MapSpec, NodeId, NodeSpec, NodeType, WhenParentEnds } from "./node-spec.ts";
import { defaultRetryPolicy, type RetryPolicy } from "./retry.ts";

/** Settings of a node of a definition, or a sub-task, for running it. */
export interface TaskDefinition {
  readonly name: string;
  readonly nodeId: NodeId;
  readonly kind: TaskKind;
  readonly jobName: string | undefined;
  readonly jobId: NodeId | undefined;
  /** JSON text, or plain text as PowerJob's files have it; a decision's expression. */
  readonly params: string | undefined;
  readonly enabled: boolean;
  readonly skipWhenFailed: boolean;
  /** Undefined if the task sets none: the engine's default holds, and `defaultTimeoutMs` if that is not set. */
  readonly timeoutMs: number | undefined;
  readonly defaultTimeoutMs: number;
  readonly retryCount: number;
  readonly retryPolicy: RetryPolicy;
  readonly domain: string | undefined;
  /** Tags that a worker must have; undefined for none. */
  readonly workerTags: readonly string[] | undefined;
  /** The designated worker, by id or address. */
  readonly worker: string | undefined;
  readonly workflowName: string | undefined;
  readonly workflowVersion: string | undefined;
  readonly whenParentEnds: WhenParentEnds | undefined;
  readonly map: MapSettings | undefined;
}

/** Settings of a map; each of its items runs with the other settings of the task. */
export interface MapSettings {
  readonly items: string | readonly unknown[];
  readonly concurrency: number | undefined;
  readonly failFast: boolean;
  readonly tolerateFailures: number | string;
}

const defaultTimeoutSeconds = 3600;

const kinds = { 1: "job", 2: "decision", 3: "nested" } as const satisfies Record<NodeType, string>;

/** A map is a job node with items. */
export type TaskKind = (typeof kinds)[NodeType] | "map";

/** Numbers of node types, as in dag-specs and rows: the inverse of `kinds`. */
export const nodeTypes: { readonly [Type in NodeType as (typeof kinds)[Type]]: Type } = {
  job: 1,
  decision: 2,
  nested: 3,
};

export function kindOf({ nodeType, map }: Pick<NodeSpec, "nodeType" | "map">): TaskKind {
  const kind: TaskKind | undefined = kinds[nodeType ?? nodeTypes.job];
  assert(kind !== undefined, "a node's type is 1, 2 or 3");
  return kind === "job" && (map ?? null) !== null ? "map" : kind;
}

/** The number of items of so many that may fail without failing their map. */
export function toleratedFailures({ tolerateFailures }: Pick<MapSettings, "tolerateFailures">, total: number): number {
  if (typeof tolerateFailures === "number") return tolerateFailures;
  return Math.floor((Number.parseFloat(tolerateFailures) * total) / 100);
}

function mapSettings({ items, concurrency, failFast, tolerateFailures }: MapSpec): MapSettings {
  return { items, concurrency, failFast: failFast ?? false, tolerateFailures: tolerateFailures ?? 0 };
}

/** The timeout of one attempt. */
export function timeoutMsOf(
  { timeoutMs, defaultTimeoutMs }: Pick<TaskDefinition, "timeoutMs" | "defaultTimeoutMs">,
  limits: { readonly timeoutMs: number | undefined },
): number {
  return timeoutMs ?? limits.timeoutMs ?? defaultTimeoutMs;
}

/** Names the definition of a nested workflow. */
export function childWorkflow({ workflowName: workflow, workflowVersion: version }: TaskDefinition): {
  workflow: string | undefined;
  version: string | undefined;
} {
  return { workflow, version };
}

export function defineTask(node: NodeSpec, name: string): TaskDefinition {
  const kind = kindOf(node);
  return {
    name,
    nodeId: node.nodeId,
    kind,
    jobName: node.jobName,
    jobId: node.jobId,
    params: node.nodeParams,
    enabled: node.enable ?? true,
    skipWhenFailed: node.skipWhenFailed ?? false,
    timeoutMs: node.timeoutSeconds === undefined ? undefined : node.timeoutSeconds * 1000,
    defaultTimeoutMs: (node.defaultTimeoutSeconds ?? defaultTimeoutSeconds) * 1000,
    retryCount: node.retryCount ?? 0,
    retryPolicy: node.retryPolicy === undefined ? defaultRetryPolicy : { ...defaultRetryPolicy, ...node.retryPolicy },
    domain: node.domain,
    workerTags: node.workerTags,
    worker: node.worker,
    workflowName: node.workflowName ?? (kind === "nested" && node.jobId !== undefined ? String(node.jobId) : undefined),
    workflowVersion: node.workflowVersion,
    whenParentEnds: node.whenParentEnds,
    map: kind === "map" && node.map !== undefined ? mapSettings(node.map) : undefined,
  };
}
