import { hasEnded } from "../../../src/kernel/status.ts";
import type { Checker } from "./checker.ts";

/** I1: every accepted instance exists and has ended, none is quarantined, and every call was answered. */
export const checkLiveness: Checker = ({ calls, finalState, problems }) => {
  const wrong = [...problems];
  for (const { id, status, quarantined } of finalState.instances) {
    if (quarantined !== null) wrong.push(`${id} is quarantined: ${quarantined}`);
    else if (!hasEnded(status)) wrong.push(`${id} is still ${status}`);
  }
  const known = new Set(finalState.instances.map(({ id }) => id));
  const purged = new Set(calls.filter(({ operation }) => operation === "purge").map(({ instanceId }) => instanceId));
  for (const { number, operation, outcome, instanceId = "" } of calls) {
    if (outcome === "pending") wrong.push(`call ${number}, ${operation} ${instanceId}, was never answered`);
    if (
      (operation === "submit" || operation === "signal") &&
      outcome === "ok" &&
      !known.has(instanceId) &&
      !purged.has(instanceId)
    )
      wrong.push(`${instanceId} was accepted and is lost`);
  }
  return wrong;
};
