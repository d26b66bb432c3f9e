import type { Event } from "../../../src/kernel/event.ts";
import { type ClientCall, type Evidence, isBefore, type Operation } from "../evidence.ts";
import type { Checker } from "./checker.ts";
import { birthOf, commitHistoryOf, type DurableEvent, eventsOf, type InstanceCommits } from "./commit-history.ts";
import { isOfCode } from "./replay.ts";

/**
 * A request is carried out exactly once if it is acknowledged, not at all if it is refused, and at most once if the
 * outcome is unknown; and it is durable before it is acknowledged.
 */
export const checkRequests: Checker = (evidence) => [
  ...checkSubmits(evidence),
  ...checkMarked(evidence, "patch", (event, marker) => event.type === "ContextPatched" && marker in event.patch),
  ...checkMarked(evidence, "terminate", (event, marker) => event.type === "InstanceEnded" && event.reason === marker),
  ...checkCancels(evidence),
  ...checkCounted(evidence, ["pause"], "PauseRequested"),
  ...checkCounted(evidence, ["resume"], "InstanceResumed"),
  ...checkCounted(evidence, ["retry", "rerun", "mend", "skip"], "InstanceReopened"),
  ...checkCounted(evidence, ["add"], "TaskAdded"),
];

/** Starts are identified by a marker in their context. All tries of one client share it if the id makes them idempotent. */
function checkSubmits(evidence: Evidence): string[] {
  const wrong: string[] = [];
  const started = new Map<string, InstanceCommits[]>();
  for (const instance of commitHistoryOf(evidence).instances.values()) {
    const marker = commitHistoryOf(evidence).markerOf(instance);
    if (marker !== undefined) started.set(marker, [...(started.get(marker) ?? []), instance]);
  }
  const submits = evidence.calls.filter(({ operation }) => operation === "submit");
  for (const [marker = "", calls] of Map.groupBy(submits, (call) => call.marker)) {
    const instances = started.get(marker) ?? [];
    const accepted = calls.find(({ outcome }) => outcome === "ok");
    const isRefused = calls.every(({ outcome }) => outcome === "refused");
    const name = `start ${marker} of ${calls[0]?.instanceId ?? "a new instance"}`;
    if (instances.length > 1) wrong.push(`${name} was carried out ${instances.length} times`);
    if (isRefused && instances.length > 0) wrong.push(`${name} was refused and carried out`);
    if (accepted === undefined) continue;
    const [instance] = instances;
    if (instance === undefined) wrong.push(`${name} was accepted and not carried out`);
    else if (instance.id !== accepted.instanceId) wrong.push(`${name} was answered with id ${accepted.instanceId}`);
    else if (!isDurableAt(instance.turns[0], accepted)) wrong.push(`${name} was accepted before it was durable`);
  }
  return [...wrong, ...checkRefusals(evidence, submits)];
}

/** A client is told that an id is taken only when that is durable: a crash could make it free again. */
function checkRefusals(evidence: Evidence, submits: readonly ClientCall[]): string[] {
  return submits.flatMap(({ outcome, instanceId = "", answered, code, number }) => {
    if (outcome !== "refused" || code !== "INSTANCE_EXISTS" || answered === undefined) return [];
    const lives = commitHistoryOf(evidence).livesOf(instanceId);
    const isThere = lives.some(({ turns }) => turns[0] !== undefined && isBefore(turns[0].landed, answered));
    if (isThere) return [];
    const what = lives.length > 0 ? "was not durable yet" : "never did";
    return [`a start, call ${number}, was refused because ${instanceId} exists, which ${what}`];
  });
}

/** Requests whose effect contains the marker of the call. */
function checkMarked(
  evidence: Evidence,
  operation: Operation,
  isEffect: (event: Event, marker: string) => boolean,
): string[] {
  return evidence.calls.flatMap((call) => {
    const { instanceId = "", marker, outcome } = call;
    if (call.operation !== operation || marker === undefined) return [];
    const effects = eventsOfAll(evidence, instanceId).filter(({ event }) => isEffect(event, marker));
    const name = `${operation} ${marker} of ${instanceId}`;
    if (effects.length > 1) return [`${name} was carried out ${effects.length} times`];
    if (outcome === "refused" && effects.length > 0) return [`${name} was refused (${call.code}) and carried out`];
    if (outcome !== "ok") return [];
    const [effect] = effects;
    if (effect === undefined) return [`${name} was answered with success and not carried out`];
    return isDurableAt(effect, call) ? [] : [`${name} was answered before it was durable`];
  });
}

/**
 * A cancel is recorded once: a repetition, or a cancel of code that runs its compensations, is acknowledged without
 * effect.
 */
