import { assert } from "../base/assert.ts";
import type { Event } from "./event.ts";
import type { Failure } from "./failure.ts";
import type { Payload, PayloadRef } from "./payload.ts";

/** True, or boolean, if a value of the type may hold a reference to a payload. */
type MayRefer<T> = T extends PayloadRef
  ? true
  : T extends Failure
    ? false
    : T extends readonly (infer Item)[]
      ? MayRefer<Item>
      : T extends object
        ? { [Name in keyof T]-?: MayRefer<T[Name]> }[keyof T]
        : false;

/** The type itself if no value of it holds a payload, else never. */
export type WithoutPayloads<T> = true extends MayRefer<T> ? never : T;

/** The fields of a type that hold payloads: one, several by name, or a list of objects that hold some. */
type PayloadFields<T> = {
  readonly [Name in keyof T as true extends MayRefer<T[Name]> ? Name : never]-?: PayloadPlace<NonNullable<T[Name]>>;
};

type PayloadPlace<T> = [T] extends [Payload]
  ? "value"
  : T extends readonly (infer Item)[]
    ? readonly [PayloadFields<Item>]
    : "values";

/** The places of payloads in each event. An event or field with a payload that is missing here does not compile. */
const payloadFields: { readonly [Type in Event["type"]]: PayloadFields<Extract<Event, { readonly type: Type }>> } = {
  InstanceCreated: { context: "values", input: "value" },
  InstanceContinued: { input: "value", events: [{ data: "value" }], answers: [{ output: "value" }] },
  InstanceEnded: { output: "value" },
  InstanceReopened: { settled: [{ output: "value" }] },
  ContextPatched: { patch: "values" },
  TaskSucceeded: { output: "value", patch: "values" },
  MapStarted: { pages: [{ items: "value" }] },
  ItemsAdded: { pages: [{ items: "value" }] },
  EventRaised: { data: "value" },
  UpdateRequested: { data: "value" },
  UpdateAnswered: { output: "value" },
  InstanceStarted: {},
  InstanceTimedOut: {},
  PauseRequested: {},
  InstancePaused: {},
  InstanceResumed: {},
  ParentChanged: {},
  CancelRequested: {},
  CancelHeeded: {},
  CancelSent: {},
  TasksScheduled: {},
  TaskStarted: {},
  TaskAwaitsCompletion: {},
  TaskFailed: {},
  TaskInterrupted: {},
  TasksWithdrawn: {},
  RetriesDue: {},
  TasksStopped: {},
  TasksSkipped: {},
  TasksCanceled: {},
  TaskAdded: {},
  TaskParamsUpdated: {},
  DecisionMade: {},
  ChildStarted: {},
  ChildDetached: {},
  DetachedChildEnded: {},
  TimerSet: {},
  TimerFired: {},
  TimerCanceled: {},
  EventSent: {},
  CustomStatusSet: {},
  ReactionStarted: {},
  ReactionEnded: {},
  PatchMarked: {},
};

interface Fields {
  readonly [name: string]: "value" | "values" | readonly [Fields];
}

type Change = (payload: Payload) => Payload;

/** Replaces each payload of an event. An event in which nothing changes is returned as it is. */
export function mapPayloads<E extends Event>(event: E, change: Change): E {
  const fields: Fields | undefined = payloadFields[event.type];
  assert(fields !== undefined, `the places of payloads are known for each event, got ${event.type}`);
  return mapFields(event, fields, change);
}

/** Returns the references to large values in an event. */
export function payloadRefsIn(event: Event): PayloadRef[] {
  const refs: PayloadRef[] = [];
  mapPayloads(event, (payload) => {
    if (typeof payload === "object") refs.push(payload);
    return payload;
  });
  return refs;
}

function mapFields<T extends object>(holder: T, fields: Fields, change: Change): T {
  let changed: Record<string, unknown> | undefined;
  for (const name of Object.keys(fields)) {
    const before: unknown = holder[name as keyof T];
    const after = before === undefined ? undefined : mapPlace(before, fields[name], change);
    if (after !== before) (changed ??= {})[name] = after;
  }
  return changed === undefined ? holder : { ...holder, ...changed };
}

function mapPlace(value: unknown, place: Fields[string] | undefined, change: Change): unknown {
  if (place === "value") return change(value as Payload);
  if (place === "values") return mapValues(value as Readonly<Record<string, Payload | null>>, change);
  const [fields] = place as readonly [Fields];
  const items = value as readonly object[];
  const mapped = items.map((item) => mapFields(item, fields, change));
  return mapped.some((item, index) => item !== items[index]) ? mapped : items;
}

function mapValues(values: Readonly<Record<string, Payload | null>>, change: Change): typeof values {
  const entries = Object.entries(values).map(([name, value]) => [name, value === null ? null : change(value)] as const);
  return entries.some(([name, value]) => value !== values[name]) ? Object.fromEntries(entries) : values;
}
