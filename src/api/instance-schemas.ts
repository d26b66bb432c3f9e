import { z } from "zod";
import { momentMax } from "../base/time-limits.ts";
import { anyId, app, cursor, epochMs, failure, json, limit, name, newId } from "./common-schemas.ts";
import { taskWait, wait, waitingFields } from "./wait-schemas.ts";

export const instanceStatus = z.enum(["Ready", "Running", "Paused", "Success", "Failed", "Terminated"]);

/** One status, or several separated by commas. */
const statuses = z
  .string()
  .transform((text) => text.split(","))
  .pipe(z.array(instanceStatus).min(1))
  .optional();

export const instanceFilter = z.object({
  status: statuses,
  workflow: name.optional(),
  idPrefix: z.string().max(512).optional(),
  app: app.optional(),
  createdFrom: z.coerce.number().int().min(0).max(momentMax).optional(),
  createdTo: z.coerce.number().int().min(0).max(momentMax).optional(),
  waits: z.stringbool().default(false).meta({
    description: "Also list what the unfinished instances of the page wait for, at most 50 of them.",
  }),
  cursor,
  limit,
});

export const instanceSummary = z.object({
  instanceId: z.string(),
  workflowName: z.string(),
  workflowVersion: z.string(),
  status: instanceStatus,
  generation: z.number().int(),
  createdAt: epochMs,
  endedAt: epochMs.nullable(),
  reason: z.string().nullable(),
  quarantined: z.string().nullable(),
  app: z.string().nullable(),
  waiting: z
    .array(wait)
    .optional()
    .meta({ description: "With `waits`: the first three things that an unfinished instance waits for." }),
  waitingTotal: waitingFields.waitingTotal.optional(),
});

export const progress = z
  .object({
    fraction: z.number(),
    done: z.number().optional(),
    total: z.number().optional(),
    message: z.string().optional(),
  })
  .meta({ description: "The progress that the running job reports." });

const itemCounts = z
  .object({
    total: z.number().int(),
    waiting: z.number().int(),
    running: z.number().int(),
    succeeded: z.number().int(),
    failed: z.number().int(),
    canceled: z.number().int(),
  })
  .meta({ description: "How many items of a map there are in each status." });

const hookName = z.enum(["before", "source", "after", "reduce"]);

export const taskView = z.object({
  number: z.number().int(),
  name: z.string(),
  nodeId: z.union([z.number(), z.string()]),
  kind: z.enum(["job", "decision", "nested", "map"]),
  job: z.string().optional(),
  status: z.string(),
  cause: z.string().optional(),
  attempt: z.number().int(),
  startedAt: epochMs.optional(),
  endedAt: epochMs.optional(),
  worker: z.string().optional(),
  failure: failure.partial({ stack: true }).optional(),
  retryAt: epochMs.optional(),
  childInstanceId: z.string().optional(),
  parentTask: z.string().optional(),
  wait: taskWait.extend({ since: epochMs.optional() }).optional(),
  items: itemCounts.optional(),
  isBroadcast: z.boolean().optional().meta({ description: "True if its items are the workers of a broadcast." }),
  hooks: z
    .array(hookName)
    .optional()
    .meta({ description: "The jobs that a map, or a broadcast, runs once, before its items and after them." }),
  progress: progress.optional(),
});

const taskStatus = z.enum([
  "Pending",
  "Running",
  "Success",
  "Failed",
  "TimeoutFailed",
  "Stopped",
  "Skipped",
  "Canceled",
]);

export const mapItemsQuery = z.object({
  status: z
    .string()
    .transform((text) => text.split(","))
    .pipe(z.array(taskStatus).min(1))
    .optional()
    .meta({ description: "Only items in this status, or in one of several separated by commas." }),
  limit: z.coerce.number().int().min(1).max(1000).default(100),
  cursor,
});

const mapItem = z.object({
  index: z.number().int().meta({ description: "Its place in the list, from 0." }),
  item: json.optional(),
  status: z.string(),
  cause: z.string().optional(),
  attempt: z.number().int(),
  worker: z.string().optional(),
  startedAt: epochMs.optional(),
  endedAt: epochMs.optional(),
  retryAt: epochMs.optional(),
  failure: failure.partial({ stack: true }).optional(),
  output: json.optional(),
});

export const mapItems = z.object({
  counts: itemCounts,
  items: z.array(mapItem),
  hooks: z
    .array(mapItem.omit({ index: true, item: true }).extend({ name: hookName }))
    .meta({ description: "The source and the reduce of a map, and the jobs before and after a broadcast." }),
  next: z.string().nullable().meta({ description: "The cursor of the next page; null on the last." }),
});

