import type { ParentAddress } from "../kernel/address.ts";
import { eventsIn, textOfEvents } from "../kernel/event-text.ts";
import { payloadRefsIn } from "../kernel/event-payloads.ts";
import type { NodeSpec } from "../kernel/node-spec.ts";
import type { PayloadRef } from "../kernel/payload.ts";
import type { OutboxMessage } from "../runtime/outbox.ts";

/** A nested workflow, in the version that was fixed when its parent was submitted. */
export interface NestedWorkflow {
  readonly name: string;
  readonly version: string;
}

/** Returns references to the large values of a turn's events. */
export function payloadRefs(events: string): PayloadRef[] {
  if (!events.includes('"ref":')) return [];
  return eventsIn(events).flatMap(payloadRefsIn);
}

/** Returns the nested workflows of tasks that were added to a running instance. */
export function nestedInEvents(events: string): NestedWorkflow[] {
  if (!events.includes('"workflowVersion":')) return [];
  return eventsIn(events).flatMap((event) => {
    if (event.type === "TaskAdded") return nestedIn([event.node]);
    return event.type === "TaskSucceeded" ? nestedIn(event.subTasks ?? []) : [];
  });
}

export function nestedIn(nodes: readonly NodeSpec[]): NestedWorkflow[] {
  return nodes.flatMap(({ workflowName: name, workflowVersion: version }) =>
    name === undefined || version === undefined ? [] : [{ name, version }],
  );
}

export function nestedInMessage(body: string): NestedWorkflow[] {
  const message = JSON.parse(body) as OutboxMessage;
  return message.kind === "start-child" ? [{ name: message.workflow, version: message.version }] : [];
}

export type KeyOf = (key: number) => number;

/** Rewrites the instance keys in events. Only the address of a parent has one. */
export function withKeys(events: string, keyOf: KeyOf): string {
  if (!events.includes('"parent":{')) return events;
  return textOfEvents(
    eventsIn(events).map((event) =>
      event.type !== "TaskAdded" && "parent" in event && event.parent !== undefined
        ? { ...event, parent: withKey(event.parent, keyOf) }
        : event,
    ),
  );
}

export function messageWithKeys(body: string, keyOf: KeyOf): OutboxMessage {
  const message = JSON.parse(body) as OutboxMessage;
  if (typeof message.to !== "string") throw new TypeError("a message is to somebody");
  const from = keyOf(message.from);
  if (message.kind === "start-child" && message.parent !== undefined) {
    return { ...message, from, parent: withKey(message.parent, keyOf) };
  }
  if (message.kind === "tell-child" && message.order.type === "RetryInstance") {
    return { ...message, from, order: { ...message.order, parent: withKey(message.order.parent, keyOf) } };
  }
  return { ...message, from };
}

function withKey(parent: ParentAddress, keyOf: KeyOf): ParentAddress {
  return { ...parent, key: keyOf(parent.key) };
}
