import assert from "node:assert/strict";
import { test } from "node:test";
import { TaskBuilder } from "../authoring/task-builder.ts";
import { WorkflowBuilder } from "../authoring/workflow-builder.ts";
import { DagMachine } from "../kernel/dag/dag-machine.ts";
import { Graph } from "../kernel/dag/graph.ts";
import type { Event } from "../kernel/event.ts";
import { defaultLimits } from "../kernel/machine.ts";
import { AttemptFold } from "./attempt-view.ts";

function newFold(): AttemptFold {
  const workflow = new WorkflowBuilder().withName("w").withTask(new TaskBuilder("a").withJobFunction("work")).build();
  return new AttemptFold(new DagMachine(new Graph(workflow.toJSON()), "i", 7, defaultLimits));
}

const failure = { type: "Error", message: "not yet", retryable: true };
const begin: readonly Event[] = [
  {
    type: "InstanceCreated",
    workflow: "w",
    version: "1",
    generation: 1,
    context: {},
    maxConcurrentTasks: 5,
    trigger: "api",
  },
  { type: "InstanceStarted" },
  { type: "TasksScheduled", tasks: [0] },
];

test("every attempt is listed with its worker, times, retries and failure", () => {
  const fold = newFold();
  fold.applyTurn(begin, 1000);
  assert.deepEqual(fold.list(), []);
  fold.applyTurn([{ type: "TaskStarted", task: 0, attempt: 1, worker: "w1", startedAt: 1100 }], 1110);
  assert.deepEqual(
    fold.list().map(({ attempt, status, endedAt }) => [attempt, status, endedAt]),
    [[1, "Running", undefined]],
  );
  fold.applyTurn([{ type: "TaskFailed", task: 0, attempt: 1, failure, retryAt: 2000 }], 1200);
  fold.applyTurn(
    [
      { type: "RetriesDue", tasks: [0] },
      { type: "TasksScheduled", tasks: [0] },
    ],
    2000,
  );
  fold.applyTurn(
    [
      { type: "TaskSucceeded", task: 0, attempt: 2, worker: "w2", startedAt: 2100 },
      { type: "InstanceEnded", status: "Success" },
    ],
    2200,
  );
  const task = { number: 0, name: "a", nodeId: fold.list()[0]?.nodeId, kind: "job", generation: 1 };
  assert.deepEqual(fold.list(), [
    {
      ...task,
      attempt: 1,
      status: "Failed",
      worker: "w1",
      startedAt: 1100,
      endedAt: 1200,
      retryCount: 0,
      failure,
    },
    {
      ...task,
      attempt: 2,
      status: "Success",
      worker: "w2",
      startedAt: 2100,
      endedAt: 2200,
      retryCount: 1,
      failure: undefined,
    },
  ]);
});

test("attempts of one turn are all listed", () => {
  const fold = newFold();
  const events: readonly Event[] = [
    ...begin,
    { type: "TaskFailed", task: 0, attempt: 1, worker: "w1", startedAt: 1000, failure, retryAt: 1000 },
    { type: "RetriesDue", tasks: [0] },
    { type: "TasksScheduled", tasks: [0] },
    { type: "TaskSucceeded", task: 0, attempt: 2, worker: "w1", startedAt: 1000 },
  ];
  fold.applyTurn(events, 1000);
  assert.deepEqual(
    fold.list().map(({ attempt, status }) => [attempt, status]),
    [
      [1, "Failed"],
      [2, "Success"],
    ],
  );
});
