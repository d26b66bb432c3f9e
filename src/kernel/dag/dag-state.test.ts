import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Bug } from "../../base/assert.ts";
import type { Event } from "../event.ts";
import { DagRig, specOf } from "./dag.rig.ts";

describe("the state", () => {
  test("follows events and refuses those it does not know", () => {
    const { machine } = DagRig.started("a");
    assert.throws(() => machine.apply({ type: "FromTheFuture" } as never, 1), Bug);
  });

  test("reads events that say no more than they must", () => {
    const rig = DagRig.started("a");
    rig.machine.apply({ type: "TaskAdded", parent: 0, node: { nodeId: "1.0", nodeName: "s" } }, 1);
    assert.deepEqual(rig.succeed("a").handedOut, ["s"]);
  });

  test("cancels tasks for every cause there is", () => {
    for (const cause of ["branch", "upstream-failed", "instance-ended"] as const) {
      const rig = DagRig.started("a>b");
      rig.machine.apply({ type: "TasksCanceled", tasks: [1], cause }, 1);
      assert.equal(rig.tasks, `a Pending, b Canceled (${cause})`);
    }
  });

  test("knows only its own tasks", () => {
    const { state } = DagRig.started("a").machine;
    assert.throws(() => state.phase(1), Bug);
    assert.throws(() => state.definition(1), Bug);
    assert.equal(state.find("b"), undefined);
    assert.equal(state.attempt(1), 0);
  });

  test("breaks rather than go on from a history that cannot be", () => {
    const impossible: readonly Event[] = [
      { type: "TasksScheduled", tasks: [1] },
      { type: "TasksWithdrawn", tasks: [1] },
      { type: "RetriesDue", tasks: [0] },
      { type: "InstanceReopened", generation: 2, reset: [] },
    ];
    for (const event of impossible) {
      assert.throws(() => DagRig.started("a>b").machine.apply(event, 1), Bug, event.type);
    }
    const { machine } = DagRig.started("a>b").succeed("a");
    assert.throws(() => machine.apply({ type: "TasksSkipped", tasks: [0] }, 1), Bug);
  });

  test("keeps times and worker of the attempt that runs, or ran last", () => {
    const rig = DagRig.started("a", { nodes: { a: { retryCount: 1 } } });
    rig.at = 1500;
    rig.begin("a", "w1");
    rig.at = 2000;
    rig.fail("a");
    const seen = (): unknown[] => {
      const { scheduledAt, startedAt, endedAt, worker } = rig.machine.state.record(0)!;
      return [scheduledAt, startedAt, endedAt, worker];
    };
    assert.deepEqual(seen(), [1000, 1500, 2000, "w1"]);
    rig.pass(1000);
    assert.deepEqual(seen(), [3000, undefined, undefined, undefined]);
  });

  test("keeps the times of the instance", () => {
    const rig = DagRig.started("a");
    const seen = (): unknown[] => {
      const { createdAt, startedAt, endedAt, updatedAt } = rig.machine.state;
      return [createdAt, startedAt, endedAt, updatedAt];
    };
    rig.at = 2000;
    rig.fail("a");
    assert.deepEqual(seen(), [1000, 1000, 2000, 2000]);
    rig.at = 3000;
    rig.retry();
    assert.deepEqual(seen(), [1000, 1000, undefined, 3000]);
  });
});

describe("what waits inside an instance", () => {
  const seen = ({ machine: { state } }: DagRig): unknown[] => [
    state.waitingCount,
    state.waitingTasks().map((task) => state.definition(task).name),
  ];

  test("are tasks above its limit, until it fails or ends", () => {
    const rig = DagRig.started("a>e b c d", { maxConcurrentTasks: 2 });
    assert.deepEqual(seen(rig), [2, ["c", "d"]]);
    assert.deepEqual(seen(rig.succeed("a")), [2, ["d", "e"]]);
    assert.deepEqual(seen(rig.replayed()), [2, ["d", "e"]]);
    assert.deepEqual(seen(rig.fail("b")), [0, []]);
    assert.deepEqual(seen(rig.succeed("c")), [0, []]);
  });

  test("are those whose next attempt is not due, and those that a pause holds, decisions too", () => {
    const nodes = { a: { retryCount: 1 }, d: { nodeType: 2, nodeParams: "?" } } as const;
    const rig = DagRig.started("a b>d>c:true", { nodes });
    rig.fail("a");
    assert.deepEqual(seen(rig), [1, ["a"]]);
    rig.begin("b").pause().succeed("b");
    assert.deepEqual([rig.machine.status, ...seen(rig)], ["Paused", 2, ["d", "a"]]);
  });

  test("is the instance itself where its workflow has no place for it", () => {
    const rig = new DagRig(specOf("a b"));
    assert.deepEqual(seen(rig), [0, []]);
    rig.start({ admission: "queue" });
    assert.deepEqual(seen(rig), [1, []]);
    assert.deepEqual(seen(rig.tell({ type: "AdmitInstance" })), [0, []]);
  });
});

describe("a replayed instance", () => {
  test("goes on in the same order, also where tasks were taken back", () => {
    const rig = DagRig.started("a b c d", { maxConcurrentTasks: 2 });
    rig.pause().withdraw("a", "b");
    const again = rig.replayed();
    assert.deepEqual(rig.resume().handedOut, ["c", "d"]);
    assert.deepEqual(again.resume().handedOut, ["c", "d"]);
  });

  test("decides once what was to be decided", () => {
    const nodes = { d: { nodeType: 2, nodeParams: "?", retryCount: 1 } } as const;
    const rig = DagRig.started("d>a:true", { nodes });
    const failure = { type: "Error", message: "no", retryable: true };
    rig.tell({ type: "DecisionEvaluated", ...rig.report("d"), value: { failure } });
    const again = rig.replayed();
    assert.deepEqual(again.pass(1000).commands, [{ type: "EvaluateDecision", task: 0, attempt: 2 }]);
    assert.deepEqual(again.machine.decisionsInFlight(), [0]);
  });
});
