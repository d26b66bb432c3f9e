import { recordedIdentity } from "../kernel/code/step.ts";
import type { Event } from "../kernel/event.ts";
import type { NodeSpec } from "../kernel/node-spec.ts";
import { HistoryRenderer } from "./history-renderer.ts";

/** An event with its time. */
export interface TimedEvent {
  readonly event: Event;
  readonly at: number;
}

/**
 * The past of a failed orchestration that runs on. Its end is forgotten, and so are the failures after which it did
 * nothing more: those tasks are retried, as are those that were under way when it failed. Children that are gone are
 * started again.
 */
export function rewoundPast(past: readonly TimedEvent[], isGone: (task: number) => boolean): TimedEvent[] {
  const kept = past.slice(0, startOfEnd(past));
  const lastStep = kept.findLastIndex(({ event }) => recordedIdentity(event) !== undefined);
  return kept.map(({ event, at }, place) =>
    place > lastStep && event.type === "TaskFailed" && event.retryAt === undefined
      ? { at, event: { ...event, retryAt: at, ...(isGone(event.task) && { isChildMissing: true }) } }
      : { at, event },
  );
}

/** Children that a failed orchestration waited for at its end, or whose failure was its own, by their tasks. */
export function openChildren(past: readonly TimedEvent[]): Map<number, string> {
  const children = new Map<number, string>();
  for (const { event } of rewoundPast(past, () => false)) {
    if (event.type === "ChildStarted") children.set(event.task, event.childId);
    if (event.type === "TaskSucceeded" || (event.type === "TaskFailed" && event.retryAt === undefined))
      children.delete(event.task);
  }
  return children;
}

/** The place of the events with which the instance ended: what it stopped, and its end. */
function startOfEnd(past: readonly TimedEvent[]): number {
  let place = past.findLastIndex(({ event }) => event.type === "InstanceEnded");
  if (place === -1) return past.length;
  for (; place > 0; place--) {
    const { type } = past[place - 1]?.event ?? {};
    if (type !== "TasksStopped" && type !== "TasksCanceled") break;
  }
  return place;
}

/** An event of the protocol by its id, with the past up to and including it. */
export interface PastUpTo {
  readonly kind: "activity" | "child" | "timer" | "other";
  readonly past: readonly TimedEvent[];
}

/** Undefined if the history has no event of that id. */
export function pastUpTo(instanceId: string, past: readonly TimedEvent[], eventId: number): PastUpTo | undefined {
  const renderer = new HistoryRenderer({ instanceId, withPauses: false });
  for (const [place, { event, at }] of past.entries()) {
    const id = renderer.nextId;
    renderer.render({ at, turn: place, events: [event] });
    // What an orchestration does takes the next id, and only a mark takes none and sets it.
    const isOfId = id === eventId && renderer.nextId !== id && event.type !== "PatchMarked";
    if (isOfId) return { kind: kindOf(event), past: past.slice(0, place + 1) };
  }
  return undefined;
}

function kindOf(event: Event): PastUpTo["kind"] {
  if (event.type === "TimerSet") return "timer";
  if (event.type !== "TaskAdded") return "other";
  return event.node.workflowName === undefined ? "activity" : "child";
}

/** The same past, whose last event is a task with another input. */
export function withLastInput(past: readonly TimedEvent[], input: string | undefined): TimedEvent[] {
  return past.map(({ event, at }, place) => {
    if (place < past.length - 1 || event.type !== "TaskAdded") return { event, at };
    const node: NodeSpec = { ...event.node };
    if (input === undefined) delete node.nodeParams;
    else node.nodeParams = input;
    return { at, event: { ...event, node } };
  });
}
