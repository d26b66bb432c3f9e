import { assert } from "../base/assert.ts";
import type {
  BroadcastSpec,
  ExecuteType,
  MapSpec,
  NodeId,
  NodeJob,
  NodeSpec,
  NodeType,
  WhenParentEnds,
} from "./node-spec.ts";
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
  /** Time without a heartbeat after which an attempt times out; undefined if none is expected. */
  readonly heartbeatTimeoutMs: number | undefined;
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
  /** Undefined for a broadcast, whose items are the eligible workers, and where a source hands in the items. */
  readonly items: string | readonly unknown[] | undefined;
  readonly concurrency: number | undefined;
  readonly failFast: boolean;
  readonly tolerateFailures: number | string;
  /** The jobs that run once: before all items, to hand them in, and after them. */
  readonly hooks: readonly MapHook[];
}

/** A job that a map runs once. The one after the items reads their results, and decides how the map ends. */
export interface MapHook extends NodeJob {
  readonly name: "before" | "source" | "after" | "reduce";
}

const defaultTimeoutSeconds = 3600;

const kinds = { 1: "job", 2: "decision", 3: "nested" } as const satisfies Record<NodeType, string>;

/** A map is a job node with items; those of a broadcast are the eligible workers. */
export type TaskKind = (typeof kinds)[NodeType] | "map";

/** Numbers of node types, as in dag-specs and rows: the inverse of `kinds`. */
export const nodeTypes: { readonly [Type in NodeType as (typeof kinds)[Type]]: Type } = {
  job: 1,
  decision: 2,
  nested: 3,
};

export function kindOf(node: NodeWithItems & Pick<NodeSpec, "nodeType">): TaskKind {
  const kind: TaskKind | undefined = kinds[node.nodeType ?? nodeTypes.job];
  assert(kind !== undefined, "a node's type is 1, 2 or 3");
  return kind === "job" && (isMap(node) || isBroadcast(node)) ? "map" : kind;
}

type NodeWithItems = Pick<NodeSpec, "map" | "broadcast" | "executeType">;

/** PowerJob's numbers and words for a map. */
export const mapTypes: readonly (ExecuteType | undefined)[] = [4, "MAP"];

function isMap({ map, executeType }: NodeWithItems): boolean {
  return (map ?? null) !== null || mapTypes.includes(executeType);
}

/** True for a map whose items are handed in by a job while it runs. */
export function hasSource(map: Pick<MapSettings, "hooks"> | undefined): boolean {
  return map?.hooks.some(({ name }) => name === "source") ?? false;
}

/** PowerJob's number and word for a broadcast. */
export const broadcastTypes: readonly (ExecuteType | undefined)[] = [2, "BROADCAST"];

/** True for a node whose job runs once on every eligible worker. */
export function isBroadcast({ broadcast, executeType }: NodeWithItems): boolean {
  return (broadcast ?? null) !== null || broadcastTypes.includes(executeType);
}

/** The number of items of so many that may fail without failing their map. */
export function toleratedFailures({ tolerateFailures }: Pick<MapSettings, "tolerateFailures">, total: number): number {
  if (typeof tolerateFailures === "number") return tolerateFailures;
  return Math.floor((Number.parseFloat(tolerateFailures) * total) / 100);
}

/**
 * A hook after the items sees the failed ones and decides, so it tolerates all unless the node says otherwise. The job of
 * a node that only says `MAP` hands in its items itself, as PowerJob's processors do.
 */
function mapSettings(map: MapSpec, ownJob: NodeJob): MapSettings {
  const { items, source, concurrency, failFast, tolerateFailures, reduce } = map;
  const hooks: MapHook[] = [];
  if ((items ?? null) === null) hooks.push({ ...(source ?? ownJob), name: "source" });
  const isReduced = (reduce ?? null) !== null;
  if (isReduced) hooks.push({ ...reduce, name: "reduce" });
  const tolerated = tolerateFailures ?? (isReduced ? "100%" : 0);
  return { items: items ?? undefined, concurrency, failFast: failFast ?? false, tolerateFailures: tolerated, hooks };
}

function broadcastSettings({ before, after, concurrency, tolerateFailures }: BroadcastSpec): MapSettings {
  const hooks: MapHook[] = [];
  if ((before ?? null) !== null) hooks.push({ ...before, name: "before" });
  if ((after ?? null) !== null) hooks.push({ ...after, name: "after" });
  const tolerated = tolerateFailures ?? ((after ?? null) === null ? 0 : "100%");
  return {
    items: undefined,
    concurrency: concurrency ?? Infinity,
    failFast: false,
    tolerateFailures: tolerated,
    hooks,
  };
}

function settingsOf(node: NodeWithItems & NodeJob): MapSettings {
  if (!isMap(node)) return broadcastSettings(node.broadcast ?? {});
  return mapSettings(node.map ?? {}, ownJobOf(node));
}

function ownJobOf({ jobName, jobId, nodeParams }: NodeJob): NodeJob {
  return {
    ...(jobName !== undefined && { jobName }),
    ...(jobId !== undefined && { jobId }),
    ...(nodeParams !== undefined && { nodeParams }),
  };
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
    heartbeatTimeoutMs: node.heartbeatTimeoutSeconds === undefined ? undefined : node.heartbeatTimeoutSeconds * 1000,
    retryCount: node.retryCount ?? 0,
    retryPolicy: node.retryPolicy === undefined ? defaultRetryPolicy : { ...defaultRetryPolicy, ...node.retryPolicy },
    domain: node.domain,
    workerTags: node.workerTags,
    worker: node.worker,
    workflowName: node.workflowName ?? (kind === "nested" && node.jobId !== undefined ? String(node.jobId) : undefined),
    workflowVersion: node.workflowVersion,
    whenParentEnds: node.whenParentEnds,
    map: kind === "map" ? settingsOf(node) : undefined,
  };
}
