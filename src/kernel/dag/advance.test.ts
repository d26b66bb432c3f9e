import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { DagRig, decision, nested } from "./dag.rig.ts";

describe("what is handed out", () => {
  test("never exceeds the number of places; decisions need none, nested workflows do", () => {
    const nodes = { n: nested, d: decision };
    const rig = DagRig.started("n a b d>c:true", { maxConcurrentTasks: 2, nodes });
    assert.deepEqual(rig.handedOut, ["a", "n"]);
    assert.deepEqual(rig.decide("d", true).handedOut, []);
    assert.deepEqual(rig.succeed("a").handedOut, ["b"]);
    rig.tell({ type: "ChildEnded", ...rig.report("n"), status: "Success" });
    assert.deepEqual(rig.handedOut, ["c"]);
  });

  test("are the tasks with more unfinished successors first, then first come", () => {
    const rig = DagRig.started("a b>x b>y c>x d", { maxConcurrentTasks: 1 });
    const order = [...rig.handedOut];
    for (let last = order.at(-1); order.length < 4; last = order.at(-1)) order.push(...rig.succeed(last!).handedOut);
    assert.deepEqual(order, ["b", "c", "a", "d"]);
  });

  test("a successor that can no longer run, or over an edge that is off, does not count", () => {
    const rig = DagRig.started("f>x a>x a>y a>!z", { failurePolicy: "continue" });
    const { state } = rig.machine;
    assert.equal(state.successors(rig.task("a")), 2);
    rig.fail("f");
    assert.equal(state.successors(rig.task("a")), 1);
  });

  test("sub-tasks come after the level of their parent, and before the next one", () => {
    const rig = DagRig.started("p>z q>r s>t", { maxConcurrentTasks: 1 });
    const order = [...rig.handedOut];
    const subTasks = ["p1", "p2"].map((nodeName) => ({ nodeId: 0, nodeName }));
    const inner = [{ nodeId: 0, nodeName: "p11" }];
    for (let last = order.at(-1); last !== undefined && rig.status === "Running"; last = order.at(-1)) {
      rig.succeed(last, last === "p" ? { subTasks } : last === "p1" ? { subTasks: inner } : {});
      order.push(...rig.handedOut);
    }
    assert.deepEqual(order, ["p", "q", "s", "p1", "p2", "p11", "r", "t", "z"]);
  });

  test("tasks that were ready before the first sub-task came stand behind it if they are further down", () => {
    const rig = DagRig.started("a>b>c p x", { maxConcurrentTasks: 1 });
    rig.succeed("a").succeed("b");
    assert.deepEqual(rig.handedOut, ["p"]);
    rig.succeed("p", { subTasks: [{ nodeId: 0, nodeName: "s" }] });
    assert.deepEqual(rig.handedOut, ["x"]);
    assert.deepEqual(rig.succeed("x").handedOut, ["s"]);
    assert.deepEqual(rig.succeed("s").handedOut, ["c"]);
  });
});

describe("what is passed over", () => {
  test("chains of disabled nodes and dead branches take one event each", () => {
    const nodes = { x: { enable: false }, y: { enable: false } };
    const rig = DagRig.started("a>x>y>b a>!u>v", { nodes });
    assert.deepEqual(rig.events.slice(2, 4), [
      { type: "TasksCanceled", tasks: [4], cause: "branch" },
      { type: "TasksCanceled", tasks: [5], cause: "branch" },
    ]);
    rig.succeed("a");
    assert.deepEqual(rig.events.slice(1), [
      { type: "TasksSkipped", tasks: [1] },
      { type: "TasksSkipped", tasks: [2] },
      { type: "TasksScheduled", tasks: [3] },
    ]);
  });

  test("a disabled node on a dead branch is canceled, not skipped", () => {
    const nodes = { d: decision, x: { enable: false } };
    const rig = DagRig.started("d>x:true d>y:false x>z", { nodes }).decide("d", false);
    assert.equal(rig.tasks, "d Success, x Canceled (branch), y Pending, z Canceled (branch)");
  });

  test("sub-tasks that a user put on a dead branch die with it, at any depth", () => {
    const rig = DagRig.started("d>x:true d>y:false", { nodes: { d: decision } });
    const add = (parent: string, nodeName: string, dependsOn: string[] = []): void => {
      rig.tell({ type: "AddSubTask", parent: rig.task(parent), node: { nodeId: 0, nodeName, dependsOn } });
    };
    add("x", "s");
    add("x", "t", ["s"]);
    add("s", "s1");
    rig.decide("d", false);
    assert.equal(
      rig.tasks,
      "d Success, x Canceled (branch), y Pending, s Canceled (branch), t Canceled (branch), s1 Canceled (branch)",
    );
    assert.equal(rig.succeed("y").status, "Success");
  });
});

describe("a nested workflow", () => {
  test("starts a child under the task's name, one deeper than its parent", () => {
    const rig = DagRig.started("n", { nodes: { n: nested } });
    const parent = { id: "i", key: 7, generation: 1, task: 0, attempt: 1, depth: 1 };
    assert.deepEqual(rig.events.slice(2), [
      { type: "TasksScheduled", tasks: [0] },
      { type: "ChildStarted", task: 0, attempt: 1, childId: "i/n" },
    ]);
    assert.deepEqual(rig.commands, [{ type: "StartChild", task: 0, childId: "i/n", parent }]);
    assert.equal(rig.statusOf("n"), "Running");
  });

  test("counts how deep it is", () => {
    const rig = new DagRig(DagRig.started("n", { nodes: { n: nested } }).machine.state.graph);
    rig.start({ parent: { id: "p", key: 1, generation: 1, task: 0, attempt: 1, depth: 3 } });
    const [command] = rig.commands;
    assert.equal(command?.type === "StartChild" && command.parent?.depth, 4);
  });

  test("that is re-run starts a new child under a new id", () => {
    const rig = DagRig.started("n", { nodes: { n: nested } });
    rig.tell({ type: "ChildEnded", ...rig.report("n"), status: "Success" });
    rig.tell({ type: "RerunInstance", task: 0 });
    assert.equal(rig.machine.state.record(0)?.childId, "i/n~2");
  });

  test("of a sub-task that is generated again is not mistaken for the one before", () => {
    const rig = DagRig.started("p");
    const subTasks = [{ nodeId: 0, nodeName: "n", ...nested }];
    rig.succeed("p", { subTasks });
    assert.equal(rig.machine.state.record(rig.task("n"))?.childId, "i/n");
    rig.tell({ type: "ChildEnded", ...rig.report("n"), status: "Success" });
    rig.tell({ type: "RerunInstance", task: rig.task("p") }).succeed("p", { subTasks });
    assert.equal(rig.machine.state.record(rig.task("n"))?.childId, "i/n~2");
  });

  test("of an id that is used again does not meet the children of its earlier life", () => {
    const rig = new DagRig(DagRig.started("n", { nodes: { n: nested } }).machine.state.graph);
    rig.start({ generation: 4 });
    assert.equal(rig.machine.state.record(0)?.childId, "i/n~4");
  });
});
