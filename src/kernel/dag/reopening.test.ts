import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { payloadBytesMax } from "../payload.ts";
import { DagRig, decision, nested } from "./dag.rig.ts";

function subTasks(...names: readonly string[]): { subTasks: { nodeId: number; nodeName: string }[] } {
  return { subTasks: names.map((nodeName) => ({ nodeId: 0, nodeName })) };
}

describe("a retry", () => {
  test("resets the failed, the stopped and what was cut off; the successful, the skipped and the untaken stay", () => {
    const nodes = { d: decision, k: { skipWhenFailed: true }, off: { enable: false } };
    const rig = DagRig.started("d>x:true d>y:false x>z k>off r f>g", { nodes, maxConcurrentTasks: 9 });
    rig.decide("d", true).fail("k").begin("r").succeed("x").fail("f");
    rig.withdraw("z").terminate();
    assert.equal(
      rig.tasks,
      "d Success, x Success, y Canceled (branch), z Canceled (instance-ended), k Failed, off Skipped, r Stopped, f Failed, g Canceled (upstream-failed)",
    );
    rig.retry();
    const reset = ["z", "r", "f", "g"].map((name) => rig.task(name));
    assert.deepEqual(rig.events[0], { type: "InstanceReopened", generation: 2, reset });
    assert.deepEqual(rig.handedOut.toSorted(), ["f", "r", "z"]);
  });

  test("gives the task all its retries again, and a new attempt", () => {
    const rig = DagRig.started("a", { nodes: { a: { retryCount: 1 } } })
      .fail("a")
      .pass(1000)
      .fail("a");
    assert.equal(rig.status, "Failed");
    rig.retry();
    assert.equal(rig.machine.state.attempt(0), 3);
    assert.equal(rig.fail("a").status, "Running");
  });

  test("runs a failed sub-task again, not its parent, and then what waited", () => {
    const rig = DagRig.started("p>z").succeed("p", subTasks("s", "t")).succeed("s").fail("t");
    assert.equal(rig.tasks, "p Success, z Canceled (upstream-failed), s Success, t Failed");
    assert.deepEqual(rig.retry().handedOut, ["t"]);
    assert.deepEqual(rig.succeed("t").handedOut, ["z"]);
  });

  test("runs sub-tasks that were generated while the instance was failing", () => {
    const rig = DagRig.started("f p>z").begin("p").fail("f").succeed("p", subTasks("s"));
    assert.equal(rig.tasks, "f Failed, p Success, z Canceled (instance-ended), s Canceled (instance-ended)");
    assert.deepEqual(rig.retry().handedOut, ["f", "s"]);
  });

  test("is refused while it runs, and after success", () => {
    const rig = DagRig.started("a");
    const refusal = (): string => rig.refusal({ type: "RetryInstance" }).message;
    assert.equal(refusal(), `cannot retry instance "i": it is Running, and only what has ended is reopened`);
    rig.succeed("a");
    assert.equal(refusal(), `cannot retry instance "i": it is Success, and nothing failed`);
  });
});

describe("a re-run", () => {
  test("runs the node, with edited input, and all that comes after it, untaken branches too", () => {
    const rig = DagRig.started("a>d d>x:true d>y:false z", { nodes: { d: decision } });
    rig.succeed("z").succeed("a").decide("d", true).succeed("x");
    assert.equal(rig.status, "Success");
    rig.tell({ type: "RerunInstance", task: rig.task("d"), params: "false" });
    const [d, x, y] = ["d", "x", "y"].map((name) => rig.task(name));
    const params = { task: d, params: "false" };
    assert.deepEqual(rig.events[0], { type: "InstanceReopened", generation: 2, reset: [d, x, y], params });
    assert.equal(rig.machine.state.params(d!), "false");
    assert.deepEqual(rig.decide("d", false).handedOut, ["y"]);
  });

  test("runs what a retry would run as well", () => {
    const rig = DagRig.started("a b").succeed("a").fail("b");
    assert.deepEqual(rig.tell({ type: "RerunInstance", task: 0 }).handedOut, ["a", "b"]);
  });

  test("forgets the sub-tasks of what runs again, with all below them, and frees their names", () => {
    const rig = DagRig.started("p>z").succeed("p", subTasks("s")).succeed("s", subTasks("t")).succeed("t").succeed("z");
    assert.equal(rig.status, "Success");
    rig.tell({ type: "RerunInstance", task: rig.task("p") });
    const [event] = rig.events;
    assert.deepEqual(event, { type: "InstanceReopened", generation: 2, reset: [0, 1], removed: [2, 3] });
    assert.deepEqual([rig.machine.state.find("s"), rig.machine.state.subTasksOf(0)], [undefined, []]);
    assert.deepEqual(rig.succeed("p", subTasks("s")).handedOut, ["s"]);
    assert.deepEqual(rig.succeed("s").handedOut, ["z"]);
    rig.succeed("z");
    assert.deepEqual(rig.refusal({ type: "RerunInstance", task: 2 }), {
      code: "TASK_STATE",
      message: `cannot re-run from task "s" of instance "i": it is no longer part of the instance`,
    });
  });

  test("from a sub-task leaves its parent and the siblings before it", () => {
    const nodes = [
      { nodeId: 0, nodeName: "s" },
      { nodeId: 0, nodeName: "t", dependsOn: ["s"] },
    ];
    const rig = DagRig.started("p>z").succeed("p", { subTasks: nodes }).succeed("s").succeed("t").succeed("z");
    rig.tell({ type: "RerunInstance", task: rig.task("t") });
    assert.equal(rig.tasks, "p Success, z Pending, s Success, t Pending");
    assert.deepEqual(rig.handedOut, ["t"]);
  });

  test("starts nested workflows anew; those that only a retry would run go on in their child", () => {
    const rig = DagRig.started("n m", { failurePolicy: "continue", nodes: { n: nested, m: nested } });
    for (const name of ["n", "m"]) rig.tell({ type: "ChildEnded", ...rig.report(name), status: "Failed" });
    rig.tell({ type: "RerunInstance", task: rig.task("n") });
    assert.deepEqual(
      rig.commands.map((command) => [command.type, "childId" in command && command.childId]),
      [
        ["StartChild", "i/n~2"],
        ["TellChild", "i/m"],
      ],
    );
  });

  test("is refused while it runs, and from a branch that was not taken", () => {
    const rig = DagRig.started("d>x:true d>y:false", { nodes: { d: decision } });
    assert.equal(rig.refusal({ type: "RerunInstance", task: 0 }).code, "INSTANCE_STATE");
    rig.decide("d", true).succeed("x");
    assert.deepEqual(rig.refusal({ type: "RerunInstance", task: rig.task("y") }), {
      code: "TASK_STATE",
      message: `cannot re-run from task "y" of instance "i": it is on a branch that was not taken; re-run the decision`,
    });
  });
});

