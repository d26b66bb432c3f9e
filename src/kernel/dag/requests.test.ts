import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Bug } from "../../base/assert.ts";
import type { DagInput } from "./dag-input.ts";
import { payloadBytesMax } from "../payload.ts";
import { DagRig, decision, nested, specOf } from "./dag.rig.ts";
import { failureOf } from "../machine.rig.ts";
import type { NodeSpec } from "../node-spec.ts";

function addTo(rig: DagRig, parent: string, node: Partial<NodeSpec> & { nodeName: string }): DagInput {
  return { type: "AddSubTask", parent: rig.task(parent), node: { nodeId: 0, ...node } };
}

test("the context may be changed until the end", () => {
  const rig = new DagRig(specOf("a")).start({ admission: "queue" });
  rig.tell({ type: "UpdateContext", patch: { x: "1" } });
  assert.deepEqual(rig.events, [{ type: "ContextPatched", patch: { x: "1" } }]);
  const large = { x: { ref: 1, bytes: payloadBytesMax } };
  const { code, message } = rig.refusal({ type: "UpdateContext", patch: large });
  assert.equal(code, "CONTEXT_TOO_LARGE");
  assert.match(message, /^the context of instance "i" with this patch takes/);
  rig.terminate();
  assert.equal(
    rig.refusal({ type: "UpdateContext", patch: {} }).message,
    `cannot update the context of instance "i": it is Terminated`,
  );
});

test("parameters may be changed while the task is pending", () => {
  const rig = DagRig.started("a>b");
  rig.tell({ type: "UpdateParams", task: 0, params: "2" });
  assert.deepEqual(rig.events, [{ type: "TaskParamsUpdated", task: 0, params: "2" }]);
  assert.equal(rig.machine.state.params(0), "2");
  rig.begin("a");
  assert.deepEqual(rig.refusal({ type: "UpdateParams", task: 0, params: "3" }), {
    code: "TASK_STATE",
    message: `cannot update the parameters of task "a" of instance "i": it is Running, not Pending`,
  });
  rig.terminate();
  assert.equal(rig.refusal({ type: "UpdateParams", task: 1, params: "3" }).code, "INSTANCE_STATE");
});

describe("a sub-task that a user adds", () => {
  test("waits for its parent, and what comes after the parent waits for it", () => {
    const rig = DagRig.started("p>z");
    rig.tell(addTo(rig, "p", { nodeName: "s" }));
    assert.deepEqual(rig.events, [
      { type: "TaskAdded", parent: 0, node: { nodeId: "1.0", nodeName: "s", dependsOn: [] } },
    ]);
    assert.deepEqual(rig.succeed("p").handedOut, ["s"]);
    assert.deepEqual(rig.succeed("s").handedOut, ["z"]);
  });

  test("joins below a parent that has succeeded, as long as others below it are not done", () => {
    const rig = DagRig.started("p>z").succeed("p", { subTasks: [{ nodeId: 0, nodeName: "s" }] });
    assert.deepEqual(rig.tell(addTo(rig, "p", { nodeName: "t" })).handedOut, ["t"]);
    rig.succeed("s");
    assert.deepEqual(rig.succeed("t").handedOut, ["z"]);
    const { code, message } = rig.refusal(addTo(rig, "p", { nodeName: "u" }));
    assert.equal(code, "TASK_STATE");
    assert.match(message, /^cannot add a sub-task to task "p" of instance "i": it is Success/);
  });

  test("may be disabled, and may be there before the instance runs", () => {
    const rig = new DagRig(specOf("p>z")).start({ admission: "queue" });
    rig.tell(addTo(rig, "p", { nodeName: "s", enable: false })).tell({ type: "AdmitInstance" });
    assert.deepEqual(rig.succeed("p").handedOut, ["z"]);
    assert.equal(rig.statusOf("s"), "Skipped");
  });

  test("goes with its parent when that fails, and comes back with it", () => {
    const rig = DagRig.started("p>z");
    rig.tell(addTo(rig, "p", { nodeName: "s" })).fail("p");
    assert.equal(rig.tasks, "p Failed, z Canceled (upstream-failed), s Canceled (upstream-failed)");
    rig.retry();
    assert.deepEqual(rig.succeed("p").handedOut, ["s"]);
  });

  test("runs after a parent whose failure may be skipped", () => {
    const rig = DagRig.started("p>z", { nodes: { p: { skipWhenFailed: true } } });
    assert.deepEqual(rig.tell(addTo(rig, "p", { nodeName: "s" })).fail("p").handedOut, ["s"]);
  });

  test("is refused below what failed or was canceled, and after the end", () => {
    const rig = DagRig.started("p>q z", { failurePolicy: "continue" }).fail("p");
    for (const parent of ["p", "q"])
      assert.equal(rig.refusal(addTo(rig, parent, { nodeName: "s" })).code, "TASK_STATE");
    rig.terminate();
    assert.equal(rig.refusal(addTo(rig, "z", { nodeName: "s" })).code, "INSTANCE_STATE");
  });

  test("cannot wait for what will never complete", () => {
    const rig = DagRig.started("p>z", { failurePolicy: "continue" });
    rig.succeed("p", { subTasks: ["s", "t", "u"].map((nodeName) => ({ nodeId: 0, nodeName })) });
    rig
      .succeed("t", { subTasks: [{ nodeId: 0, nodeName: "t1" }] })
      .fail("s")
      .fail("t1", failureOf("no"));
    for (const other of ["s", "t"]) {
      const { code, message } = rig.refusal(addTo(rig, "p", { nodeName: "v", dependsOn: [other] }));
      assert.equal(code, "SUBTASK_INVALID");
      assert.match(message, new RegExp(`"v" depends on "${other}", which will not complete`));
    }
    rig.tell(addTo(rig, "p", { nodeName: "v", dependsOn: ["u"] }));
    assert.deepEqual(rig.succeed("u").handedOut, ["v"]);
    assert.equal(rig.succeed("v").status, "Failed");
  });
});

