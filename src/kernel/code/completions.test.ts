import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { failureOf } from "../machine.rig.ts";
import { activity, CodeRig } from "./code.rig.ts";

/** Code whose only activity waits for its result from outside, since 1000. */
function waiting(retryCount = 0): CodeRig {
  const rig = CodeRig.started([activity("pay", { timeoutSeconds: 60, retryCount })]);
  return rig.complete(0, { kind: "awaits" });
}

describe("an activity that is completed from outside", () => {
  test("waits until its deadline", () => {
    const rig = waiting();
    assert.deepEqual(rig.events, [{ type: "TaskAwaitsCompletion", task: 0, attempt: 1, deadline: 61_000 }]);
    assert.equal(rig.machine.nextWake(), 61_000);
    assert.equal(rig.replayed().machine.nextWake(), 61_000);
  });

  test("succeeds with what it is given", () => {
    const rig = waiting();
    const token = { type: "CompleteTask", ...rig.report(0) } as const;
    rig.tell({ ...token, result: { kind: "success", output: "1" } });
    assert.deepEqual(rig.events, [{ type: "TaskSucceeded", task: 0, attempt: 1, output: "1" }]);
    assert.equal(rig.refusal({ ...token, result: { kind: "success" } }).code, "COMPLETION_LATE");
  });

  test("fails with what it is given, and is retried", () => {
    const rig = waiting(1);
    rig.tell({ type: "CompleteTask", ...rig.report(0), result: { kind: "failure", failure: failureOf("no") } });
    rig.pass(1000);
    assert.equal(rig.report(0).attempt, 2);
  });

  test("times out at its deadline", () => {
    const rig = waiting().pass(60_000);
    const [failed] = rig.events;
    assert.ok(failed?.type === "TaskFailed" && failed.timedOut === true);
    assert.equal(failed.failure.type, "TASK_TIMEOUT");
  });
});
