import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ChildEnded } from "../input.ts";
import type { CodeInput } from "./code-input.ts";
import { payloadBytesMax } from "../payload.ts";
import { activity, child, CodeRig, timer } from "./code.rig.ts";
import { failureOf } from "../machine.rig.ts";

const large = { ref: 1, bytes: payloadBytesMax + 1 };

describe("a start", () => {
  test("is written down once", () => {
    const rig = CodeRig.started([activity("a")]).begin(0, "w1");
    assert.deepEqual(rig.events, [{ type: "TaskStarted", task: 0, attempt: 1, worker: "w1", startedAt: 1000 }]);
    assert.deepEqual([rig.begin(0, "w2").events, rig.dropped], [[], 0]);
  });
});

describe("a success", () => {
  test("is one event, with the output and who ran it; what is kept of it is small", () => {
    const rig = CodeRig.started([activity("a", { nodeParams: "1" })]);
    rig.tell({
      type: "AttemptEnded",
      ...rig.report(0),
      outcome: { kind: "success", output: "2" },
      worker: "w1",
      startedAt: 900,
    });
    assert.deepEqual(rig.events, [
      { type: "TaskSucceeded", task: 0, attempt: 1, worker: "w1", startedAt: 900, output: "2" },
    ]);
    const { state } = rig.machine;
    assert.deepEqual(
      [rig.tasks, state.inFlight, state.params(0), state.record(0)?.output],
      ["a Success", 0, undefined, undefined],
    );
  });

  test("with an output over the limit is a failure, for good", () => {
    const rig = CodeRig.started([activity("a", { retryCount: 3 })]).succeed(0, { output: large });
    const failure = rig.machine.state.record(0)?.failure;
    assert.deepEqual([rig.tasks, failure?.type, failure?.retryable], ["a Failed", "OUTPUT_TOO_LARGE", false]);
    assert.match(failure?.message ?? "", /^the output of activity "a" takes 10485761 bytes/);
  });

  test("with what only a DAG can do for it is a failure that says so", () => {
    const patched = CodeRig.started([activity("a")]).succeed(0, { patch: { x: "1" } });
    assert.match(
      patched.machine.state.record(0)?.failure?.message ?? "",
      /^activity "a" changed the context, which only/,
    );
    const more = CodeRig.started([activity("a")]).succeed(0, { subTasks: [] });
    assert.match(more.machine.state.record(0)?.failure?.message ?? "", /^activity "a" generated sub-tasks, which only/);
  });

  test("that runs into a bug of ours is not taken for a failure of the activity", () => {
    const rig = CodeRig.started([activity("a")]);
    assert.throws(() => rig.succeed(0, { output: null as never }), TypeError);
  });
});

describe("a failure", () => {
  test("is tried again after its wait, with a new attempt each, then is final", () => {
    const rig = CodeRig.started([activity("a", { retryCount: 1 })]).fail(0);
    assert.deepEqual(rig.events, [
      { type: "TaskFailed", task: 0, attempt: 1, failure: failureOf("no"), retryAt: 2000 },
    ]);
    assert.deepEqual([rig.tasks, rig.machine.nextWake(), rig.machine.state.inFlight], ["a Pending", 2000, 0]);
    assert.deepEqual(rig.pass(999).events, [], "never early");
    assert.deepEqual(rig.pass(1).events, [
      { type: "RetriesDue", tasks: [0] },
      { type: "TasksScheduled", tasks: [0] },
    ]);
    assert.deepEqual(rig.commands, [{ type: "RunTasks", tasks: [0] }]);
    assert.deepEqual(rig.fail(0).events, [{ type: "TaskFailed", task: 0, attempt: 2, failure: failureOf("no") }]);
    assert.deepEqual([rig.tasks, rig.machine.state.tasksFailed], ["a Failed", 1]);
  });

  test("of a timeout is marked as one", () => {
    const rig = CodeRig.started([activity("a")]).complete(0, { kind: "timeout", failure: failureOf("late") });
    assert.deepEqual(rig.events, [
      { type: "TaskFailed", task: 0, attempt: 1, failure: failureOf("late"), timedOut: true },
    ]);
    assert.equal(rig.tasks, "a TimeoutFailed");
  });
});

describe("a loss", () => {
  test("is the same attempt again, so many times and no more", () => {
    const rig = CodeRig.started([activity("a")], { limits: { interruptionsMax: 1 } }).lose(0);
    assert.deepEqual(rig.events, [
      { type: "TaskInterrupted", task: 0, attempt: 1 },
      { type: "TasksScheduled", tasks: [0] },
    ]);
    rig.lose(0);
    const failed = rig.events[0];
    assert.equal(failed?.type === "TaskFailed" && failed.failure.type, "TASK_LOST");
    assert.equal(rig.tasks, "a Failed");
  });

  test("while paused waits for the resume", () => {
    const rig = CodeRig.started([activity("a")])
      .tell({ type: "PauseInstance" })
      .lose(0);
    assert.deepEqual([rig.eventTypes, rig.commands], [["TaskInterrupted"], []]);
    assert.deepEqual(rig.tell({ type: "ResumeInstance" }).commands, [{ type: "RunTasks", tasks: [0] }]);
  });
});

test("the details of the last heartbeat are recorded with a failure, a loss and a withdrawal", () => {
  const rig = CodeRig.started([activity("a", { retryCount: 1 })]);
  rig.complete(0, { kind: "failure", failure: failureOf("no"), heartbeat: "1" });
  assert.equal(rig.machine.state.record(0)?.heartbeat, "1");
  rig.pass(1000).complete(0, { kind: "lost", heartbeat: "2" });
  assert.deepEqual(rig.events[0], { type: "TaskInterrupted", task: 0, attempt: 2, heartbeat: "2" });
  rig.tell({ type: "AttemptsWithdrawn", runs: [{ ...rig.report(0), heartbeat: "3" }] });
  assert.equal(rig.replayed().machine.state.record(0)?.heartbeat, "3");
});