describe("a task that a user stops", () => {
  const stop = (rig: DagRig, name: string): DagInput => ({ type: "StopTask", task: rig.task(name), reason: "enough" });
  const failure = { type: "TASK_STOPPED", message: "enough", retryable: false };

  test("is aborted while it runs, and the instance fails when nothing else runs", () => {
    const rig = DagRig.started("a>b c", { nodes: { a: { retryCount: 3 } } }).begin("a");
    rig.tell(stop(rig, "a"));
    assert.deepEqual(rig.events, [
      { type: "TasksStopped", tasks: [0], failure },
      { type: "TasksCanceled", tasks: [1], cause: "upstream-failed" },
    ]);
    assert.deepEqual(rig.commands[0], { type: "AbortTasks", attemptIds: ["i:1:0:1"] });
    assert.deepEqual(rig.machine.state.record(0)?.failure, failure);
    assert.equal(rig.succeed("a").dropped, 1);
    rig.succeed("c");
    assert.equal(rig.tasks, "a Stopped, b Canceled (upstream-failed), c Success");
    assert.deepEqual([rig.status, rig.machine.state.reason], ["Failed", 'task "a" failed: enough']);
    assert.equal(rig.replayed().tasks, rig.tasks);
  });

  test("has a kind that says how it is stopped", () => {
    const rig = DagRig.started("a");
    Object.assign(rig.machine.state.definition(0), { kind: "future" });
    assert.throws(() => rig.tell(stop(rig, "a")), Bug);
  });

  test("takes what runs with it where the policy says so, or lets other branches go on", () => {
    const aborting = DagRig.started("a b>c", { failurePolicy: "abort-running" });
    aborting.tell(stop(aborting, "a"));
    assert.equal(aborting.status, "Failed");
    assert.equal(aborting.tasks, "a Stopped, b Stopped, c Canceled (instance-ended)");
    const going = DagRig.started("a b>c", { failurePolicy: "continue" });
    going.tell(stop(going, "a"));
    assert.deepEqual(going.succeed("b").handedOut, ["c"]);
    assert.equal(going.succeed("c").status, "Failed");
  });

  test("is passed over if its failure may be skipped, and a retry leaves it as it is", () => {
    const rig = DagRig.started("a>b", { nodes: { a: { skipWhenFailed: true } } });
    assert.deepEqual(rig.tell(stop(rig, "a")).handedOut, ["b"]);
    rig.fail("b").retry();
    assert.deepEqual(rig.events[0], { type: "InstanceReopened", generation: 2, reset: [1] });
    rig.succeed("b");
    assert.equal(rig.status, "Success");
  });

  test("never runs while it waits for a place or for its retry", () => {
    const rig = DagRig.started("a b", {
      maxConcurrentTasks: 1,
      failurePolicy: "continue",
      nodes: { a: { retryCount: 1 } },
    });
    rig.tell(stop(rig, "b"));
    assert.deepEqual(rig.events, [{ type: "TasksStopped", tasks: [1], failure }]);
    assert.deepEqual(rig.commands, []);
    rig.fail("a").tell(stop(rig, "a"));
    assert.deepEqual(rig.commands, []);
    assert.equal(rig.tasks, "a Stopped, b Stopped");
    assert.equal(rig.machine.state.record(0)?.retryAt, undefined);
    assert.equal(rig.machine.nextWake(), undefined);
    assert.equal(rig.status, "Failed");
  });

  test("can be marked as succeeded, and runs again when the instance is retried", () => {
    const rig = DagRig.started("a>b");
    rig.tell(stop(rig, "a")).retry();
    assert.deepEqual(rig.handedOut, ["a"]);
    rig.tell(stop(rig, "a")).tell({ type: "SucceedTask", task: 0, output: "1" });
    assert.deepEqual(rig.handedOut, ["b"]);
  });

  test("terminates the child of a nested workflow, and is not told of its end", () => {
    const rig = DagRig.started("a", { nodes: { a: nested } });
    const childId = rig.machine.state.record(0)?.childId;
    rig.tell(stop(rig, "a"));
    assert.deepEqual(rig.commands, [
      { type: "TellChild", childId, tell: { type: "TerminateInstance", reason: "enough" } },
    ]);
    rig.tell({ type: "ChildEnded", ...rig.report("a"), status: "Terminated" });
    assert.deepEqual([rig.dropped, rig.status], [1, "Failed"]);
  });

  test("may be a decision that is being evaluated, whose answer is dropped", () => {
    const rig = DagRig.started("d>a:true", { nodes: { d: decision } });
    rig.tell(stop(rig, "d"));
    assert.deepEqual(rig.commands, []);
    assert.equal(rig.decide("d", true).dropped, 1);
    assert.equal(rig.tasks, "d Stopped, a Canceled (upstream-failed)");
  });

  test("is one that has begun and not ended, of an instance that has not ended", () => {
    const rig = DagRig.started("a>b");
    assert.deepEqual(rig.refusal(stop(rig, "b")), {
      code: "TASK_STATE",
      message: `cannot stop task "b" of instance "i": it has not started yet`,
    });
    rig.succeed("a");
    assert.deepEqual(rig.refusal(stop(rig, "a")), {
      code: "TASK_STATE",
      message: `cannot stop task "a" of instance "i": it has ended in Success`,
    });
    rig.succeed("b");
    assert.deepEqual(rig.refusal(stop(rig, "a")), {
      code: "INSTANCE_STATE",
      message: `cannot stop a task of instance "i": it is Success`,
    });
  });
});
