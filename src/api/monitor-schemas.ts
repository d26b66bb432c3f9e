import { z } from "zod";
import { epochMs, json, name } from "./common-schemas.ts";

export const ofInstance = z.object({ instanceId: name });

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

export const queuedNode = z.object({
  instanceId: z.string(),
  workflowName: z.string(),
  nodeId,
  nodeName: z.string(),
  attempt: z.number().int(),
  job: z.string(),
  domain: z.string(),
  since: epochMs,
  workerAddress: z.string().nullable(),
  waitingFor: z.string().nullable(),
});