describe("a failed node that a user sets right", () => {
  test("succeeds with the result given, and the instance goes on by itself", () => {
    const rig = DagRig.started("a>b c").fail("a").succeed("c");
    rig.tell({ type: "SucceedTask", task: 0, output: "7" });
    const settled = [{ task: 0, status: "Success", output: "7" }];
    assert.deepEqual(rig.events[0], { type: "InstanceReopened", generation: 2, settled, reset: [1] });
    assert.deepEqual([rig.handedOut, rig.machine.state.record(0)?.output], [["b"], "7"]);
    assert.equal(rig.succeed("b").status, "Success");
  });

  test("is skipped", () => {
    const rig = DagRig.started("a").fail("a").tell({ type: "SkipTask", task: 0 });
    assert.deepEqual([rig.status, rig.tasks], ["Success", "a Skipped"]);
  });

  test("and was a decision takes the edges of the result given", () => {
    const rig = DagRig.started("d>x:true d>y:false", { nodes: { d: decision } }).decide("d", null);
    rig.tell({ type: "SucceedTask", task: 0, output: "true" });
    assert.deepEqual([rig.handedOut, rig.statusOf("y")], [["x"], "Canceled"]);
    assert.deepEqual(rig.replayed().succeed("x").tasks, "d Success, x Success, y Canceled (branch)");
  });

  test("and was a decision needs a result that takes an edge; skipped, it takes all", () => {
    const rig = DagRig.started("d>x:a d>y:b", { nodes: { d: decision } }).decide("d", "c");
    for (const output of [{}, { output: `"c"` }, { output: { ref: 1, bytes: 9 } }]) {
      const { code, message } = rig.refusal({ type: "SucceedTask", task: 0, ...output });
      assert.equal(code, "DECISION_INVALID");
      assert.match(message, /^task "d" of instance "i" cannot be marked as succeeded: /);
    }
    assert.deepEqual(rig.tell({ type: "SkipTask", task: 0 }).handedOut, ["x", "y"]);
  });

  test("does not free what another failure holds up", () => {
    const rig = DagRig.started("a>j b>j a>x", { failurePolicy: "continue" }).fail("a").fail("b");
    rig.tell({ type: "SucceedTask", task: rig.task("a") });
    assert.deepEqual([rig.handedOut, rig.statusOf("j")], [["x"], "Canceled"]);
    assert.equal(rig.succeed("x").status, "Failed");
  });

  test("is refused while it runs, where nothing failed, and with too large an output", () => {
    const rig = DagRig.started("a>b", { failurePolicy: "continue" });
    assert.match(rig.refusal({ type: "SucceedTask", task: 0 }).message, /cannot mark a task as succeeded in instance/);
    assert.match(rig.refusal({ type: "SkipTask", task: 0 }).message, /cannot skip a task of instance/);
    rig.fail("a");
    assert.deepEqual(rig.refusal({ type: "SkipTask", task: 1 }), {
      code: "TASK_STATE",
      message: `task "b" of instance "i" is Canceled; only a failed task that was not skipped can be marked as succeeded or skipped`,
    });
    const output = { ref: 1, bytes: payloadBytesMax + 1 };
    assert.equal(rig.refusal({ type: "SucceedTask", task: 0, output }).code, "OUTPUT_TOO_LARGE");
  });
});
