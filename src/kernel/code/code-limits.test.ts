import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { activity, child, CodeRig } from "./code.rig.ts";

const atMost = (concurrentActivities: number) => ({ limits: { concurrentActivities } });

describe("activities at a time", () => {
  test("are as many as may be; the next is scheduled with the end of one, whichever way that goes", () => {
    const rig = CodeRig.started(
      [0, 1, 2, 3, 4].map((n) => activity(`a${n}`, { retryCount: n })),
      atMost(2),
    );
    const { state } = rig.machine;
    assert.deepEqual(rig.commands, [{ type: "RunTasks", tasks: [0, 1] }]);
    assert.deepEqual([state.waitingCount, state.waitingTasks()], [3, [2, 3, 4]]);
    assert.deepEqual(rig.succeed(0).commands, [{ type: "RunTasks", tasks: [2] }]);
    // Its own next attempt is not due, so another has its place.
    assert.deepEqual(rig.fail(1).commands, [{ type: "RunTasks", tasks: [3] }]);
    assert.deepEqual(rig.pass(1000).commands, []);
    assert.deepEqual([state.waitingCount, state.waitingTasks()], [2, [1, 4]]);
    // What was lost is the first in line again.
    assert.deepEqual(rig.lose(2).commands, [{ type: "RunTasks", tasks: [1] }]);
    assert.deepEqual(rig.replayed().machine.state.waitingTasks(), [2, 4]);
    assert.deepEqual(rig.succeed(1).succeed(3).commands, [{ type: "RunTasks", tasks: [4] }]);
  });

  test("do not count children, nor hold them up", () => {
    const rig = CodeRig.started([activity("a"), activity("b"), child("c", { node: { retryCount: 1 } })], atMost(1));
    assert.equal(rig.tasks, "a Pending, b Pending, c Running");
    const { task, attempt, generation } = rig.report(2);
    rig.tell({ type: "ChildEnded", task, attempt, generation, status: "Failed" }).pass(1000);
    assert.equal(rig.tasks, "a Pending, b Pending, c Running");
    assert.deepEqual(rig.machine.state.waitingTasks(), [1]);
  });

  test("are all of them where there is no limit, and none in a pause", () => {
    const rig = CodeRig.started([activity("a"), activity("b"), activity("c")]);
    assert.deepEqual(rig.commands, [{ type: "RunTasks", tasks: [0, 1, 2] }]);
    rig.tell({ type: "PauseInstance" }).withdraw(0, 1, 2);
    assert.deepEqual([rig.commands, rig.machine.state.waitingCount], [[], 3]);
    assert.deepEqual(rig.tell({ type: "ResumeInstance" }).commands, [{ type: "RunTasks", tasks: [0, 1, 2] }]);
  });
});

describe("an instance above its workflow's maximum", () => {
  const queued = (): CodeRig => new CodeRig({ timeoutMs: 500 }).start({ admission: "queue" });

  test("waits as a whole, and starts when it is let in", () => {
    const rig = queued();
    const { state } = rig.machine;
    assert.deepEqual([rig.status, rig.eventTypes, state.waitingCount], ["Ready", ["InstanceCreated"], 1]);
    assert.deepEqual([state.waitingTasks(), rig.machine.nextWake()], [[], undefined]);
    assert.equal(rig.replayed().status, "Ready");
    rig.at = 2000;
    rig.tell({ type: "AdmitInstance" });
    assert.deepEqual(rig.events, [{ type: "InstanceStarted", deadline: 2500 }]);
    assert.deepEqual([rig.status, state.waitingCount], ["Running", 0]);
    assert.equal(rig.tell({ type: "AdmitInstance" }).dropped, 1);
  });

  test("is refused at its start, or later, as the policy says", () => {
    const refusal = { refuse: "skip", reason: "too many" } as const;
    assert.equal(new CodeRig().start({ admission: refusal }).status, "Terminated");
    assert.equal(new CodeRig().start({ admission: { ...refusal, refuse: "fail" } }).status, "Failed");
    assert.equal(queued().tell({ type: "AdmitInstance", refusal }).status, "Terminated");
  });

  test("can be paused and resumed before it starts", () => {
    const rig = queued().tell({ type: "PauseInstance" });
    assert.deepEqual([rig.status, rig.machine.state.pausing], ["Ready", true]);
    assert.equal(rig.refusal({ type: "PauseInstance" }).code, "INSTANCE_STATE");
    assert.equal(rig.replayed().tell({ type: "AdmitInstance" }).status, "Paused");
    rig.tell({ type: "ResumeInstance" });
    assert.deepEqual([rig.status, rig.machine.state.pausing], ["Ready", false]);
    assert.equal(rig.tell({ type: "AdmitInstance" }).status, "Running");
    assert.equal(queued().refusal({ type: "ResumeInstance" }).code, "INSTANCE_STATE");
  });

  test("ends at once when it is asked to, for it has nothing to undo", () => {
    for (const type of ["CancelInstance", "TerminateInstance"] as const) {
      const rig = queued().tell({ type, reason: "enough" });
      assert.deepEqual([rig.status, rig.machine.state.reason], ["Terminated", "enough"]);
    }
  });

  test("that goes on from another does not wait", () => {
    const fork = { from: { id: "o", generation: 1 }, events: [] };
    assert.equal(new CodeRig().start({ admission: "queue", fork }).status, "Running");
  });
});
