import { z } from "zod";
import { anyId, epochMs, json } from "./common-schemas.ts";

export const ofInstance = z.object({ instanceId: anyId });

const nodeId = z.union([z.number(), z.string()]);

export const monitoredNode = z.object({
  nodeId,
  nodeName: z.string(),
  nodeType: z.number().int(),
  status: z.string(),
  result: json,
  startTime: epochMs.nullable(),
  finishedTime: epochMs.nullable(),
  duration: z.number().nullable(),
  skipWhenFailed: z.boolean(),
  workerAddress: z.string().nullable(),
});

export const monitoredInstance = z.object({
  instanceId: z.string(),
  workflowName: z.string(),
  status: z.string(),
  startTime: epochMs.nullable(),
  endTime: epochMs.nullable(),
  duration: z.number().nullable(),
  totalNodes: z.number().int(),
  waitingNodes: z.number().int(),
  runningNodes: z.number().int(),
  completedNodes: z.number().int(),
  failedNodes: z.number().int(),
  nodes: z.array(monitoredNode),
});

export const topology = z.object({
  nodes: z.array(
    z.object({ id: nodeId, name: z.string(), status: z.string(), type: z.number().int(), skipWhenFailed: z.boolean() }),
  ),
  edges: z.array(z.object({ from: nodeId, to: nodeId, property: z.string().nullable(), enable: z.boolean() })),
});

/** A waiting or running node. The node's own fields are null if the whole instance waits. */
const queuedNode = z.object({
  instanceId: z.string(),
  workflowName: z.string(),
  nodeId: nodeId.nullable(),
  nodeName: z.string().nullable(),
  attempt: z.number().int(),
  job: z.string().nullable(),
  domain: z.string(),
  since: epochMs.nullable(),
  workerAddress: z.string().nullable(),
  reason: z
    .enum(["workflow-limit", "instance-limit", "paused", "retry", "no-worker", "domain", "slot", "isolation", "engine"])
    .nullable(),
  waitingFor: z.string().nullable(),
  retryAt: epochMs.nullable(),
});

export const queueQuery = z.object({ limit: z.coerce.number().int().min(1).max(1000).default(1000) });

/** `total` includes the nodes beyond the limit. */
export const queue = z.object({ items: z.array(queuedNode), total: z.number().int() });

export const stuckQuery = z.object({
  minutes: z.coerce.number().min(0).max(525_600).optional().meta({
    description: "For how long at least. Default: the server's setting, an hour.",
  }),
});

export const stuckInstances = z.object({
  items: z.array(z.object({ instanceId: z.string(), workflowName: z.string(), updatedAt: epochMs })),
});
