import { z } from "zod";
import { anyId, cursor, epochMs, json, name } from "./common-schemas.ts";
import { progress } from "./instance-schemas.ts";
import { taskWait } from "./wait-schemas.ts";

export const ofInstance = z.object({ instanceId: anyId });

const nodeId = z.union([z.number(), z.string()]);

/** The words of PowerJob and TIS, for programs that were written for them. */
const status = z.enum(["WAITING", "RUNNING", "SUCCEED", "FAILED", "CANCELED", "STOPPED"]);
const statusText = z.string().meta({ description: "The status in Heddle's own words." });
const nodeType = z.enum(["TASK", "CONTROL", "NESTED"]);

export const monitoredNode = z.object({
  nodeId,
  nodeName: z.string(),
  nodeType,
  status,
  statusText,
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
  status,
  statusText,
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
    z.object({ id: nodeId, name: z.string(), status, statusText, type: nodeType, skipWhenFailed: z.boolean() }),
  ),
  edges: z.array(z.object({ from: nodeId, to: nodeId, property: z.string().nullable(), enable: z.boolean() })),
});

/** A waiting or running node. The node's own fields are null if the whole instance waits. */
const queuedNode = monitoredNode.extend({
  instanceId: z.string(),
  workflowName: z.string(),
  nodeId: nodeId.nullable(),
  nodeName: z.string().nullable(),
  nodeType: nodeType.nullable(),
  attempt: z.number().int(),
  job: z.string().nullable(),
  domain: z.string(),
  since: epochMs.nullable(),
  wait: taskWait.nullable(),
  retryAt: epochMs.nullable(),
  progress: progress.nullable(),
});

export const queueQuery = z.object({ limit: z.coerce.number().int().min(1).max(1000).default(1000), cursor });

export const queue = z.array(queuedNode);

const tally = z
  .array(z.object({ name: z.string(), count: z.number().int() }))
  .meta({ description: "The largest first; at most 1000 names." });

export const queueCounts = z.object({
  waiting: z.object({ total: z.number().int(), byReason: tally, byWorkflow: tally, byJob: tally }),
  running: z.object({ total: z.number().int(), byWorkflow: tally, byJob: tally, byWorker: tally }),
});

export const stuckQuery = z.object({
  minutes: z.coerce.number().min(0).max(525_600).optional().meta({
    description: "For how long at least. Default: the server's setting, an hour.",
  }),
});

export const stuckInstances = z.object({
  items: z.array(z.object({ instanceId: z.string(), workflowName: z.string(), updatedAt: epochMs })),
});

export const statsQuery = z.object({
  hours: z.coerce.number().positive().max(8784).default(24).meta({ description: "How far to look back from now." }),
  buckets: z.coerce.number().int().min(1).max(200).default(48).meta({ description: "Into how many parts." }),
  workflow: name.optional(),
});

const durationMs = z.number().nullable().meta({ description: "From the creation to the end; null if nothing ended." });

export const stats = z.object({
  from: epochMs,
  to: epochMs,
  bucketMs: z.number(),
  isComplete: z.boolean().meta({ description: "False if only the newest instances of the period were counted." }),
  buckets: z.array(
    z.object({
      success: z.number().int(),
      failed: z.number().int(),
      terminated: z.number().int(),
      p50Ms: durationMs,
      p95Ms: durationMs,
    }),
  ),
  success: z.number().int(),
  failed: z.number().int(),
  terminated: z.number().int(),
});
