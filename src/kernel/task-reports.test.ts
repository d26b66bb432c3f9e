import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { activity, child, CodeRig } from "./code/code.rig.ts";
import { failureOf } from "./machine.rig.ts";
import { DagRig } from "./dag/dag.rig.ts";
import {
  childFailure,
  executionOf,
  failedEvent,
  isAwaited,
  isCurrent,
  lossOf,
  succeededEvent,
} from "./task-reports.ts";
import { refuseIfEnded, stateRefusal } from "./refusals.ts";
import { Turn } from "./turn.ts";

const { state } = CodeRig.started([activity("a", { retryCount: 1, retryPolicy: { jitter: 1 } }), child("c")]).machine;

describe("a report", () => {
  test("is awaited about the attempt that is under way", () => {
    assert.equal(isAwaited(state, { task: 0, attempt: 1 }), true);
    for (const other of [
      { task: 0, attempt: 2 },
      { task: 2, attempt: 1 },
    ]) {
      assert.equal(isAwaited(state, other), false);
    }
    assert.equal(isAwaited(CodeRig.started([activity("a")]).succeed(0).machine.state, { task: 0, attempt: 1 }), false);
  });

  test("counts for its own generation only", () => {
    assert.equal(isCurrent(state, { task: 0, attempt: 1, generation: 1 }), true);
    assert.equal(isCurrent(state, { task: 0, attempt: 1, generation: 2 }), false);
  });
});

test("who ran it is told as far as it is known", () => {
  assert.deepEqual(executionOf({}), {});
  assert.deepEqual(executionOf({ worker: "w", startedAt: 5 }), { worker: "w", startedAt: 5 });
});

test("a success holds what the attempt gave, and no more", () => {
  assert.deepEqual(succeededEvent(state, 0, {}, {}), { type: "TaskSucceeded", task: 0, attempt: 1 });
  const subTasks = [{ nodeId: 3 }];
  assert.deepEqual(succeededEvent(state, 0, { output: "1", patch: { x: "2" }, subTasks }, { worker: "w" }), {
    type: "TaskSucceeded",
    task: 0,
    attempt: 1,
    worker: "w",
    output: "1",
    patch: { x: "2" },
    subTasks,
  });
});

describe("a failure", () => {
  const turn = new Turn(1000, 0.5);
  const failure = failureOf("no");

  test("says when the next attempt is due, by the policy and the turn's chance", () => {
    assert.deepEqual(failedEvent(state, { task: 0, failure }, turn), {
      type: "TaskFailed",
      task: 0,
      attempt: 1,
      failure,
      retryAt: 2500,
    });
  });

  test("is final where nothing new starts, where it cannot be repeated, and where no attempt is left", () => {
    const final = { type: "TaskFailed", task: 0, attempt: 1 };
    assert.deepEqual(failedEvent(state, { task: 0, failure, isFinal: true, timedOut: true }, turn), {
      ...final,
      failure,
      timedOut: true,
    });
    const once = failureOf("no", { retryable: false });
    assert.deepEqual(failedEvent(state, { task: 0, failure: once }, turn), { ...final, failure: once });
    assert.deepEqual(failedEvent(state, { task: 1, failure }, turn), { ...final, task: 1, failure });
  });
});

test("a loss is a failure once it is one too many", () => {
  assert.equal(lossOf(state, 0, 1), undefined);
  assert.deepEqual(lossOf(state, 0, 0), {
    type: "TASK_LOST",
    message: "worker lost: the attempt was lost with its process 1 times",
    retryable: false,
  });
});

test("a child's failure names the child, how it ended and why", () => {
  const report = { type: "ChildEnded", task: 1, attempt: 1, generation: 1 } as const;
  assert.deepEqual(childFailure(state, { ...report, status: "Failed", reason: "no luck" }), {
    type: "WORKFLOW_FAILED",
    message: 'nested workflow instance "i/1" ended in Failed: no luck',
    retryable: true,
  });
  const ended = childFailure(state, { ...report, status: "Terminated" });
  assert.deepEqual(
    [ended.type, ended.message],
    ["WORKFLOW_TERMINATED", 'nested workflow instance "i/1" ended in Terminated'],
  );
});

test("a child's failure keeps the beginning and the end of a long reason", () => {
  const report = { type: "ChildEnded", task: 1, attempt: 1, generation: 1, status: "Failed" } as const;
  const { message } = childFailure(state, {
    ...report,
    reason: `${"b".repeat(100)}${"x".repeat(1000)}${"e".repeat(300)}`,
  });
  assert.equal(message, `nested workflow instance "i/1" ended in Failed: ${"b".repeat(100)} … ${"e".repeat(300)}`);
});

test("a refusal says what cannot be done, and where the instance stands", () => {
  assert.equal(stateRefusal(state, "i", "pause").message, 'cannot pause instance "i": it is Running');
  const pausing = DagRig.started("a").pause().machine.state;
  assert.equal(
    stateRefusal(pausing, "i", "pause").message,
    'cannot pause instance "i": it is Running and already pausing',
  );
  refuseIfEnded(state, "i", "update");
  const { state: over } = CodeRig.started([{ type: "complete" }]).machine;
  assert.throws(() => refuseIfEnded(over, "i", "update"), /cannot update instance "i": it is Success/);
});
