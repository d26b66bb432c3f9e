import type { EndStatus } from "../../../src/kernel/status.ts";
import type { ClientCall, Evidence, InstanceRemains } from "../evidence.ts";
import type { Scenario } from "../workload.ts";
import type { Checker } from "./checker.ts";

/** Every instance ends as its scenario says, for a reason, and gives what it should. */
export const checkOutcomes: Checker = (evidence) => {
  const wrong: string[] = [];
  const idsOf = submittedIds(evidence);
  for (const scenario of evidence.scenarios) {
    for (const id of idsOf.get(scenario.number) ?? []) {
      const calls = evidence.calls.filter(({ instanceId }) => instanceId === id);
      for (const instance of evidence.remains.instances)
        if (instance.id === id) wrong.push(...checkEnd(scenario, instance, calls));
      for (const call of calls) if (call.operation === "await") wrong.push(...checkResult(scenario, id, call));
    }
  }
  return [...wrong, ...checkOrigins(evidence)];
};

/** By the scenario's number: what it was told, or gave itself. */
function submittedIds({ calls }: Evidence): Map<number, Set<string>> {
  const ids = new Map<number, Set<string>>();
  for (const { operation, marker, instanceId } of calls) {
    if (operation !== "submit" || instanceId === undefined) continue;
    const number = Number(/^s(\d+)-/.exec(marker ?? "")?.[1]);
    ids.set(number, (ids.get(number) ?? new Set()).add(instanceId));
  }
  return ids;
}

function checkEnd(scenario: Scenario, instance: InstanceRemains, calls: readonly ClientCall[]): string[] {
  const { id, status, reason } = instance;
  if (!scenario.ends.includes(status as EndStatus))
    return [`${id} ended in ${status}, not in ${scenario.ends.join(" or ")}: ${reason}`];
  if (status !== "Terminated") return [];
  const isAsked = calls.some(({ operation, marker }) => operation === "terminate" && marker === reason);
  return isAsked ? [] : [`${id} was terminated for a reason that nobody gave: ${reason}`];
}

function checkResult({ outputs, ends, errand }: Scenario, id: string, call: ClientCall): string[] {
  if (call.outcome === "ok") {
    const [given, expected] = [canonical(call.value), canonical(outputs)];
    return given === expected ? [] : [`${id} gave ${given.slice(0, 200)}, not ${expected.slice(0, 200)}`];
  }
  if (call.outcome !== "refused") return [];
  const status =
    call.code === "WORKFLOW_FAILED" ? "Failed" : call.code === "WORKFLOW_TERMINATED" ? "Terminated" : undefined;
  const failsAtFirst = errand === "retry" || errand === "mend";
  if (status !== undefined && (ends.includes(status) || (status === "Failed" && failsAtFirst))) return [];
  return [`whoever waited for ${id} was told ${call.code}: ${String(call.value)}`];
}

/** Nothing exists that nobody asked for. */
function checkOrigins({ calls, remains }: Evidence): string[] {
  const asked = new Set(calls.filter(({ operation }) => operation === "submit").map(({ instanceId }) => instanceId));
  const markers = new Set(calls.map(({ marker }) => marker));
  return remains.instances.flatMap(({ id, turns }) => {
    const created = turns[0]?.events.find((event) => event.type === "InstanceCreated");
    const marker = created?.context["marker"];
    const isKnown = typeof marker === "string" && markers.has(JSON.parse(marker) as string);
    return created?.parent !== undefined || asked.has(id) || isKnown ? [] : [`${id} exists and was never submitted`];
  });
}

/** The same text for the same value, whatever the order of its keys. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, each: unknown) =>
    typeof each === "object" && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  );
}
