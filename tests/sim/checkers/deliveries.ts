import type { Payload } from "../../../src/kernel/payload.ts";
import { code, type Note } from "../code-workflows.ts";
import { type ClientCall, type Evidence, isBefore } from "../evidence.ts";
import type { Checker } from "./checker.ts";
import {
  type CommitHistory,
  commitHistoryOf,
  type DurableEvent,
  eventsOf,
  type InstanceCommits,
} from "./commit-history.ts";

/**
 * An event that is acknowledged is durable by then, delivered once, and seen by the code once and in the order in which
 * its sender was answered, even if the code continues as new. Events from one instance to another arrive without gaps.
 */
export const checkDeliveries: Checker = (evidence) => [
  ...checkRaised(evidence),
  ...[...commitHistoryOf(evidence).instances.values()]
    .filter(({ workflow }) => workflow === code.inbox.name)
    .flatMap((instance) => checkSeen(evidence, instance)),
];

function checkRaised(evidence: Evidence): string[] {
  const commitHistory = commitHistoryOf(evidence);
  const places = new Map<string, Raised>();
  for (const { id } of commitHistory.instances.values()) {
    if (!places.has(id)) places.set(id, raisedFor(commitHistory, id));
  }
  return evidence.calls.flatMap((call) => {
    const { operation, outcome, instanceId = "", marker = "" } = call;
    if (operation !== "raise" && operation !== "signal") return [];
    const raised = places.get(instanceId);
    const name = `event ${marker} for ${instanceId}`;
    const times = raised?.counts.get(marker) ?? 0;
    if (times > 1) return [`${name} came ${times} times`];
    if (outcome === "refused" && times > 0) return [`${name} was refused (${call.code}) and came`];
    if (outcome !== "ok") return [];
    const first = raised?.first.get(marker);
    if (first === undefined) return raised?.beginsAnew ? [] : [`${name} was acknowledged and never came`];
    return call.answered !== undefined && isBefore(first.landed, call.answered)
      ? []
      : [`${name} was acknowledged before it was durable`];
  });
}

interface Raised {
  /** By marker: how often it was delivered, and when it was first recorded. */
  readonly counts: Map<string, number>;
  readonly first: Map<string, DurableEvent>;
  /** Events of the same turn are recorded then only if the code kept them. */
  readonly beginsAnew: boolean;
}

function raisedFor(commitHistory: CommitHistory, id: string): Raised {
  const raised = { counts: new Map<string, number>(), first: new Map<string, DurableEvent>(), beginsAnew: false };
  for (const instance of commitHistory.livesOf(id)) {
    for (const durable of eventsOf(instance)) {
      const { event } = durable;
      const note = (data: Payload | undefined, times: number): void => {
        const { marker } = dataOf<{ marker?: string }>(commitHistory, instance, data);
        if (marker === undefined) return;
        raised.counts.set(marker, (raised.counts.get(marker) ?? 0) + times);
        if (!raised.first.has(marker)) raised.first.set(marker, durable);
      };
      if (event.type === "EventRaised") note(event.data, 1);
      if (event.type !== "InstanceContinued") continue;
      raised.beginsAnew = true;
      for (const { data } of event.events ?? []) note(data, 0);
    }
  }
  return raised;
}

function checkSeen(evidence: Evidence, instance: InstanceCommits): string[] {
  const commitHistory = commitHistoryOf(evidence);
  const seen = seenBy(commitHistory, instance);
  const calls = evidence.calls.filter(
    ({ instanceId, given }) => instanceId === instance.id && given["name"] === "note",
  );
  const wrong = [...Map.groupBy(seen.notes, ({ sender }) => sender)].flatMap(([sender, notes]) => {
    const numbers = notes.map(({ number }) => number);
    const problem = isClient(sender) ? problemOf(numbers, acknowledged(calls, sender)) : problemBetween(numbers);
    return problem === undefined ? [] : [`${instance.id} saw the notes ${numbers.join(" ")} of ${sender}, ${problem}`];
  });
  // If two instances had one id in sequence, either may have seen it; one that was terminated does not say so.
  const byAny = commitHistory.livesOf(instance.id).flatMap((life) => {
    const { notes, isComplete } = seenBy(commitHistory, life);
    return isComplete ? notes : [...notes, ...receivedBy(commitHistory, life)];
  });
  return [...wrong, ...(seen.isComplete ? checkMissing(instance, byAny, calls) : [])];
}

/** Whether the sender is a client; other senders are instances. */
function isClient(sender: string): boolean {
  return sender.startsWith("sender ");
}

/** An event whose sender was not answered may arrive late, or not at all. */
function problemOf(numbers: readonly number[], answered: readonly number[]): string | undefined {
  if (new Set(numbers).size < numbers.length) return "some of them twice";
  const inOrder = answered.filter((number) => numbers.includes(number));
  return numbers.filter((number) => answered.includes(number)).join() === inOrder.join() ? undefined : "out of order";
}

function problemBetween(numbers: readonly number[]): string | undefined {
  if (new Set(numbers).size < numbers.length) return "some of them twice";
  return numbers.every((number, place) => number === place) ? undefined : "with a gap or out of order";
}

/** The sender of the last event knows that all others were acknowledged. */
function checkMissing({ id }: InstanceCommits, seen: readonly Note[], calls: readonly ClientCall[]): string[] {
  const senders = new Set(calls.map(({ given }) => String(given["sender"])).filter(isClient));
  return [...senders].flatMap((sender) => {
    const numbers = new Set(seen.filter((note) => note.sender === sender).map(({ number }) => number));
    const missing = acknowledged(calls, sender).filter((number) => !numbers.has(number));
    return missing.map((number) => `${id} has not seen note ${number} of ${sender}, which was acknowledged`);
  });
}

/** The numbers of events in the order in which their sender was answered. */
function acknowledged(calls: readonly ClientCall[], sender: string): number[] {
  return calls
    .filter(({ outcome, given }) => outcome === "ok" && given["sender"] === sender)
    .map(({ given }) => Number(given["number"]));
}

/** The events that were recorded for the instance. */
function receivedBy(commitHistory: CommitHistory, instance: InstanceCommits): Note[] {
  return eventsOf(instance).flatMap(({ event }) =>
    event.type === "EventRaised" && event.name === "note" ? [dataOf<Note>(commitHistory, instance, event.data)] : [],
  );
}

/** The events that the code reported last as seen. */
function seenBy(
  commitHistory: CommitHistory,
  instance: InstanceCommits,
): { notes: readonly Note[]; isComplete: boolean } {
  let notes: readonly Note[] = [];
  let isComplete = false;
  for (const { event } of eventsOf(instance)) {
    if (event.type === "InstanceContinued") notes = dataOf<{ seen: Note[] }>(commitHistory, instance, event.input).seen;
    if (event.type !== "InstanceEnded" || event.status !== "Success") continue;
    notes = dataOf<{ seen: Note[] }>(commitHistory, instance, event.output).seen;
    isComplete = true;
  }
  return { notes, isComplete };
}

function dataOf<T>(
  commitHistory: CommitHistory,
  { key }: InstanceCommits,
  payload: Payload | undefined,
): Partial<T> & T {
  return (payload === undefined ? {} : JSON.parse(commitHistory.textOf(key, payload))) as T;
}
