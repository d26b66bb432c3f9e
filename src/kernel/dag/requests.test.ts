import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Input } from "../input.ts";
import { payloadBytesMax } from "../payload.ts";
import { DagRig, failureOf, specOf } from "./dag-rig.test.ts";
import type { NodeSpec } from "../node-spec.ts";

function addTo(rig: DagRig, parent: string, node: Partial<NodeSpec> & { nodeName: string }): Input {
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
    rig.tell(addTo(rig, "p", { nodeName: "s", enable: false })).tell({ type: "AdmitWorkflow" });
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