describe("what the dispatcher took back", () => {
  test("goes out again at once while the instance runs", () => {
    const rig = CodeRig.started([activity("a"), activity("b")]).withdraw(0, 1, 0);
    assert.deepEqual(rig.events, [
      { type: "TasksWithdrawn", tasks: [0, 1] },
      { type: "TasksScheduled", tasks: [0, 1] },
    ]);
    assert.equal(rig.dropped, 1, "one was named twice");
    assert.equal(rig.machine.state.attempt(0), 1, "it is the same attempt");
  });

  test("waits while the instance is paused", () => {
    const rig = CodeRig.started([activity("a")]).tell({ type: "PauseInstance" });
    assert.deepEqual(rig.commands, [{ type: "WithdrawTasks", attemptIds: ["i:1:0:1"] }]);
    assert.deepEqual([rig.withdraw(0).eventTypes, rig.machine.state.readyCount], [["TasksWithdrawn"], 1]);
  });

  test("is dropped if it is not with it", () => {
    const rig = CodeRig.started([activity("a")])
      .succeed(0)
      .withdraw(0);
    assert.deepEqual([rig.events, rig.dropped], [[], 1]);
  });
});

describe("a child's end", () => {
  const end = (rig: CodeRig, more: Partial<ChildEnded>): CodeRig =>
    rig.tell({ type: "ChildEnded", ...rig.report(0), status: "Success", ...more });

  test("is its task's end, with the output", () => {
    assert.deepEqual(end(CodeRig.started([child("c")]), { output: "5" }).events, [
      { type: "TaskSucceeded", task: 0, attempt: 1, output: "5" },
    ]);
    assert.deepEqual(end(CodeRig.started([child("c")]), {}).events, [{ type: "TaskSucceeded", task: 0, attempt: 1 }]);
  });

  test("that is not good is a failure, which a retry lets go on where it stopped", () => {
    const rig = CodeRig.started([child("c", { node: { retryCount: 1 } })]);
    end(rig, { status: "Failed", reason: "no luck" });
    const failed = rig.events[0];
    assert.equal(
      failed?.type === "TaskFailed" && failed.failure.message,
      'nested workflow instance "i/0" ended in Failed: no luck',
    );
    rig.pass(1000);
    assert.deepEqual(rig.events.slice(1), [
      { type: "TasksScheduled", tasks: [0] },
      { type: "ChildStarted", task: 0, attempt: 2, childId: "i/0" },
    ]);
    const parent = { id: "i", key: 7, generation: 1, task: 0, attempt: 2, depth: 1 };
    assert.deepEqual(rig.commands, [{ type: "TellChild", childId: "i/0", tell: { type: "RetryInstance", parent } }]);
    end(rig, { status: "Terminated" });
    assert.equal(rig.machine.state.record(0)?.failure?.type, "WORKFLOW_TERMINATED");
  });

  test("of a child that could not be started is a failure, and a retry starts it after all", () => {
    const started = (childId?: string): CodeRig =>
      CodeRig.started([child("c", { node: { retryCount: 1, nodeParams: "7" }, ...(childId && { childId }) })]);
    const command = (rig: CodeRig): unknown => {
      end(rig, { status: "Failed", reason: "unknown", isMissing: true });
      const { failure } = rig.machine.state.record(0) ?? {};
      assert.match(failure?.message ?? "", /^nested workflow instance ".*" could not be started: unknown$/);
      rig.pass(1000);
      return rig.commands[0];
    };
    const first = (rig: CodeRig): unknown => rig.commands[0];
    // Neither the input nor the id is lost on the way.
    for (const childId of [undefined, "own"]) {
      const again = command(started(childId)) as { readonly parent: { readonly attempt: number } };
      assert.equal(again.parent.attempt, 2);
      assert.deepEqual({ ...again, parent: { ...again.parent, attempt: 1 } }, first(started(childId)));
    }
  });

  test("with an output over the limit is a failure", () => {
    const rig = end(CodeRig.started([child("c")]), { output: large });
    assert.equal(rig.machine.state.record(0)?.failure?.type, "OUTPUT_TOO_LARGE");
  });
});

test("a report of an older attempt or generation, or of what nobody waits for, is dropped", () => {
  const rig = CodeRig.started([activity("a"), child("c"), activity("b"), timer(9000)]);
  const { generation } = rig.machine.address;
  const stale = [
    { task: 0, attempt: 2, generation },
    { task: 0, attempt: 1, generation: generation + 1 },
    { task: 9, attempt: 1, generation },
  ];
  rig.succeed(2);
  for (const report of [...stale, rig.report(2)]) {
    const inputs: readonly CodeInput[] = [
      { type: "AttemptStarted", ...report, worker: "w1", startedAt: 1 },
      { type: "AttemptEnded", ...report, outcome: { kind: "success" } },
      { type: "AttemptEnded", ...report, outcome: { kind: "lost" } },
      { type: "ChildEnded", ...report, status: "Success" },
    ];
    for (const input of inputs) {
      rig.tell(input);
      assert.deepEqual([rig.events, rig.commands, rig.dropped], [[], [], 1]);
    }
  }
  rig.tell({ type: "AdmitInstance" });
  assert.equal(rig.dropped, 1);
});
