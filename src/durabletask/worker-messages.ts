import { failureDetails } from "./client-messages.ts";
import { integer, integers, list, message, optional, optionalText, text, texts, type ValueOf } from "./message.ts";

/**
 * Messages of the Durable Task protocol between workers and the server. They have the fields that Microsoft's dialect and
 * Dapr's agree on. A field of one dialect is named, and is sent to streams of that dialect only.
 */

const instance = message({ instanceId: text(1), executionId: optionalText(2) });

const traceContext = message({ traceParent: text(1) });

export const activityRequest = message({
  name: text(1),
  version: optionalText(2),
  input: optionalText(3),
  instance: optional(4, instance),
  taskId: integer(5),
  parentTrace: optional(6, traceContext),
  /** Dapr only: the same for every execution of one task. Microsoft has another field under this number. */
  taskExecutionId: text(7),
});

export const activityResponse = message({
  instanceId: text(1),
  taskId: integer(2),
  result: optionalText(3),
  failure: optional(4, failureDetails),
  completionToken: text(5),
});
export type ActivityResponse = ValueOf<typeof activityResponse>;

export const workItem = message({
  activityRequest: optional(2, activityRequest),
  /** Microsoft only: its SDKs take a stream for dead on which nothing came for two minutes. */
  healthPing: optional(4, message<object>({})),
  completionToken: text(10),
});

const filter = message({ name: text(1), versions: texts(2) });

export const getWorkItemsRequest = message({
  /** Microsoft only. */
  maxConcurrentOrchestrations: integer(1),
  maxConcurrentActivities: integer(2),
  maxConcurrentEntities: integer(3),
  /** Dapr only. */
  daprCapabilities: integers(4),
  /** Microsoft only. */
  capabilities: integers(10),
  filters: optional(11, message({ orchestrations: list(1, filter), activities: list(2, filter) })),
});
export type GetWorkItemsRequest = ValueOf<typeof getWorkItemsRequest>;

/** Gives a work item back. Microsoft only. */
export const abandonRequest = message({ completionToken: text(1) });
