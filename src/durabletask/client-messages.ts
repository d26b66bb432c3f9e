import { failureDetails } from "./failure-details.ts";
import { historyEvent } from "./history-messages.ts";
import {
  flag,
  integer,
  integers,
  list,
  message,
  type Message,
  optional,
  optionalFlag,
  optionalText,
  optionalTime,
  text,
  textMap,
  texts,
  type ValueOf,
} from "./message.ts";

/**
 * Messages of the Durable Task protocol between clients and the server. Two dialects share the paths: Microsoft's, and
 * Dapr's fork, which gave other meanings to a few field numbers. These tables have the fields that both agree on, so the
 * server needs not know which of them a client speaks; fields that only one of them has are named.
 */

/** `google.protobuf.Empty`, and every answer without fields. */
export const empty: Message<object> = message<object>({});

/** Statuses by their number in the protocol. */
export const statusNumbers = {
  RUNNING: 0,
  COMPLETED: 1,
  CONTINUED_AS_NEW: 2,
  FAILED: 3,
  CANCELED: 4,
  TERMINATED: 5,
  PENDING: 6,
  SUSPENDED: 7,
} as const;
export type OrchestrationStatus = keyof typeof statusNumbers;

/** Microsoft's policy lists statuses that may be replaced; an older one says with `action` what happens to them. */
const reusePolicy = message({ statuses: integers(1), action: integer(2) });

export const createInstanceRequest = message({
  instanceId: text(1),
  name: text(2),
  version: optionalText(3),
  input: optionalText(4),
  scheduledStart: optionalTime(5),
  reusePolicy: optional(6, reusePolicy),
  tags: textMap(8),
  parentTrace: optional(9, message({ traceParent: text(1) })),
});
export type CreateInstanceRequest = ValueOf<typeof createInstanceRequest>;

export const createInstanceResponse = message({ instanceId: text(1) });

export const getInstanceRequest = message({ instanceId: text(1), getInputsAndOutputs: flag(2) });

export const orchestrationState = message({
  instanceId: text(1),
  name: text(2),
  version: optionalText(3),
  status: integer(4),
  scheduledStart: optionalTime(5),
  created: optionalTime(6),
  lastUpdated: optionalTime(7),
  input: optionalText(8),
  output: optionalText(9),
  customStatus: optionalText(10),
  failure: optional(11, failureDetails),
  completed: optionalTime(13),
  parentInstanceId: optionalText(14),
  tags: textMap(15),
});
export type OrchestrationState = ValueOf<typeof orchestrationState>;

export const getInstanceResponse = message({ exists: flag(1), state: optional(2, orchestrationState) });

export const raiseEventRequest = message({ instanceId: text(1), name: text(2), input: optionalText(3) });

export const terminateRequest = message({ instanceId: text(1), output: optionalText(2), recursive: flag(3) });

/** Suspends or resumes. */
export const pauseRequest = message({ instanceId: text(1), reason: optionalText(2) });

const instanceQuery = message({
  statuses: integers(1),
  createdFrom: optionalTime(2),
  createdTo: optionalTime(3),
  limit: integer(5),
  continuationToken: optionalText(6),
  idPrefix: optionalText(7),
  getInputsAndOutputs: flag(8),
});

/** Microsoft only. */
export const queryInstancesRequest = message({ query: optional(1, instanceQuery) });
export const queryInstancesResponse = message({
  states: list(1, orchestrationState),
  continuationToken: optionalText(2),
});

const purgeFilter = message({ createdFrom: optionalTime(1), createdTo: optionalTime(2), statuses: integers(3) });

export const purgeInstancesRequest = message({
  instanceId: text(1),
  filter: optional(2, purgeFilter),
  recursive: flag(3),
  /** Microsoft only: ids of several instances. Dapr has a flag under this number, which the wire type tells apart. */
  batch: optional(4, message({ instanceIds: texts(1) })),
});
export type PurgeInstancesRequest = ValueOf<typeof purgeInstancesRequest>;

export const purgeInstancesResponse = message({ deletedCount: integer(1), isComplete: optionalFlag(2) });

// Histories and lists

/** Microsoft only; the answer is a stream. */
export const streamHistoryRequest = message({ instanceId: text(1) });
export const historyChunk = message({ events: list(1, historyEvent) });

/** Dapr only. */
export const getHistoryRequest = message({ instanceId: text(1) });
export const getHistoryResponse = message({ events: list(1, historyEvent) });

/** Microsoft only: ids of ended instances. */
export const listInstanceIdsRequest = message({
  statuses: integers(1),
  completedFrom: optionalTime(2),
  completedTo: optionalTime(3),
  limit: integer(4),
  lastKey: optionalText(5),
});
export const listInstanceIdsResponse = message({ instanceIds: texts(1), lastKey: optionalText(2) });

/** Dapr only, under a name that differs in one letter: ids of all instances. Its texts have no wrappers. */
export const listAllIdsRequest = message({ continuationToken: text(1), limit: integer(2) });
export const listAllIdsResponse = message({ instanceIds: texts(1), continuationToken: text(2) });

// Second runs

/** Microsoft only. */
export const restartInstanceRequest = message({ instanceId: text(1), hasNewId: flag(2) });
export const restartInstanceResponse = message({ instanceId: text(1) });
export const rewindInstanceRequest = message({ instanceId: text(1), reason: optionalText(2) });

/** Dapr only. */
export const rerunRequest = message({
  sourceId: text(1),
  eventId: integer(2),
  newId: text(3),
  input: optionalText(4),
  overwritesInput: flag(5),
});
export type RerunRequest = ValueOf<typeof rerunRequest>;
export const rerunResponse = message({ newId: text(1) });

/** `grpc.health.v1`: 1 is SERVING, 2 NOT_SERVING. */
export const healthResponse = message({ status: integer(1) });