export const attempts = z.object({
  items: z.array(
    taskView.pick({ number: true, name: true, nodeId: true, kind: true, status: true, attempt: true }).extend({
      generation: z.number().int().meta({ description: "Counts up when the ended instance is reopened." }),
      worker: z.string().optional().meta({ description: "Address of the process that ran it." }),
      startedAt: epochMs.optional(),
      endedAt: epochMs.optional(),
      retryCount: z.number().int().meta({ description: "Retries made before this attempt." }),
      failure: failure.partial({ stack: true }).optional(),
    }),
  ),
});

export const taskDetails = taskView.extend({
  subTasks: z.record(z.string(), z.number().int()).meta({ description: "How many of its sub-tasks have each status." }),
});

export const instanceView = z.object({
  instanceId: z.string(),
  workflowName: z.string(),
  workflowVersion: z.string(),
  kind: z.enum(["dag", "code"]),
  status: instanceStatus,
  attention: z.string().optional(),
  customStatus: json.optional(),
  pausing: z.boolean(),
  withSkippedFailures: z.boolean(),
  generation: z.number().int(),
  reason: z.string().optional(),
  trigger: z.enum(["api", "nested", "schedule"]).meta({ description: "What started it." }),
  app: z.string().optional().meta({ description: "The application that it belongs to." }),
  createdAt: epochMs,
  updatedAt: epochMs.meta({ description: "Of its last change." }),
  startedAt: epochMs.optional(),
  endedAt: epochMs.optional(),
  parentInstanceId: z.string().optional(),
  historyLength: z
    .number()
    .int()
    .meta({ description: "Events in its history, those of earlier generations included." }),
  ...waitingFields,
  tasks: z.array(taskView),
});

export const resultQuery = z.object({
  waitMs: z.coerce.number().int().min(0).max(60_000).default(0).meta({ description: "How long to wait for its end." }),
  task: z
    .string()
    .optional()
    .meta({ description: "Only the output of the DAG's task of this name, which may be there before the end." }),
});
export const result = z.object({
  hasEnded: z.boolean(),
  status: instanceStatus,
  reason: z.string().nullable(),
  output: json.meta({ description: "Outputs by task name of a DAG; what the code gave of a code workflow." }),
});

export const historyQuery = z.object({ afterTurn: z.coerce.number().int().min(-1).default(-1), limit });
export const history = z.object({
  items: z.array(
    z.object({
      turn: z.number().int(),
      at: epochMs,
      firstEvent: z.number().int(),
      events: z.array(z.looseObject({ type: z.string() })),
    }),
  ),
  next: z.string().nullable(),
});

export const context = z.record(z.string(), json);
export const breakpoint = z.object({
  instanceId: z.string(),
  status: instanceStatus,
  completedTasks: z.array(z.string()),
  runningTasks: z.array(z.string()),
  dag: z.object({
    nodes: z.array(
      z.object({
        name: z.string(),
        status: z.string(),
        inDegree: z.number().int().meta({ description: "Predecessors that are not complete." }),
      }),
    ),
    edges: z.array(z.object({ from: z.string(), to: z.string(), isOff: z.boolean() })),
  }),
  context,
  updatedAt: epochMs.meta({ description: "Of its last change." }),
  spentMs: z.number(),
});
export const contextPatch = z.record(z.string(), json).meta({ description: "Keys overwrite; null removes." });

const logLevel = z.enum(["debug", "info", "warn", "error"]);

export const logQuery = z.object({
  after: z.coerce.number().int().min(0).optional(),
  last: z.stringbool().default(false).meta({ description: "The last lines instead of the first." }),
  task: name.optional(),
  level: logLevel.optional().meta({ description: "Only lines of this level and above." }),
  search: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .meta({ description: "Only lines with this text in message, task name or fields, upper and lower case alike." }),
  limit,
});
export const logLine = z.object({
  number: z.number().int(),
  at: epochMs,
  level: logLevel,
  taskName: z.string(),
  attempt: z.number().int(),
  message: z.string(),
  fields: z.record(z.string(), json),
  traceId: z.string().optional(),
});

export const reason = z.object({ reason: z.string().max(1000).optional() }).default({});
export const rerun = z.object({ task: name, params: json.optional() });
export const fork = z
  .object({ task: z.number().int().min(0).optional(), instanceId: newId.optional(), input: json.optional() })
  .default({});
/** Strict: a misspelt `output` would complete the task without one, for good. */
export const nodeOutput = z.strictObject({ output: json.optional() }).default({});
export const ofTaskToken = z.object({ token: z.string().min(1).max(100_000) });
export const completedTask = z.object({ instanceId: z.string() });
export const outsideFailure = z.strictObject({
  message: z.string().min(1).max(100_000),
  type: z.string().min(1).max(1000).exactOptional(),
  retryable: z.boolean().exactOptional(),
});
export const nodeParams = z.strictObject({ params: json });
export const ofNode = z.object({ id: anyId, nodeId: name });
export const ofNamed = z.object({ id: anyId, name });
