import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { CompletionResult } from "../input.ts";
import { failureOf } from "../machine.rig.ts";
import { DagRig, type SpecOptions } from "./dag.rig.ts";
import { Turn } from "../turn.ts";
import { firstItemNumber } from "./map-items.ts";

const late = "COMPLETION_LATE";

/** A DAG `a>b` whose first task waits for its result from outside, since 1000. */
function waiting(a: NonNullable<SpecOptions["nodes"]>[string] = {}, timeoutMs?: number): DagRig {
  const rig = DagRig.started("a>b", { nodes: { a: { jobName: "j", timeoutSeconds: 60, ...a } } }).begin("a");
  return rig.complete("a", { kind: "awaits", ...(timeoutMs !== undefined && { timeoutMs }) });
}

function complete(rig: DagRig, result: CompletionResult = { kind: "success", output: '"done"' }): DagRig {
  return rig.tell({ type: "CompleteTask", ...rig.report("a"), result });
}

describe("an attempt that is completed from outside", () => {
  test("stays in flight without its worker, until its deadline", () => {
    const rig = waiting();
    assert.deepEqual(rig.events, [{ type: "TaskAwaitsCompletion", task: 0, attempt: 1, deadline: 61_000 }]);
    assert.equal(rig.tasks, "a Running, b Pending");
    assert.equal(rig.machine.nextWake(), 61_000);
    assert.equal(rig.replayed().machine.nextWake(), 61_000);
  });

  test("has the time that the job has given, from the job's return", () => {
    const rig = DagRig.started("a", { nodes: { a: { timeoutSeconds: 60 } } }).begin("a");
    rig.at = 5000;
    rig.complete("a", { kind: "awaits", timeoutMs: 500 });
    assert.equal(rig.machine.nextWake(), 5500);
  });

  test("without a record of its start counts from now", () => {
    const rig = DagRig.started("a", { nodes: { a: { timeoutSeconds: 60 } } });
    rig.at = 5000;
    rig.complete("a", { kind: "awaits" });
    assert.equal(rig.machine.nextWake(), 65_000);
  });

  test("is recorded with the worker that ran the job", () => {
    const rig = DagRig.started("a", { nodes: { a: { timeoutSeconds: 60 } } });
    rig.tell({ type: "AttemptEnded", ...rig.report("a"), worker: "w1", startedAt: 900, outcome: { kind: "awaits" } });
    assert.deepEqual(rig.events, [
      { type: "TaskAwaitsCompletion", task: 0, attempt: 1, worker: "w1", startedAt: 900, deadline: 60_900 },
    ]);
  });

  test("succeeds with what it is given, and the next task runs", () => {
    const rig = complete(waiting());
    assert.deepEqual(rig.events.slice(0, 1), [{ type: "TaskSucceeded", task: 0, attempt: 1, output: '"done"' }]);
    assert.deepEqual(rig.handedOut, ["b"]);
    assert.equal(rig.machine.nextWake(), undefined);
  });

  test("fails with what it is given, and is retried", () => {
    const rig = complete(waiting({ retryCount: 1 }), { kind: "failure", failure: failureOf("no") });
    assert.equal(rig.tasks, "a Pending, b Pending");
    rig.pass(1000);
    assert.deepEqual(rig.handedOut, ["a"]);
    assert.equal(rig.report("a").attempt, 2);
  });

  test("drops what its worker still reports", () => {
    const rig = waiting();
    rig.succeed("a", { output: '"worker"' });
    assert.equal(rig.dropped, 1);
    assert.equal(rig.tasks, "a Running, b Pending");
  });

  test("is completed once", () => {
    const rig = waiting();
    const second = { type: "CompleteTask", ...rig.report("a"), result: { kind: "success" } } as const;
    complete(rig);
    assert.deepEqual(rig.refusal(second), {
      code: late,
      message: 'task "a" of instance "i" does not wait for that completion any more: its attempt 1 has ended',
    });
  });

  test("is not completed by a token of another attempt, generation or task", () => {
    const rig = waiting();
    const right = { type: "CompleteTask", ...rig.report("a"), result: { kind: "success" } } as const;
    for (const wrong of [{ attempt: 2 }, { generation: 2 }, { task: 1 }, { task: 9 }])
      assert.equal(rig.refusal({ ...right, ...wrong }).code, late);
    assert.match(rig.refusal({ ...right, task: 9 }).message, /^task 9 of instance/);
  });

  test("ends its attempt also while the job has not returned, and aborts that", () => {
    const rig = DagRig.started("a>b").begin("a");
    complete(rig);
    const [abort] = rig.commands;
    assert.deepEqual(abort, { type: "AbortTasks", attemptIds: ["i:1:0:1"] });
    assert.deepEqual(rig.handedOut, ["b"]);
    rig.succeed("a");
    assert.equal(rig.dropped, 1);
  });
});

describe("the deadline of a completion", () => {
  test("fails the attempt as timed out, under its retry policy", () => {
    const rig = waiting({ retryCount: 1 }).pass(60_000);
    assert.deepEqual(rig.events.slice(0, 1), [
      {
        type: "TaskFailed",
        task: 0,
        attempt: 1,
        failure: {
          type: "TASK_TIMEOUT",
          message: 'nobody has completed task "a" from outside within its timeout',
          retryable: true,
        },
        timedOut: true,
        retryAt: 62_000,
      },
    ]);
    rig.pass(1000);
    assert.deepEqual(rig.handedOut, ["a"]);
  });

  test("does not pass early", () => {
    const rig = waiting().pass(59_999);
    assert.deepEqual(rig.events, []);
    assert.equal(rig.tasks, "a Running, b Pending");
  });

  test("of two ends one instance only once", () => {
    const nodes = { a: { timeoutSeconds: 60 }, b: { timeoutSeconds: 60 } };
    const rig = DagRig.started("a b", { nodes }).begin("a").begin("b");
    rig.complete("a", { kind: "awaits" }).complete("b", { kind: "awaits" }).pass(60_000);
    assert.equal(rig.status, "Failed");
    assert.match(rig.tasks, /^a TimeoutFailed, b /);
  });

  test("waits for the end of a pause", () => {
    const rig = waiting().pause();
    rig.pass(120_000);
    assert.equal(rig.tasks, "a Running, b Pending");
    complete(rig);
    assert.equal(rig.tasks, "a Success, b Pending");
  });
});

test("an item of a map cannot be completed from outside", () => {
  const rig = DagRig.started("m", { nodes: { m: { jobName: "j", map: { items: [], failFast: true } } } });
  rig.tell({ type: "ItemsListed", task: 0, attempt: 1, pages: [{ count: 1, items: "[1]" }] });
  rig.machine.feedMaps(new Turn(rig.at, 0));
  const report = { task: firstItemNumber, attempt: 1, generation: 1 };
  rig.tell({ type: "AttemptEnded", ...report, outcome: { kind: "awaits" } });
  const [failed] = rig.events;
  assert.ok(failed?.type === "TaskFailed");
  assert.equal(failed.failure.message, "an item of a map cannot be completed from outside");
});
