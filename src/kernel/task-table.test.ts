import assert from "node:assert/strict";
import { test } from "node:test";
import { Bug } from "../base/assert.ts";
import { defineTask, type TaskDefinition } from "./task-definition.ts";
import { Phase } from "./task-state.ts";
import { TaskTable } from "./task-table.ts";

/** Task 0 is a job, 1 a decision, 2 a nested workflow, and so on. */
class Table extends TaskTable {
  override definition(task: number): TaskDefinition {
    return defineTask({ nodeId: task, nodeType: ((task % 3) + 1) as 1 | 2 | 3 }, `t${task}`);
  }
}

test("what is in flight is counted by kind, and by number", () => {
  const table = new Table(3);
  assert.deepEqual([table.size, table.inFlight, table.tasksInFlight()], [3, 0, []]);
  for (const task of [2, 0, 1]) table.scheduleTask(task, 10);
  assert.deepEqual([table.jobsInFlight, table.decisionsInFlight, table.childrenInFlight], [1, 1, 1]);
  assert.deepEqual(table.tasksInFlight(), [0, 1, 2]);
  table.setPhase(1, Phase.running);
  assert.equal(table.inFlight, 3, "scheduled and running are both in flight");
  for (const task of [0, 1, 2]) table.setPhase(task, Phase.success);
  assert.deepEqual([table.jobsInFlight, table.decisionsInFlight, table.childrenInFlight], [0, 0, 0]);
});

test("a task of a kind that is not counted is a bug", () => {
  const table = new (class extends Table {
    override definition(task: number): TaskDefinition {
      return { ...super.definition(task), kind: "future" as never };
    }
  })(1);
  assert.throws(() => table.scheduleTask(0, 10), Bug);
});

test("scheduling again is the same attempt until it has succeeded or failed", () => {
  const table = new Table(1);
  assert.deepEqual([table.attempt(0), table.record(0)], [0, undefined]);
  table.scheduleTask(0, 10);
  table.startTask({ type: "TaskStarted", task: 0, attempt: 1, worker: "w", startedAt: 11 });
  table.recordOf(0).interruptions = 2;
  table.scheduleTask(0, 20);
  const record = table.recordOf(0);
  assert.deepEqual(
    [record.attempt, record.interruptions, record.scheduledAt, record.startedAt, record.worker],
    [1, 2, 20, undefined, undefined],
  );
  table.noteFailure(
    { type: "TaskFailed", task: 0, attempt: 1, failure: { type: "E", message: "", retryable: true }, retryAt: 30 },
    21,
  );
  assert.deepEqual([table.phase(0), record.retriesUsed, record.retryAt, record.endedAt], [Phase.retryWait, 1, 30, 21]);
  table.scheduleTask(0, 30);
  assert.deepEqual([record.attempt, record.interruptions, record.endedAt], [2, 0, undefined]);
});

test("an end says who ran it, unless a start has said so before", () => {
  const table = new Table(1);
  table.scheduleTask(0, 10);
  table.startTask({ type: "TaskStarted", task: 0, attempt: 1, worker: "w", startedAt: 11 });
  table.noteSuccess({ type: "TaskSucceeded", task: 0, attempt: 1, output: "1" });
  const record = table.recordOf(0);
  assert.deepEqual([record.worker, record.startedAt, record.output, record.attemptOpen], ["w", 11, "1", false]);
});

test("a final failure leaves it to the caller to end the task", () => {
  const table = new Table(1);
  table.scheduleTask(0, 10);
  const failure = { type: "E", message: "", retryable: true };
  table.noteFailure({ type: "TaskFailed", task: 0, attempt: 1, failure, worker: "w", startedAt: 11 }, 12);
  const { retriesUsed, failure: noted, worker } = table.recordOf(0);
  assert.deepEqual([table.phase(0), retriesUsed, noted, worker], [Phase.scheduled, 0, failure, "w"]);
});

test("tasks come one by one, and are all forgotten together", () => {
  const table = new Table(0);
  table.addTask();
  table.scheduleTask(0, 10);
  table.forgetTasks();
  assert.deepEqual([table.size, table.inFlight, table.tasksInFlight()], [0, 0, []]);
  assert.throws(() => table.phase(0), /below the instance's size/);
});
