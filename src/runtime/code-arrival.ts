import type { Arrival, RaisedEvent } from "../code/arrival.ts";
import type { Event, InstanceContinued } from "../kernel/event.ts";
import type { Payload, PayloadRef } from "../kernel/payload.ts";

/** Reads a value that travels by reference. */
export type ReadPayload = (payload: PayloadRef) => Promise<string>;

/**
 * What an event is to the code; undefined for one that it does not see, a promise where a value has to be read. `input`
 * is what the instance was created with.
 */
export function arrivalOf(
  event: Event,
  input: Payload | undefined,
  read: ReadPayload,
): Arrival | Promise<Arrival> | undefined {
  switch (event.type) {
    case "InstanceStarted":
      return withText(input, read, (text) => ({ type: "start", input: text, events: [] }));
    case "InstanceContinued":
      return newBeginning(event, read);
    case "TaskSucceeded":
      return withText(event.output, read, (output) => ({ type: "task-succeeded", task: event.task, output }));
    case "TaskFailed":
      return event.retryAt === undefined
        ? { type: "task-failed", task: event.task, failure: event.failure }
        : undefined;
    case "TimerFired":
      return { type: "timer-fired", timer: event.timer };
    case "EventRaised":
      return withText(event.data, read, (data) => ({ type: "event", event: { name: event.name, data } }));
    case "UpdateRequested": {
      const { update, name } = event;
      return withText(event.data, read, (data) => ({ type: "update", update, name, data }));
    }
    case "CancelRequested":
      return { type: "cancel", reason: event.reason };
    case "InstancePaused":
      return { type: "paused" };
    case "InstanceResumed":
      return { type: "resumed" };
    default:
      return undefined;
  }
}

/** Most values are at hand, and nothing is waited for. */
function withText(
  payload: Payload | undefined,
  read: ReadPayload,
  arrival: (text: string | undefined) => Arrival,
): Arrival | Promise<Arrival> {
  return payload === undefined || typeof payload === "string" ? arrival(payload) : read(payload).then(arrival);
}

async function newBeginning({ input, events = [] }: InstanceContinued, read: ReadPayload): Promise<Arrival> {
  const textOf = async (payload: Payload | undefined): Promise<string | undefined> =>
    payload === undefined || typeof payload === "string" ? payload : await read(payload);
  const raised: RaisedEvent[] = [];
  for (const { name, data } of events) raised.push({ name, data: await textOf(data) });
  return { type: "start", input: await textOf(input), events: raised };
}
