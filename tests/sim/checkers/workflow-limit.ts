import type { GateAnswer, EnterGate, OutboxMessage } from "../../../src/runtime/outbox.ts";
import type { OutboxRow } from "../../../src/stores/store.ts";
import { type Evidence, isBefore, type Moment } from "../evidence.ts";
import { limitedMax } from "../shapes.ts";
import { type Stretch, traceOf } from "./attempts.ts";
import { birthOf, commitHistoryOf, eventsOf, type InstanceCommits } from "./commit-history.ts";

/**
 * The maximum of concurrent instances of the limited workflow. It holds up starts, and none is refused before that many
 * instances were created. A reopened instance is not held up, but counts: while it runs, others wait for its place.
 */
export function checkWorkflowLimit(evidence: Evidence): string[] {
  const limited = [...commitHistoryOf(evidence).instances.values()].filter(({ workflow }) => workflow === "limited");
  const periods = limited.flatMap((instance) => periodsOf(evidence, instance));
  return [...checkStarted(periods), ...checkAdmissions(evidence, periods), ...checkRefusals(limited)];
}

/** A period in which an instance runs. */
interface Period {
  readonly instance: InstanceCommits;
  readonly isReopened: boolean;
  readonly from: Moment;
  readonly to: Moment | undefined;
  /** The moment from which the gate counts it at the latest; undefined if it may never have heard of it. */
  readonly countedFrom: Moment | undefined;
}

function periodsOf(evidence: Evidence, instance: InstanceCommits): Period[] {
  const firstGeneration = birthOf(instance)?.generation;
  return traceOf(instance).stretches.map((stretch) => {
    const isReopened = stretch.generation !== firstGeneration;
    const countedFrom = isReopened ? reopeningCounted(evidence, instance, stretch) : stretch.from;
    return { instance, isReopened, from: stretch.from, to: stretch.to, countedFrom };
  });
}

/**
 * A single engine counts a reopened instance before it commits anything else. In a cluster the gate counts it with the
 * commit that consumes its message.
 */
function reopeningCounted(evidence: Evidence, { id }: InstanceCommits, { from }: Stretch): Moment | undefined {
  const { landings } = commitHistoryOf(evidence);
  if (!evidence.setting.isCluster) return landings.find((landing) => isBefore(from, landing));
  const sent = messagesOf(evidence).find(
    ({ message, landed }) =>
      landed.order === from.order && message.kind === "enter-gate" && message.isReopened && message.instanceId === id,
  );
  if (sent === undefined) return undefined;
  const { source, target, number } = sent.row;
  return landings.find(({ batch }) =>
    batch.changes.offsets.some(
      (offset) => offset.shard === target && offset.source === source && offset.number >= number,
    ),
  );
}

interface SentMessage {
  readonly row: OutboxRow;
  readonly landed: Moment;
  readonly message: GateAnswer | EnterGate;
}

const sentMessages = new WeakMap<Evidence, readonly SentMessage[]>();

/** The messages of gates and to them. */
function messagesOf(evidence: Evidence): readonly SentMessage[] {
  let messages = sentMessages.get(evidence);
  if (messages === undefined) {
    messages = commitHistoryOf(evidence).landings.flatMap(({ at, order, batch }) =>
      batch.changes.outbox.flatMap((row): SentMessage[] => {
        const message = JSON.parse(row.body) as OutboxMessage;
        const isOfGate = message.kind === "admit" || message.kind === "enter-gate";
        return isOfGate ? [{ row, landed: { at, order }, message }] : [];
      }),
    );
    sentMessages.set(evidence, messages);
  }
  return messages;
}

/** Instances that were never reopened are within the maximum at each start. */
function checkStarted(periods: readonly Period[]): string[] {
  const started = periods.filter(({ isReopened }) => !isReopened);
  return started.flatMap(({ from }) => {
    const running = started.filter((other) => !isBefore(from, other.from) && !hasEndedBy(other, from)).length;
    return running > limitedMax ? [`${running} instances of the limited workflow ran at ${from.at.toFixed(0)}`] : [];
  });
}

/** At some moment at which it may have been admitted, each started instance had a place beside those that count. */
function checkAdmissions(evidence: Evidence, periods: readonly Period[]): string[] {
  return periods.flatMap((period) => {
    if (period.isReopened) return [];
    const { id } = period.instance;
    const others = periods.filter(({ instance }) => instance !== period.instance);
    const counts = admissionMoments(evidence, period, others).map(
      (moment) =>
        others.filter(({ countedFrom, ...other }) => {
          return countedFrom !== undefined && isBefore(countedFrom, moment) && !hasEndedBy(other, moment);
        }).length,
    );
    const least = Math.min(...counts);
    const isAbove = counts.length > 0 && least >= limitedMax;
    return isAbove ? [`${id} was admitted to the limited workflow beside ${least} others`] : [];
  });
}

/**
 * The moments at which the instance may have been admitted. In a cluster the message says when. A single engine decides
 * between the call and the start; the number of others falls only when one of them ends.
 */
function admissionMoments(evidence: Evidence, { instance, from }: Period, others: readonly Period[]): Moment[] {
  if (evidence.setting.isCluster) {
    return messagesOf(evidence).flatMap(({ message, landed }) => {
      const isItsAdmission = message.kind === "admit" && message.to === instance.id && message.refusal === undefined;
      return isItsAdmission && isBefore(landed, from) ? [landed] : [];
    });
  }
  const marker = commitHistoryOf(evidence).markerOf(instance);
  const called = evidence.calls.find((call) => marker !== undefined && call.marker === marker)?.invoked;
  if (called === undefined) return [];
  const ends = others.flatMap(({ to }) => (to !== undefined && isBefore(called, to) && isBefore(to, from) ? [to] : []));
  return [called, ...ends];
}

function hasEndedBy({ to }: Pick<Period, "to">, moment: Moment): boolean {
  return to !== undefined && !isBefore(moment, to);
}

function checkRefusals(limited: readonly InstanceCommits[]): string[] {
  return limited.flatMap((instance) => {
    const refused = eventsOf(instance).find(
      ({ event }) => event.type === "InstanceEnded" && event.reason?.startsWith("too many instances(") === true,
    );
    if (refused === undefined) return [];
    const others = limited.filter((other) => {
      const [first] = eventsOf(other);
      // Instances of the same commit may have come first.
      return other !== instance && first !== undefined && !isBefore(refused.landed, first.landed);
    });
    return others.length >= limitedMax ? [] : [`${instance.id} was refused, and only ${others.length} others had come`];
  });
}
