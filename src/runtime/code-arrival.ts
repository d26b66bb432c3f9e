import type { Arrival, RaisedEvent } from "../code/arrival.ts";
import type { Event } from "../kernel/event.ts";
import type { Payload } from "../kernel/payload.ts";

/** Reads a value that travels by reference. */
export type ReadPayload = (payload: Payload) => string | Promise<string>;

/** What an event is to the code; undefined for one that it does not see. `input` is what the instance was created with. */
export async function arrivalOf(
  event: Event,
  input: Payload | undefined,
  read: ReadPayload,
): Promise<Arrival | undefined> {
  switch (event.type) {
    case "InstanceStarted":
      return { type: "start", input: await textOf(input, read), events: [] };
    case "InstanceContinued": {
      const events: RaisedEvent[] = [];
      for (const { name, data } of event.events ?? []) events.push({ name, data: await textOf(data, read) });
      return { type: "start", input: await textOf(event.input, read), events };
    }
    case "TaskSucceeded":
      return { type: "task-succeeded", task: event.task, output: await textOf(event.output, read) };
    case "TaskFailed":
      return event.retryAt === undefined
        ? { type: "task-failed", task: event.task, failure: event.failure }
        : undefined;
    case "TimerFired":
      return { type: "timer-fired", timer: event.timer };
    case "EventRaised":
      return { type: "event", event: { name: event.name, data: await textOf(event.data, read) } };
    case "UpdateRequested": {
      const { update, name } = event;
      return { type: "update", update, name, data: await textOf(event.data, read) };
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

async function textOf(payload: Payload | undefined, read: ReadPayload): Promise<string | undefined> {
  return payload === undefined || typeof payload === "string" ? payload : await read(payload);
}
