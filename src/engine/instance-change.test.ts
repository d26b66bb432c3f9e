import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { activity, child, CodeRig } from "../kernel/code/code.rig.ts";
import { DagRig } from "../kernel/dag/dag.rig.ts";
import { changeOf } from "./instance-change.ts";

/** Names of the tasks that a change shows after the rig's last message. */
function shown({ machine, events }: CodeRig | DagRig): string[] {
  const turn = { instanceId: "i", workflow: "w", turn: 1, firstEvent: 1, at: 1, events, machine };
  return changeOf(turn).tasks.map(({ name }) => name);
}

describe("a change shows", () => {
  test("the tasks that its events name", () => {
    const rig = DagRig.started("a>b c");
    assert.deepEqual(shown(rig), ["a", "b", "c"], "all at the start");
    assert.deepEqual(shown(rig.succeed("a")), ["a", "b"]);
    assert.deepEqual(shown(rig.succeed("b")), ["b"]);
    assert.deepEqual(shown(rig.succeed("c")), ["a", "b", "c"], "all at the end");
  });

  test("all tasks where sub-tasks are added: more waits for their parent", () => {
    const rig = DagRig.started("a>b");
    assert.deepEqual(shown(rig.succeed("a", { subTasks: [{ nodeId: 0, nodeName: "s" }] })), ["a", "b", "s"]);
  });

  test("only the new tasks where code adds some", () => {
    const rig = CodeRig.started([activity("a")]);
    assert.deepEqual(shown(rig.take(activity("b"), activity("c"))), ["b", "c"]);
  });

  test("no task where a detached child of an earlier generation has ended", () => {
    const rig = CodeRig.started([child("c", { isDetached: true })]);
    const { task, generation } = rig.report(0);
    rig.take({ type: "continue", events: [] });
    rig.tell({ type: "ChildEnded", task, attempt: 1, generation, status: "Success" });
    assert.deepEqual(rig.eventTypes, ["DetachedChildEnded"]);
    assert.deepEqual(shown(rig), []);
  });
});
