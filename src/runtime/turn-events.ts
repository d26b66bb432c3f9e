import { isArrival } from "../code/code-arrival.ts";
import type { TurnEvents } from "../kernel/code/turn-question.ts";
import { payloadRefsIn } from "../kernel/event-payloads.ts";
import { parseEvents } from "../kernel/event-text.ts";
import type { HistoryRow } from "../stores/store.ts";

/** The events of a history, by turn, as hosts of code get them. */
export function turnsOf(history: readonly HistoryRow[]): TurnEvents[] {
  return history.map(({ turn, at, firstEvent, events }) => ({
    turn,
    at,
    firstEvent,
    events: parseEvents(events, `turn ${turn} of a history`),
  }));
}

/** The events from that number on. */
export function since(turns: readonly TurnEvents[], first: number): TurnEvents[] {
  return turns.flatMap((turn) => {
    if (turn.firstEvent >= first) return [turn];
    const events = turn.events.slice(first - turn.firstEvent);
    return events.length === 0 ? [] : [{ ...turn, firstEvent: first, events }];
  });
}

export function hasArrival(turns: readonly TurnEvents[]): boolean {
  return turns.some(({ events }) => events.some(isArrival));
}

export function hasReferences(turns: readonly TurnEvents[]): boolean {
  return turns.some(({ events }) => events.some((event) => payloadRefsIn(event).length > 0));
}

/** An approximation: most of what is long in an event is one text. */
export function lengthOf(turns: readonly TurnEvents[]): number {
  return turns.reduce(
    (sum, { events }) => sum + events.reduce((length, event) => length + JSON.stringify(event).length, 0),
    0,
  );
}
