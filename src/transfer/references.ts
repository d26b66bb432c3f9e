import type { ParentAddress } from "../kernel/address.ts";
import type { NodeSpec } from "../kernel/node-spec.ts";
import type { PayloadRef } from "../kernel/payload.ts";
import type { Letter } from "../runtime/outbox.ts";

/** A workflow that somebody nests, in the version that was fixed when it was submitted. */
export interface NestedWorkflow {
  readonly name: string;
  readonly version: string;
}

/** Fields of events that hold what users wrote, and no values of ours. */
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

/** Of tasks that joined an instance while it ran. */
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

export function nestedInLetter(body: string): NestedWorkflow[] {
  const letter = JSON.parse(body) as Letter;
  return letter.kind === "start-child" ? [{ name: letter.workflow, version: letter.version }] : [];
}

export type KeyOf = (key: number) => number;

/** The same events, with the keys that instances have elsewhere. Only the address of a parent has one. */
export function withKeys(events: string, keyOf: KeyOf): string {
  if (!events.includes('"parent":{')) return events;
  const parsed = JSON.parse(events) as readonly { parent?: ParentAddress | number }[];
  return JSON.stringify(
    parsed.map((event) =>
      typeof event.parent === "object" ? { ...event, parent: withKey(event.parent, keyOf) } : event,
    ),
  );
}

export function letterWithKeys(body: string, keyOf: KeyOf): Letter {
  const letter = JSON.parse(body) as Letter;
  if (typeof letter.to !== "string") throw new TypeError("a letter is to somebody");
  const from = keyOf(letter.from);
  if (letter.kind === "start-child" && letter.parent !== undefined) {
    return { ...letter, from, parent: withKey(letter.parent, keyOf) };
  }
  if (letter.kind === "tell-child" && letter.order.type === "RetryWorkflow") {
    return { ...letter, from, order: { ...letter.order, parent: withKey(letter.order.parent, keyOf) } };
  }
  return { ...letter, from };
}

function withKey(parent: ParentAddress, keyOf: KeyOf): ParentAddress {
  return { ...parent, key: keyOf(parent.key) };
}
