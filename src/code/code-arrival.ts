import type { Arrival, RaisedEvent } from "./arrival.ts";
import type { DagEvent, Event, InstanceContinued } from "../kernel/event.ts";
import type { Payload, PayloadRef } from "../kernel/payload.ts";

/** Reads values that travel by reference. */
export interface PayloadReader {
  read(payload: PayloadRef): Promise<string>;
}

/**
 * Converts an event to what the code sees; undefined for an event that it does not see, a promise where a value has to be
 * read. `input` is the input of the instance.
 */
export function arrivalOf(
  event: Event,
  input: Payload | undefined,
  reader: PayloadReader,
): Arrival | Promise<Arrival> | undefined {
  switch (event.type) {
    case "InstanceStarted":
      return withText(event, input, reader, started);
    case "InstanceContinued":
      return newBeginning(event, reader);
    case "TaskSucceeded":
      return withText(event, event.output, reader, succeeded);
    case "TaskFailed":
      return event.retryAt === undefined
        ? { type: "task-failed", task: event.task, failure: event.failure }
        : undefined;
    case "TasksStopped":
      // The code does not see tasks that are stopped with their instance; a user stops one at a time.
      return event.failure === undefined
        ? undefined
        : { type: "task-failed", task: event.tasks[0] as number, failure: event.failure };
    case "TimerFired":
      return { type: "timer-fired", timer: event.timer };
    case "EventRaised":
      return withText(event, event.data, reader, raised);
    case "UpdateRequested":
      return withText(event, event.data, reader, requested);
    case "CancelRequested":
      return { type: "cancel", reason: event.reason, isHeld: event.isHeld === true };
    case "InstancePaused":
      return { type: "paused" };
    case "InstanceResumed":
      return { type: "resumed" };
    default:
      return unseen(event);
  }
}

/** True for an event that the code may react to. */
export function isArrival(event: Event): boolean {
  switch (event.type) {
    case "InstanceStarted":
    case "InstanceContinued":
    case "InstanceResumed":
    case "TaskSucceeded":
    case "TimerFired":
    case "EventRaised":
    case "UpdateRequested":
    case "CancelRequested":
      return true;
    case "TaskFailed":
      return event.retryAt === undefined;
    case "TasksStopped":
      return event.failure !== undefined;
    default:
      return false;
  }
}

/** Only these events are not seen by the code: any other fails to compile above. */
function unseen(_event: UnseenEvent): undefined {
  return undefined;
}

type UnseenEvent =
  | DagEvent
  | Of<
      | "InstanceCreated"
      | "InstanceEnded"
      | "InstanceTimedOut"
      | "PauseRequested"
      | "ParentChanged"
      | "TaskAdded"
      | "TasksScheduled"
      | "TaskStarted"
      | "TaskAwaitsCompletion"
      | "TaskInterrupted"
      | "TasksWithdrawn"
      | "TasksCanceled"
      | "RetriesDue"
      | "ChildStarted"
      | "ChildDetached"
      | "DetachedChildEnded"
      | "TimerSet"
      | "TimerCanceled"
      | "EventSent"
      | "CancelSent"
      | "CancelHeeded"
      | "UpdateAnswered"
      | "CustomStatusSet"
      | "PatchMarked"
      | "ReactionStarted"
      | "ReactionEnded"
    >;

type Text = string | undefined;

const noEvents: readonly never[] = [];

type Of<T extends Event["type"]> = Extract<Event, { type: T }>;

const started = (_: Of<"InstanceStarted">, input: Text): Arrival => ({ type: "start", input, events: noEvents });
const succeeded = ({ task }: Of<"TaskSucceeded">, output: Text): Arrival => ({ type: "task-succeeded", task, output });
const raised = ({ name }: Of<"EventRaised">, data: Text): Arrival => ({ type: "event", event: { name, data } });
const requested = ({ update, name }: Of<"UpdateRequested">, data: Text): Arrival => {
  return { type: "update", update, name, data };
};

/** Most values are in memory, so that nothing is awaited. */
function withText<E extends Event>(
  event: E,
  payload: Payload | undefined,
  reader: PayloadReader,
  arrival: (event: E, text: Text) => Arrival,
): Arrival | Promise<Arrival> {
  if (typeof payload !== "object") return arrival(event, payload);
  return reader.read(payload).then((text) => arrival(event, text));
}

async function newBeginning({ input, events = [] }: InstanceContinued, reader: PayloadReader): Promise<Arrival> {
  const textOf = async (payload: Payload | undefined): Promise<Text> =>
    typeof payload === "object" ? await reader.read(payload) : payload;
  const kept: RaisedEvent[] = [];
  for (const { name, data } of events) kept.push({ name, data: await textOf(data) });
  return { type: "start", input: await textOf(input), events: kept };
}
