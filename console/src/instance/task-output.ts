import type { Event } from "../../../src/kernel/event.ts";
import type { Payload } from "../../../src/kernel/payload.ts";
import type { HistoryTurn } from "../api/model.ts";
import { payloadValue } from "../base/payload-value.ts";

export type FoundValue = { readonly value: unknown } | { readonly ref: number };

/** The last output of a task in the history; undefined if it has none. */
export function outputOf(turns: readonly HistoryTurn[], task: number, generation: number): FoundValue | undefined {
  for (const { events } of turns.toReversed()) {
    for (const event of (events as unknown as Event[]).toReversed()) {
      if (event.type === "TaskSucceeded" && event.task === task) return valueOf(event.output);
      if (event.type === "DecisionMade" && event.task === task) return valueOf(event.result);
      // Tasks of an earlier generation of code have numbers of their own.
      if (event.type === "InstanceContinued" && event.generation === generation) return undefined;
    }
  }
  return undefined;
}

/** The input of the start: that of code, or the first context of a DAG. */
export function inputOf(turns: readonly HistoryTurn[]): unknown {
  let input: unknown;
  for (const { events } of turns) {
    for (const event of events as unknown as Event[]) {
      if (event.type === "InstanceCreated") {
        input = event.input === undefined ? contextOf(event.context) : payloadValue(event.input);
      }
      if (event.type === "InstanceContinued") input = payloadValue(event.input);
    }
  }
  return input;
}

/** The trace that the instance belongs to, as W3C writes it. */
export function traceIdOf(turns: readonly HistoryTurn[]): string | undefined {
  for (const event of (turns[0]?.events ?? []) as unknown as Event[]) {
    if (event.type === "InstanceCreated") return event.traceparent?.split("-")[1];
  }
  return undefined;
}

function contextOf(context: Readonly<Record<string, Payload>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(context).map(([key, value]) => [key, payloadValue(value)]));
}

function valueOf(payload: Payload | undefined): FoundValue | undefined {
  if (payload === undefined) return { value: null };
  return typeof payload === "string" ? { value: payloadValue(payload) } : { ref: payload.ref };
}
