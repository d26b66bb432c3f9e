import assert from "node:assert/strict";
import { test } from "node:test";
import { DagRig } from "./dag.rig.ts";
import type { NodeSpec } from "../node-spec.ts";
import { checkSubTasks } from "./sub-tasks.ts";

function admit(rig: DagRig, nodes: readonly Partial<NodeSpec>[], max = 1000): NodeSpec[] {
  return checkSubTasks(
    rig.machine.state,
    rig.task("p"),
    nodes.map((node) => ({ nodeId: 0, ...node })),
    max,
  );
}

test("sub-tasks are numbered below their parent, on from those that are there", () => {
  const rig = DagRig.started("a p");
  rig.tell({ type: "AddSubTask", parent: 1, node: { nodeId: 0, nodeName: "s" } });
  assert.deepEqual(
    admit(rig, [{ nodeName: "t" }, { nodeName: "u", dependsOn: ["p", "s", "t"] }]).map(({ nodeId, dependsOn }) => [
      nodeId,
      dependsOn,
    ]),
    [
      ["2.1", []],
      ["2.2", ["s", "t"]],
    ],
  );
});

test("as many as allowed, and not one more", () => {
  const rig = DagRig.started("p");
  const many = Array.from({ length: 1001 }, (_, n) => ({ nodeName: `s${n}` }));
  assert.equal(admit(rig, many.slice(0, 1000)).length, 1000);
  assert.throws(() => admit(rig, many), {
    code: "SUBTASK_LIMIT",
    message: `task "p" would have 1001 sub-tasks; at most 1000 are allowed`,
  });
});

test("names are given, and unique within the instance", () => {
  const rig = DagRig.started("p a");
  const refused = (problem: string, ...nodes: Partial<NodeSpec>[]): void => {
    const message = `sub-tasks of "p" are refused: ${problem}`;
    assert.throws(() => admit(rig, nodes), { code: "SUBTASK_INVALID", message });
  };
  refused("one of them has no name", {});
  refused(`a task named "a" is already in the instance`, { nodeName: "a" });
  refused(`a task named "x" is already in the instance`, { nodeName: "x" }, { nodeName: "x" });
});

test("a sub-task may wait for siblings that were generated before it, and for nothing else", () => {
  const rig = DagRig.started("p a");
  for (const other of ["a", "later", "x"]) {
    assert.throws(() => admit(rig, [{ nodeName: "x", dependsOn: [other] }, { nodeName: "later" }]), {
      code: "SUBTASK_INVALID",
      message: new RegExp(`"x" depends on "${other}", which is neither its parent nor a sub-task generated before it`),
    });
  }
});

test("siblings wait for each other, and for the sub-tasks below each other", () => {
  const rig = DagRig.started("p>z");
  rig.succeed("p", {
    subTasks: [
      { nodeId: 0, nodeName: "s" },
      { nodeId: 0, nodeName: "t", dependsOn: ["s", "s"] },
    ],
  });
  assert.deepEqual(rig.handedOut, ["s"]);
  assert.deepEqual(rig.succeed("s", { subTasks: [{ nodeId: 0, nodeName: "s1" }] }).handedOut, ["s1"]);
  assert.deepEqual(rig.succeed("s1").handedOut, ["t"]);
  assert.deepEqual(rig.succeed("t").handedOut, ["z"]);
});
