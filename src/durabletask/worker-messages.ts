import { failureDetails } from "./failure-details.ts";
import { historyEvent, instance, traceContext } from "./history-messages.ts";
import {
  dueTime,
  flag,
  integer,
  integers,
  list,
  message,
  optional,
  optionalText,
  text,
  texts,
  type ValueOf,
} from "./message.ts";

/**
 * Messages of the Durable Task protocol between workers and the server. They have the fields that Microsoft's dialect and
 * Dapr's agree on. A field of one dialect is named, and is sent to streams of that dialect only.
 */

// What orchestrators answer

const completeAction = message({
  status: integer(1),
  result: optionalText(2),
  newVersion: optionalText(4),
  carryoverEvents: list(5, historyEvent),
  failure: optional(6, failureDetails),
});
export type CompleteAction = ValueOf<typeof completeAction>;

/** One thing that an orchestrator asks for. Exactly one field besides the id is there. */
export const orchestratorAction = message({
  id: integer(1),
  scheduleTask: optional(2, message({ name: text(1), version: optionalText(2), input: optionalText(3) })),
  createChild: optional(
    3,
    message({ instanceId: text(1), name: text(2), version: optionalText(3), input: optionalText(4) }),
  ),
  createTimer: optional(4, message({ fireAt: dueTime(1) })),
  sendEvent: optional(5, message({ instance: optional(1, instance), name: text(2), data: optionalText(3) })),
  complete: optional(6, completeAction),
  terminate: optional(7, message({ instanceId: text(1), reason: optionalText(2), recurse: flag(3) })),
  /** Microsoft only. */
  sendEntityMessage: optional(8, message<object>({})),
  /** Dapr only: the worker has not the version that the instance began with. */
  versionNotAvailable: optional(10, message<object>({})),
  /** Dapr only. */
  createDetached: optional(
    11,
    message({ instanceId: text(1), name: text(2), version: optionalText(3), input: optionalText(4) }),
  ),
});
export type OrchestratorAction = ValueOf<typeof orchestratorAction>;

export const orchestratorRequest = message({
  instanceId: text(1),
  executionId: optionalText(2),
  pastEvents: list(3, historyEvent),
  newEvents: list(4, historyEvent),
});

export const orchestratorResponse = message({
  instanceId: text(1),
  actions: list(2, orchestratorAction),
  customStatus: optionalText(3),
  completionToken: text(4),
});
export type OrchestratorResponse = ValueOf<typeof orchestratorResponse>;

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
  orchestratorRequest: optional(1, orchestratorRequest),
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
