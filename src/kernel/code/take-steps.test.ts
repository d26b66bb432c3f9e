import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { activity, child, CodeRig, timer } from "./code.rig.ts";
import { failureOf } from "../machine.rig.ts";

const parent = { id: "p", key: 1, generation: 2, task: 4, attempt: 1, depth: 3 };

describe("an activity", () => {
  test("is added and scheduled in the same turn", () => {
    const rig = CodeRig.started([activity("a", { nodeParams: "1" })]);
    assert.deepEqual(rig.events, [
      { type: "TaskAdded", node: { nodeId: 0, nodeName: "a", jobName: "a", nodeParams: "1" } },
      { type: "TasksScheduled", tasks: [0] },
    ]);
    assert.deepEqual(rig.commands, [{ type: "RunTasks", tasks: [0] }]);
    assert.equal(rig.machine.state.params(0), "1");
  });

  test("goes out together with the others of its reaction, after all that the code did", () => {
    const rig = CodeRig.started([activity("a"), { type: "custom-status", status: '"x"' }, activity("b")]);
    assert.deepEqual(rig.eventTypes, ["TaskAdded", "CustomStatusSet", "TaskAdded", "TasksScheduled"]);
    assert.deepEqual(rig.commands, [{ type: "RunTasks", tasks: [0, 1] }]);
  });
});

describe("a child", () => {
  test("is asked for under an id made of the instance's, and reports to its task", () => {
    const rig = new CodeRig().start({ parent }).take(activity("a"), child("c", { node: { nodeParams: "5" } }));
    assert.deepEqual(rig.events.slice(1, 4), [
      {
        type: "TaskAdded",
        node: { nodeId: 0, nodeName: "c", nodeType: 3, workflowName: "c", workflowVersion: "1", nodeParams: "5" },
      },
      { type: "TasksScheduled", tasks: [1] },
      { type: "ChildStarted", task: 1, attempt: 1, childId: "i/1" },
    ]);
    assert.deepEqual(rig.commands[0], {
      type: "StartChild",
      task: 1,
      childId: "i/1",
      of: { workflow: "c", version: "1" },
      parent: { id: "i", key: 7, generation: 1, task: 1, attempt: 1, depth: 4 },
      input: "5",
    });
    assert.equal(rig.machine.state.childrenInFlight, 1);
    assert.deepEqual(rig.machine.jobsInFlight(), [0], "children are not the dispatcher's");
  });

  test("under an id of the code's own choice says so: somebody else may have it", () => {
    const rig = CodeRig.started([child("c", { childId: "mine" })]);
    const parent = { id: "i", key: 7, generation: 1, task: 0, attempt: 1, depth: 1 };
    const of = { workflow: "c", version: "1" };
    assert.deepEqual(rig.commands, [{ type: "StartChild", task: 0, childId: "mine", of, parent, isGivenId: true }]);
  });

  test("of a later generation has an id of its own", () => {
    const rig = CodeRig.started([{ type: "continue", events: [] }]).take(child("c"));
    assert.deepEqual(
      rig.commands.map((command) => command.type === "StartChild" && command.childId),
      ["i/0~2"],
    );
  });

  test("that nobody waits for is done with at once", () => {
    const rig = CodeRig.started([child("c", { childId: "free", isDetached: true })]);
    const parent = { id: "i", key: 7, generation: 1, task: 0, attempt: 0, depth: 1 };
    const of = { workflow: "c", version: "1" };
    assert.deepEqual(rig.events.slice(1), [
      { type: "ChildDetached", task: 0, childId: "free", whenParentEnds: "terminate" },
    ]);
    assert.deepEqual(rig.commands, [{ type: "StartChild", task: 0, childId: "free", of, isGivenId: true, parent }]);
    assert.deepEqual([rig.tasks, rig.machine.state.inFlight], ["c Success", 0]);
  });

  test("that nobody waits for and that is left alone has no parent", () => {
    const rig = CodeRig.started([child("c", { childId: "free", isDetached: true, node: { whenParentEnds: "leave" } })]);
    const of = { workflow: "c", version: "1" };
    assert.deepEqual(rig.events.slice(1), [{ type: "ChildDetached", task: 0, childId: "free" }]);
    assert.deepEqual(rig.commands, [{ type: "StartChild", task: 0, childId: "free", of, isGivenId: true }]);
  });

  test("that nobody waits for is its parent's through all generations, until it has ended", () => {
    const rig = CodeRig.started([child("c", { childId: "a", isDetached: true })]);
    const anew = { type: "continue", events: [] } as const;
    rig.take(child("c", { childId: "b", isDetached: true, node: { whenParentEnds: "cancel" } }), anew).take(anew);
    const ended = { type: "ChildEnded", task: 0, attempt: 0, generation: 1, status: "Success" } as const;
    assert.deepEqual(rig.replayed().machine.state.detachedChildren, [
      { generation: 1, task: 0, childId: "a", whenParentEnds: "terminate" },
      { generation: 1, task: 1, childId: "b", whenParentEnds: "cancel" },
    ]);
    assert.deepEqual(rig.tell(ended).events, [{ type: "DetachedChildEnded", generation: 1, task: 0 }]);
    assert.equal(rig.tell(ended).dropped, 1);
    rig.tell({ type: "TerminateInstance", reason: "enough" });
    assert.deepEqual(rig.commands, [
      { type: "TellChild", childId: "b", tell: { type: "CancelInstance", reason: "enough" } },
    ]);
  });
});

