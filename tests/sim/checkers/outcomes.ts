import type { EndStatus } from "../../../src/kernel/status.ts";
import type { ClientCall, Evidence, FinalInstance, Operation } from "../evidence.ts";
import type { AnyScenario } from "../workload.ts";
import type { Checker } from "./checker.ts";
import { birthOf, commitHistoryOf } from "./commit-history.ts";

const begins: ReadonlySet<Operation> = new Set(["submit", "signal", "fork", "schedule"]);
const ends: ReadonlySet<Operation> = new Set(["terminate", "cancel"]);

/** Every instance ends as its scenario says, for a valid reason and with the right output. */
export const checkOutcomes: Checker = (evidence) => {
  const wrong: string[] = [];
  const idsOf = submittedIds(evidence);
  for (const scenario of evidence.scenarios) {
    for (const id of idsOf.get(scenario.number) ?? []) {
      const calls = evidence.calls.filter(({ instanceId }) => instanceId === id);
      for (const instance of evidence.finalState.instances)
        if (instance.id === id) wrong.push(...checkEnd(scenario, instance, calls));
      for (const call of calls) if (call.operation === "await") wrong.push(...checkResult(scenario, id, call));
    }
  }
  return [...wrong, ...checkOrigins(evidence)];
};

/** The ids of each scenario, given or generated, by its number. */
function submittedIds({ calls }: Evidence): Map<number, Set<string>> {
  const ids = new Map<number, Set<string>>();
  for (const { operation, marker, instanceId } of calls) {
    if (!begins.has(operation) || instanceId === undefined) continue;
    const number = Number(/^s(\d+)-/.exec(marker ?? "")?.[1]);
    ids.set(number, (ids.get(number) ?? new Set()).add(instanceId));
  }
  return ids;
}

function checkEnd(scenario: AnyScenario, instance: FinalInstance, calls: readonly ClientCall[]): string[] {
  const { id, status, reason } = instance;
  if (status === scenario.refusedAs && reason?.startsWith("too many instances(")) return [];
  if (!scenario.ends.includes(status as EndStatus))
    return [`${id} ended in ${status}, not in ${scenario.ends.join(" or ")}: ${reason}`];
  if (status !== "Terminated") return [];
  const isAsked = calls.some(({ operation, marker }) => ends.has(operation) && marker === reason);
  return isAsked ? [] : [`${id} was terminated for a reason that nobody gave: ${reason}`];
}

function checkResult({ outputs, ends, script, refusedAs }: AnyScenario, id: string, call: ClientCall): string[] {
  if (call.outcome === "ok" && outputs === undefined) return [];
  if (call.outcome === "ok") {
    const [given, expected] = [canonical(call.value), canonical(outputs)];
    return given === expected ? [] : [`${id} gave ${given.slice(0, 200)}, not ${expected.slice(0, 200)}`];
  }
  if (call.outcome !== "refused") return [];
  const status =
    call.code === "WORKFLOW_FAILED" ? "Failed" : call.code === "WORKFLOW_TERMINATED" ? "Terminated" : undefined;
  const failsAtFirst = script === "retry" || script === "mend";
  const isExpected = status !== undefined && (ends.includes(status) || status === refusedAs);
  if (isExpected || (status === "Failed" && failsAtFirst)) return [];
  return [`whoever waited for ${id} was told ${call.code}: ${String(call.value)}`];
}

/** No instance exists that no client or parent started. */
function checkOrigins(evidence: Evidence): string[] {
  const { calls, finalState } = evidence;
  const commitHistory = commitHistoryOf(evidence);
  const asked = new Set(calls.filter(({ operation }) => begins.has(operation)).map(({ instanceId }) => instanceId));
  const markers = new Set(calls.map(({ marker }) => marker));
  return finalState.instances.flatMap(({ id, key }) => {
    const instance = commitHistory.instances.get(key);
    const isChild = instance !== undefined && birthOf(instance)?.trigger !== "api";
    const marker = instance && commitHistory.markerOf(instance);
    const isKnown = marker !== undefined && markers.has(marker);
    return isChild || asked.has(id) || isKnown ? [] : [`${id} exists and was never submitted`];
  });
}

/** A text that is independent of the order of keys. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, each: unknown) =>
    typeof each === "object" && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  );
}