function checkCancels(evidence: Evidence): string[] {
  return evidence.calls.flatMap((call) => {
    const { operation, outcome, instanceId = "", marker, answered } = call;
    if (operation !== "cancel" || outcome !== "ok" || answered === undefined) return [];
    const events = eventsOfAll(evidence, instanceId);
    const before = events.filter(({ landed }) => isBefore(landed, answered));
    // The answer may come late.
    const after = events.filter(({ landed }) => isBefore(call.invoked, landed));
    const isFailing = after.some(({ event }) => event.type === "InstanceEnded" && event.status === "Failed");
    // Another client may have interrupted the compensations after a failure.
    const isCutShort = before.some(({ event }) => isUndoing(event)) && after.some(({ event }) => isTerminated(event));
    if (isFailing || isCutShort || before.some(({ event }) => isCancel(event))) return [];
    return [`cancel ${marker} of ${instanceId} was answered with success, and it was not canceled`];
  });
}

function isUndoing(event: Event): boolean {
  return event.type === "TaskAdded" && event.node.nodeName?.startsWith("undo") === true;
}

function isTerminated(event: Event): boolean {
  return event.type === "InstanceEnded" && event.status === "Terminated";
}

/** A DAG that is canceled is terminated. */
function isCancel(event: Event): boolean {
  return event.type === "CancelRequested" || isTerminated(event);
}

/** Requests with equal effects: at least as many effects as were acknowledged, and at most as many as may have been. */
function checkCounted(evidence: Evidence, operations: readonly Operation[], type: CountedType): string[] {
  const calls = evidence.calls.filter(({ operation }) => operations.includes(operation));
  const wrong: string[] = [];
  for (const instance of commitHistoryOf(evidence).instances.values()) {
    const birth = birthOf(instance);
    const isCopied = birth?.type === "InstanceCreated" && birth.forkedFrom !== undefined;
    if (birth?.parent !== undefined || isCopied) continue;
    const about = calls.filter(({ instanceId }) => instanceId === instance.id);
    const isCode = isOfCode(evidence.finalState, instance);
    const granted = about.filter(({ outcome }) => outcome === "ok").length;
    const others = isCode && type === "InstanceResumed" ? cancelsOf(evidence, instance) + timeoutsOf(instance) : 0;
    const possible = about.filter(({ outcome }) => outcome !== "refused").length + others;
    const all = eventsOfAll(evidence, instance.id);
    const effects = isCode ? countInCode(all, type) : all.filter(({ event }) => event.type === type).length;
    const least = isCode && mayLeaveNoTrace(evidence, all) ? 0 : granted;
    if (effects < least || effects > possible) {
      const said = `${operations.join(" or ")} was granted ${granted} times, and may have been ${possible} times`;
      wrong.push(`${instance.id}: ${said}; it was carried out ${effects} times`);
    }
  }
  return wrong;
}

/** A cancel resumes paused code, even if the code then ends by itself and the cancel is too late. */
function cancelsOf({ calls }: Evidence, { id }: InstanceCommits): number {
  return calls.filter(({ operation, instanceId }) => operation === "cancel" && instanceId === id).length;
}

/** A timeout resumes paused code too. */
function timeoutsOf(instance: InstanceCommits): number {
  return eventsOf(instance).filter(({ event }) => event.type === "InstanceTimedOut").length;
}

type CountedType = "PauseRequested" | "InstanceResumed" | "InstanceReopened" | "TaskAdded";

/** Code is paused at once, is started again to be rerun, and adds its tasks itself. */
function countInCode(all: readonly DurableEvent[], type: CountedType): number {
  const counted = all.filter(({ event }, place) => {
    if (type === "PauseRequested") return event.type === "InstancePaused";
    if (type === "InstanceResumed") return event.type === "InstanceResumed";
    if (type === "TaskAdded") return false;
    return event.type === "InstanceContinued" && all[place - 1]?.event.type === "InstanceEnded";
  });
  return counted.length;
}

/**
 * Events of code in the turn in which it continues as new are not kept; and a resume that only brings back missing code
 * changes nothing.
 */
function mayLeaveNoTrace({ setting }: Evidence, all: readonly DurableEvent[]): boolean {
  return setting.lacksCode === true || all.some(({ event }) => event.type === "InstanceContinued");
}

function eventsOfAll(evidence: Evidence, id: string): DurableEvent[] {
  return commitHistoryOf(evidence).livesOf(id).flatMap(eventsOf);
}

function isDurableAt(effect: { landed: { at: number; order: number } } | undefined, { answered }: ClientCall): boolean {
  return effect !== undefined && answered !== undefined && isBefore(effect.landed, answered);
}
