import { assert } from "../base/assert.ts";
import { EngineError } from "../base/error.ts";
import type { ParentAddress } from "../kernel/address.ts";
import type { Event, ForkedFrom } from "../kernel/event.ts";
import { recordFlags } from "../kernel/flags.ts";
import type { Fork } from "../kernel/input.ts";
import { recordHistory } from "../runtime/recorded-history.ts";
import type { Store } from "../stores/store.ts";

/** The history and input with which a fork begins. */
export interface ForkPoint {
  readonly fork: Fork;
  readonly input: string | undefined;
  /** The parent of the source. */
  readonly parent: ParentAddress | undefined;
}

/** An event with its time. */
export interface TimedEvent {
  readonly event: Event;
  readonly at: number;
}

/** The part of a history that a fork copies: the first event, which begins the generation, and any of those after it. */
export type ChoosePast = (past: readonly TimedEvent[]) => readonly TimedEvent[];

/** Chooses the events before the code scheduled that task. `TASK_UNKNOWN`. */
export function beforeTask(instanceId: string, task: number): ChoosePast {
  return (past) => {
    let tasks = 0;
    const end = past.findIndex(({ event }) => event.type === "TaskAdded" && tasks++ === task);
    if (end !== -1) return past.slice(0, end);
    throw new EngineError("TASK_UNKNOWN", `instance "${instanceId}" has no task number ${task} in its generation`);
  };
}

/** The chosen events of an instance, with values as texts. */
export async function forkPoint(
  store: Store,
  source: { readonly id: string; readonly key: number },
  choose: ChoosePast,
): Promise<ForkPoint> {
  const { turns } = await recordHistory(store, source);
  const events = turns.flatMap(({ at, events: ofTurn }) => ofTurn.map((event) => ({ event, at })));
  const first = events[0]?.event;
  assert(
    first?.type === "InstanceCreated" || first?.type === "InstanceContinued",
    "a history begins with the first event of a generation",
  );
  // Events that the source itself copied keep the times and random source of its own source.
  const earlier = first.type === "InstanceCreated" ? first.forkedFrom : undefined;
  const timed = choose(events.map(({ event, at }, place) => ({ event, at: earlier?.times?.[place] ?? at })));
  const startedAt = timed[0]?.at as number;
  const kept = first.type === "InstanceContinued" ? (first.events ?? []) : [];
  const before = [
    ...kept.map((event) => ({ event: { type: "EventRaised" as const, ...event }, at: startedAt })),
    ...timed.slice(1).flatMap(({ event, at }) => {
      const copy = copyOf(event);
      return copy === undefined ? [] : [{ event: copy, at }];
    }),
  ];
  const times = [startedAt, startedAt, ...before.map(({ at }) => at)];
  return {
    fork: {
      from: {
        id: source.id,
        generation: first.generation,
        times,
        ...(earlier && { randomOf: randomSourceOf(earlier) }),
      },
      events: before.map(({ event }) => event),
      ...recordFlags(first.flags),
    },
    // Recorded histories hold their values.
    input: first.input as string | undefined,
    parent: first.parent,
  };
}

/** Copies an event to the fork: waiters of the source do not wait for it, and children end with the source, not with it. */
function copyOf(event: Event): Event | undefined {
  switch (event.type) {
    case "InstanceStarted":
    case "ParentChanged":
    case "DetachedChildEnded":
    case "ReactionStarted":
    case "ReactionEnded":
      return undefined;
    case "ChildDetached":
      return { type: event.type, task: event.task, childId: event.childId };
    // The fork's timeout counts from its own start.
    case "InstanceTimedOut":
      return { type: event.type, compensationMs: event.compensationMs };
    default:
      return event;
  }
}

function randomSourceOf({ id, generation, randomOf: first }: ForkedFrom): NonNullable<ForkedFrom["randomOf"]> {
  return first ?? { id, generation };
}
