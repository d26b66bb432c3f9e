import { parseStored } from "../base/stored-json.ts";
import type { Event, InstanceCreated } from "./event.ts";

/** A short form of an event: an array of its tag, these fields, and an object with all others, if there are any. */
interface Form {
  readonly type: Event["type"];
  readonly fields: readonly string[];
}

/**
 * Forms of the commonest events. Of `InstanceCreated`, generation 1, an empty context and the trigger `api` are left
 * out. Tags and fields reach the disk and are read for ever: add, never rename.
 */
const forms = {
  C: { type: "InstanceCreated", fields: ["workflow", "version", "maxConcurrentTasks"] },
  S: { type: "InstanceStarted", fields: [] },
  Q: { type: "TasksScheduled", fields: ["tasks"] },
  A: { type: "TaskAdded", fields: ["node"] },
  B: { type: "TaskStarted", fields: ["task", "attempt", "worker", "startedAt"] },
  D: { type: "TaskSucceeded", fields: ["task", "attempt", "worker", "startedAt"] },
  F: { type: "TaskSucceeded", fields: ["task", "attempt"] },
  E: { type: "InstanceEnded", fields: ["status"] },
} as const satisfies Readonly<Record<string, Form>>;

type Tag = keyof typeof forms;
type Fields = Record<string, unknown>;

/** Returns events as they are on disk: a JSON array of short forms, and of whole events where there is no form. */
export function textOfEvents(events: readonly Event[]): string {
  let text = "";
  for (const event of events) text += text === "" ? textOf(event) : `,${textOf(event)}`;
  return `[${text}]`;
}

/** Reads what `textOfEvents` has written. `STORE_CORRUPT` with what the text is of, if it is none. */
export function parseEvents(text: string, what: string): Event[] {
  return parseStored(text, what, eventsOf);
}

/** Reads what `textOfEvents` has written, or throws. */
export function eventsIn(text: string): Event[] {
  return eventsOf(JSON.parse(text));
}

function eventsOf(stored: unknown): Event[] {
  return (stored as readonly unknown[]).map(eventOf);
}

/** The hottest path of the kernel's: nothing is made but text. */
function textOf(event: Event): string {
  switch (event.type) {
    case "InstanceCreated":
      return `["C",${quoted(event.workflow)},${quoted(event.version)},${JSON.stringify(event.maxConcurrentTasks)}${othersText("C", event)}]`;
    case "InstanceStarted":
      return `["S"${othersText("S", event)}]`;
    case "TasksScheduled":
      return `["Q",[${event.tasks.join(",")}]${othersText("Q", event)}]`;
    case "TaskAdded":
      return `["A",${JSON.stringify(event.node)}${othersText("A", event)}]`;
    case "TaskStarted":
      return `["B",${event.task},${event.attempt},${quoted(event.worker)},${event.startedAt}${othersText("B", event)}]`;
    case "TaskSucceeded": {
      const { task, attempt, worker, startedAt } = event;
      return worker === undefined || startedAt === undefined
        ? `["F",${task},${attempt}${othersText("F", event)}]`
        : `["D",${task},${attempt},${quoted(worker)},${startedAt}${othersText("D", event)}]`;
    }
    case "InstanceEnded":
      return `["E","${event.status}"${othersText("E", event)}]`;
    default:
      return JSON.stringify(event);
  }
}

/** What JSON text holds as it is. */
const plain = /^[ !#-[\]-~]*$/;

function quoted(name: string): string {
  return plain.test(name) ? `"${name}"` : JSON.stringify(name);
}

function othersText(tag: Tag, event: Event): string {
  const others = othersOf(event, forms[tag].fields);
  return others === undefined ? "" : `,${JSON.stringify(others)}`;
}

/** Fields without a place of their own; also those that only a later version knows. */
function othersOf(event: Event, fields: readonly string[]): Fields | undefined {
  let others: Fields | undefined;
  for (const field in event) {
    if (field === "type" || fields.includes(field)) continue;
    const value = (event as unknown as Fields)[field];
    if (value === undefined || (event.type === "InstanceCreated" && isUsual(event, field))) continue;
    (others ??= {})[field] = value;
  }
  return others;
}

function isUsual({ generation, trigger, context }: InstanceCreated, field: string): boolean {
  if (field === "generation") return generation === 1;
  if (field === "trigger") return trigger === "api";
  return field === "context" && isEmpty(context);
}

function eventOf(stored: unknown): Event {
  if (!Array.isArray(stored)) return stored as Event;
  const [tag, ...values] = stored as readonly unknown[];
  if (typeof tag !== "string" || !Object.hasOwn(forms, tag)) {
    throw new TypeError(`an event begins with ${JSON.stringify(tag)}`);
  }
  const { type, fields } = forms[tag as Tag];
  const event: Fields = tag === "C" ? newCreated() : { type };
  fields.forEach((field, place) => (event[field] = values[place]));
  Object.assign(event, values[fields.length]);
  return event as unknown as Event;
}

/** The order of the fields is that in which an engine shows them. */
function newCreated(): Fields {
  const filled = { workflow: "", version: "", generation: 1, context: {}, maxConcurrentTasks: 0, trigger: "api" };
  return { type: "InstanceCreated", ...filled };
}

function isEmpty(context: object): boolean {
  for (const _ in context) return false;
  return true;
}
