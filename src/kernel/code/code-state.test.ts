import assert from "node:assert/strict";
import { test } from "node:test";
import { activity, child, CodeRig, timer } from "./code.rig.ts";

test("what a DAG has and code has not", () => {
  const { state } = CodeRig.started([activity("a")]).machine;
  assert.deepEqual(
    [state.parentOf(), state.rank(), state.successors(), state.pausing, state.failing, state.domain],
    [undefined, 0, 0, false, false, undefined],
  );
  assert.deepEqual([state.context.bytes, state.maxConcurrentTasks], [2, Infinity]);
});

test("tasks are found by name, the first of that name", () => {
  const { state } = CodeRig.started([activity("a"), activity("b"), activity("b")]).machine;
  assert.deepEqual([state.find("b"), state.find("c")], [1, undefined]);
});

test("a task without a name of its own is called as what it runs", () => {
  const { state } = CodeRig.started([
    { type: "activity", node: { nodeId: 0, jobName: "pay" } },
    { type: "child", node: { nodeId: 1, nodeType: 3, workflowName: "ship" }, isDetached: false },
    { type: "activity", node: { nodeId: 2 } },
  ]).machine;
  assert.deepEqual(
    [0, 1, 2].map((task) => state.definition(task).name),
    ["pay", "ship", ""],
  );
});

test("a task that is not there is a bug", () => {
  const { state } = CodeRig.started([activity("a")]).machine;
  assert.throws(() => state.definition(1), /below the instance's size/);
  assert.throws(() => state.phase(1), /below the instance's size/);
});

test("a task finishes once", () => {
  const { machine } = CodeRig.started([activity("a")]).succeed(0);
  assert.throws(() => machine.apply({ type: "TaskSucceeded", task: 0, attempt: 1 }, 2000), /a task finishes once/);
  assert.throws(() => machine.apply({ type: "TasksWithdrawn", tasks: [0] }, 2000), /only what was under way/);
  assert.throws(() => machine.apply({ type: "TasksScheduled", tasks: [0] }, 2000), /only a ready task/);
});

test("an update that never came has no answer", () => {
  const { state } = CodeRig.started().machine;
  assert.deepEqual([state.hasUpdate("u"), state.answerTo("u")], [false, undefined]);
});

test("what waits are tasks that a pause holds, and those whose next attempt is not due", () => {
  const rig = CodeRig.started([activity("a", { retryCount: 1 }), activity("b"), child("c")]);
  const { state } = rig.machine;
  assert.deepEqual([state.waitingCount, state.waitingTasks()], [0, []]);
  rig.fail(0).tell({ type: "PauseInstance" });
  rig.tell({ type: "AttemptsWithdrawn", runs: [{ task: 1, attempt: 1 }] });
  assert.deepEqual([state.waitingCount, state.waitingTasks()], [2, [1, 0]]);
});

test("an event of a DAG is a bug", () => {
  const { machine } = CodeRig.started();
  assert.throws(
    () => machine.apply({ type: "TasksSkipped", tasks: [] }, 2000),
    /the history of a code workflow has events of its own kind, got TasksSkipped/,
  );
});

test("what is read from history is what was", () => {
  const rig = CodeRig.started([activity("a", { retryCount: 1 }), child("c"), activity("b"), timer(9000)]);
  rig.begin(2).fail(0).tell({ type: "PauseInstance" });
  const again = rig.replayed().machine;
  assert.deepEqual([again.status, again.address, again.nextWake()], ["Paused", rig.machine.address, undefined]);
  assert.deepEqual(again.jobsInFlight(), [2]);
  assert.equal(again.state.updatedAt, 1000);
});
