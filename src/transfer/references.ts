import type { ParentAddress } from "../kernel/address.ts";
import type { NodeSpec } from "../kernel/node-spec.ts";
import type { PayloadRef } from "../kernel/payload.ts";
import type { OutboxMessage } from "../runtime/outbox.ts";

/** A nested workflow, in the version that was fixed when its parent was submitted. */
export interface NestedWorkflow {
  readonly name: string;
  readonly version: string;
}

/** Fields of events that hold values of users, in which references are not looked for. */
const usersFields = ["node", "subTasks"];

/** The large values that a turn's events refer to, whatever the events are. */
export function payloadRefs(events: string): PayloadRef[] {
  if (!events.includes('"ref":')) return [];
  const found: PayloadRef[] = [];
  collectRefs(JSON.parse(events), found);
  return found;
}

function collectRefs(value: unknown, found: PayloadRef[]): void {
  if (typeof value !== "object" || value === null) return;
  if (isPayloadRef(value)) return void found.push(value);
  for (const [name, each] of Object.entries(value)) if (!usersFields.includes(name)) collectRefs(each, found);
}

function isPayloadRef(value: object): value is PayloadRef {
  return "ref" in value && "bytes" in value && typeof value.ref === "number" && typeof value.bytes === "number";
}

/** Returns the nested workflows of tasks that were added to a running instance. */
export function nestedInEvents(events: string): NestedWorkflow[] {
  if (!events.includes('"workflowVersion":')) return [];
  const parsed = JSON.parse(events) as readonly { node?: NodeSpec; subTasks?: readonly NodeSpec[] }[];
  return parsed.flatMap(({ node, subTasks = [] }) => nestedIn(node === undefined ? subTasks : [node, ...subTasks]));
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
  const parsed = JSON.parse(events) as readonly { parent?: ParentAddress | number }[];
  return JSON.stringify(
    parsed.map((event) =>
      typeof event.parent === "object" ? { ...event, parent: withKey(event.parent, keyOf) } : event,
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
