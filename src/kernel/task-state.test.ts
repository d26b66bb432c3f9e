import assert from "node:assert/strict";
import { test } from "node:test";
import {
  causeOf,
  isFailed,
  isFinished,
  isInFlight,
  isUnderWay,
  newRecord,
  Phase,
  phaseOf,
  statusOf,
} from "./task-state.ts";

function those(holds: (phase: Phase) => boolean): string[] {
  return Object.entries(Phase).flatMap(([name, phase]) => (holds(phase) ? [name] : []));
}

test("the status of each phase", () => {
  const statuses = Object.entries(Phase).map(([name, phase]) => `${name} ${statusOf(phase)}`);
  assert.deepEqual(statuses, [
    "waiting Pending",
    "ready Pending",
    "scheduled Pending",
    "running Running",
    "awaiting Running",
    "retryWait Pending",
    "success Success",
    "failed Failed",
    "timeoutFailed TimeoutFailed",
    "stopped Stopped",
    "skipped Skipped",
    "canceledBranch Canceled",
    "canceledUpstream Canceled",
    "canceledEnded Canceled",
    "removed Canceled",
    "stoppedByUser Stopped",
  ]);
});

test("what is in flight, has failed, has finished", () => {
  assert.deepEqual(those(isInFlight), ["scheduled", "running", "awaiting"]);
  assert.deepEqual(those(isUnderWay), ["scheduled", "running"]);
  assert.deepEqual(those(isFailed), ["failed", "timeoutFailed", "stoppedByUser"]);
  assert.deepEqual(
    those((phase) => !isFinished(phase)),
    ["waiting", "ready", "scheduled", "running", "awaiting", "retryWait"],
  );
});

test("a cause goes to its phase and back", () => {
  for (const cause of ["branch", "upstream-failed", "instance-ended"] as const) {
    assert.equal(causeOf(phaseOf(cause)), cause);
  }
  assert.equal(causeOf(Phase.success), undefined);
});

test("a record begins before the first attempt", () => {
  const { attempt, attemptOpen, retriesUsed, interruptions, isChildMissing, ...rest } = newRecord();
  assert.deepEqual([attempt, attemptOpen, retriesUsed, interruptions, isChildMissing], [0, false, 0, 0, false]);
  assert.deepEqual(new Set(Object.values(rest)), new Set([undefined]));
});