test("a cancel that is heeded stops what was asked for before it, and nothing that comes after", () => {
  const rig = CodeRig.started([activity("running"), timer(5000)]);
  rig.tell({ type: "CancelInstance", reason: "enough", isHeld: true });
  assert.deepEqual([rig.eventTypes, rig.commands], [["CancelRequested"], []]);
  assert.equal(rig.machine.nextWake(), 5000);
  rig.take(activity("a"), { type: "heed-cancel" }, activity("undo"));
  assert.deepEqual(rig.eventTypes, [
    "TaskAdded",
    "CancelHeeded",
    "TasksCanceled",
    "TasksStopped",
    "TaskAdded",
    "TasksScheduled",
  ]);
  assert.deepEqual(rig.commands, [
    { type: "AbortTasks", attemptIds: ["i:1:0:1"] },
    { type: "RunTasks", tasks: [2] },
  ]);
  assert.equal(rig.tasks, "running Stopped, a Canceled (instance-ended), undo Pending");
  assert.equal(rig.machine.nextWake(), undefined);
});

describe("other steps", () => {
  test("each leave one event", () => {
    const rig = CodeRig.started([
      timer(5000),
      timer(9000),
      { type: "cancel-timer", timer: 0 },
      { type: "event", to: "j", name: "go", data: "1" },
      { type: "event", to: "j", name: "stop" },
      { type: "custom-status", status: '"half"' },
      { type: "patch", patch: "p" },
      { type: "answer", update: "u", output: "1" },
      { type: "answer", update: "v", failure: failureOf("no") },
      { type: "answer", update: "w" },
    ]);
    assert.deepEqual(rig.events, [
      { type: "TimerSet", timer: 0, dueAt: 5000 },
      { type: "TimerSet", timer: 1, dueAt: 9000 },
      { type: "TimerCanceled", timer: 0 },
      { type: "EventSent", to: "j", name: "go", data: "1" },
      { type: "EventSent", to: "j", name: "stop" },
      { type: "CustomStatusSet", status: '"half"' },
      { type: "PatchMarked", patch: "p" },
      { type: "UpdateAnswered", update: "u", output: "1" },
      { type: "UpdateAnswered", update: "v", failure: failureOf("no") },
      { type: "UpdateAnswered", update: "w" },
    ]);
    assert.deepEqual(rig.commands, [
      { type: "SendEvent", to: "j", name: "go", data: "1" },
      { type: "SendEvent", to: "j", name: "stop" },
    ]);
    assert.deepEqual([rig.machine.nextWake(), rig.machine.state.customStatus], [9000, '"half"']);
    assert.equal(rig.take({ type: "custom-status", status: null }).machine.state.customStatus, undefined);
  });

  test("of a kind that there is not are a bug", () => {
    assert.throws(() => CodeRig.started([{ type: "dance" } as never]), /a step of a workflow's code/);
  });
});

describe("the last step", () => {
  test("complete: the output goes on record and to the parent; what was left running is stopped", () => {
    const rig = new CodeRig().start({ parent }).take(activity("a"), child("c"), timer(9000));
    rig.take({ type: "complete", output: "42" }, activity("never"));
    assert.deepEqual(rig.events, [
      { type: "TasksStopped", tasks: [0, 1] },
      { type: "InstanceEnded", status: "Success", output: "42" },
    ]);
    assert.deepEqual(rig.commands, [
      { type: "AbortTasks", attemptIds: ["i:1:0:1"] },
      {
        type: "TellChild",
        childId: "i/1",
        tell: { type: "TerminateInstance", reason: "parent instance ended in Success" },
      },
      { type: "TellParent", parent, status: "Success", output: "42" },
    ]);
    assert.deepEqual([rig.tasks, rig.machine.nextWake()], ["a Stopped, c Stopped", undefined]);
  });

  test("complete without anything", () => {
    assert.deepEqual(CodeRig.started([{ type: "complete" }]).events, [{ type: "InstanceEnded", status: "Success" }]);
  });

  test("fail: what waits for its next attempt is not tried again", () => {
    const rig = CodeRig.started([activity("a", { retryCount: 1 }), activity("b")]).fail(0);
    rig.take({ type: "fail", failure: failureOf("broken") });
    assert.deepEqual(rig.events, [
      { type: "TasksCanceled", tasks: [0], cause: "instance-ended" },
      { type: "TasksStopped", tasks: [1] },
      { type: "InstanceEnded", status: "Failed", reason: "broken", failure: failureOf("broken") },
    ]);
    assert.equal(rig.tasks, "a Canceled (instance-ended), b Stopped");
    assert.equal(rig.machine.nextWake(), undefined);
  });

  test("cancel: it ends as terminated, for the reason it was asked", () => {
    const rig = CodeRig.started().take({ type: "cancel", reason: "changed my mind" });
    assert.deepEqual(rig.events, [{ type: "InstanceEnded", status: "Terminated", reason: "changed my mind" }]);
  });

  test("continue: a new generation, with nothing of the old one but who it is", () => {
    const rig = new CodeRig({ timeoutMs: 60_000 }).start({ parent, input: "1" });
    rig.take(activity("a"), child("c"), timer(9000), { type: "custom-status", status: '"x"' });
    rig.tell({ type: "RequestUpdate", update: "u", name: "set" });
    rig.at = 2000;
    rig.take({ type: "continue", input: "2", events: [{ name: "go", data: "3" }] });
    assert.deepEqual(rig.events, [
      { type: "TasksStopped", tasks: [0, 1] },
      {
        type: "InstanceContinued",
        workflow: "w",
        version: "1",
        generation: 2,
        createdAt: 1000,
        trigger: "api",
        input: "2",
        parent,
        deadline: 61_000,
        customStatus: '"x"',
        events: [{ name: "go", data: "3" }],
      },
    ]);
    assert.deepEqual(rig.commands[1], {
      type: "TellChild",
      childId: "i/1",
      tell: { type: "TerminateInstance", reason: "the parent instance has begun anew" },
    });
    const { state } = rig.machine;
    assert.deepEqual(
      [rig.status, state.size, state.inFlight, state.timers, state.hasUpdate("u"), state.input, state.startedAt],
      ["Running", 0, 0, 0, false, "2", 2000],
    );
    assert.deepEqual([rig.machine.nextWake(), rig.machine.address.generation], [61_000, 2]);
  });

  test("continue with nothing to give on", () => {
    const rig = CodeRig.started().take({ type: "continue", events: [] });
    assert.deepEqual(rig.events, [
      { type: "InstanceContinued", workflow: "w", version: "1", generation: 2, createdAt: 1000, trigger: "api" },
    ]);
  });
});

describe("a run that is too long", () => {
  const limits = { stepsMax: 3 };

  test("fails with a sentence that says what to do", () => {
    const rig = CodeRig.started([activity("a"), timer(5000)], { limits });
    rig.take(activity("b"), activity("c"));
    const ended = rig.events.at(-1);
    assert.equal(ended?.type === "InstanceEnded" && ended.failure?.type, "WORKFLOW_TOO_LONG");
    assert.match(rig.machine.state.reason ?? "", /more than 3 steps; let long-lived code begin anew .*continueAsNew/);
    assert.deepEqual([rig.status, rig.tasks], ["Failed", "a Stopped"]);
  });

  test("begins to count anew with a new generation", () => {
    const rig = CodeRig.started([activity("a"), timer(5000)], { limits }).take({ type: "continue", events: [] });
    assert.equal(rig.take(activity("b"), activity("c"), activity("d")).status, "Running");
  });
});
