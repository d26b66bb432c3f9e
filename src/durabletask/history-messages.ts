import { failureDetails } from "./failure-details.ts";
import { integer, message, optional, optionalText, optionalTime, text, textMap, type ValueOf } from "./message.ts";

/**
 * Events of an orchestration's history, as clients and workers get them. The fields are those that Microsoft's dialect and
 * Dapr's agree on.
 */

export const instance = message({ instanceId: text(1), executionId: optionalText(2) });

const parentInstance = message({
  taskScheduledId: integer(1),
  name: optionalText(2),
  version: optionalText(3),
  instance: optional(4, instance),
});

export const traceContext = message({ traceParent: text(1) });

const executionStarted = message({
  name: text(1),
  version: optionalText(2),
  input: optionalText(3),
  instance: optional(4, instance),
  parent: optional(5, parentInstance),
  scheduledStart: optionalTime(6),
  parentTrace: optional(7, traceContext),
  tags: textMap(9),
});

const completed = message({ taskScheduledId: integer(1), result: optionalText(2) });
const failed = message({ taskScheduledId: integer(1), failure: optional(2, failureDetails) });
const reason = message({ input: optionalText(1) });
const raised = message({ name: text(1), input: optionalText(2) });

/** One event of a history. Exactly one field besides the first two is there. */
export const historyEvent = message({
  eventId: integer(1),
  at: optionalTime(2),
  executionStarted: optional(3, executionStarted),
  executionCompleted: optional(
    4,
    message({ status: integer(1), result: optionalText(2), failure: optional(3, failureDetails) }),
  ),
  executionTerminated: optional(5, reason),
  taskScheduled: optional(6, message({ name: text(1), version: optionalText(2), input: optionalText(3) })),
  taskCompleted: optional(7, completed),
  taskFailed: optional(8, failed),
  childCreated: optional(
    9,
    message({ instanceId: text(1), name: text(2), version: optionalText(3), input: optionalText(4) }),
  ),
  childCompleted: optional(10, completed),
  childFailed: optional(11, failed),
  timerCreated: optional(12, message({ fireAt: optionalTime(1) })),
  timerFired: optional(13, message({ fireAt: optionalTime(1), timerId: integer(2) })),
  orchestratorStarted: optional(14, message<object>({})),
  eventSent: optional(16, message({ instanceId: text(1), name: text(2), input: optionalText(3) })),
  eventRaised: optional(17, raised),
  executionSuspended: optional(21, reason),
  executionResumed: optional(22, reason),
});
export type HistoryEvent = ValueOf<typeof historyEvent>;
