import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Event } from "../event.ts";
import type { AnyInput } from "../input.ts";
import type { CodeInput } from "./code-input.ts";
import { activity, child, CodeRig, timer } from "./code.rig.ts";
import { failureOf } from "../machine.rig.ts";
import type { LastStep } from "./step.ts";

const parent = { id: "p", key: 1, generation: 2, task: 4, attempt: 1, depth: 3 };
const requests: readonly CodeInput[] = [
  { type: "PauseInstance" },
  { type: "ResumeInstance" },
  { type: "TerminateInstance", reason: "enough" },
  { type: "CancelInstance", reason: "please" },
  { type: "RaiseEvent", name: "go" },
  { type: "RequestUpdate", update: "u", name: "set" },
];

describe("a start", () => {
  test("creates and starts it, with its input", () => {
    const rig = new CodeRig().start({ input: "1", parent, trigger: "nested" });
    assert.deepEqual(rig.events, [
      {
        type: "InstanceCreated",
        workflow: "w",
        version: "1",
        generation: 1,
        context: {},
        maxConcurrentTasks: 0,
        trigger: "nested",
        parent,
        input: "1",
      },
      { type: "InstanceStarted" },
    ]);
    const { state } = rig.machine;
    assert.deepEqual(
      [state.workflow, state.version, state.trigger, state.input, state.createdAt, state.startedAt, state.status],
      ["w", "1", "nested", "1", 1000, 1000, "Running"],
    );
    assert.deepEqual(rig.machine.address, { id: "i", key: 7, generation: 1 });
    assert.equal(rig.machine.nextWake(), undefined);
  });

  test("happens once", () => {
    const { code, message } = CodeRig.started().refusal({
      type: "StartInstance",
      workflow: "w",
      version: "1",
      generation: 1,
      context: {},
      trigger: "api",
      admission: "run",
    });
    assert.deepEqual([code, message], ["INSTANCE_EXISTS", 'instance "i" has been started already; it is Running']);
  });

  test("is refused where nothing may nest any deeper", () => {
    assert.throws(() => new CodeRig().start({ parent: { ...parent, depth: 33 } }), /nested more than 32 deep/);
  });

  test("comes first", () => {
    assert.equal(new CodeRig().refusal({ type: "TimerDue" }).code, "INSTANCE_UNKNOWN");
  });
});

describe("a reaction that is recorded before it runs", () => {
  test("is under way until it has come through, with the losses that count", () => {
    const rig = new CodeRig().start();
    assert.equal(rig.machine.state.reaction, undefined);
    rig.tell({ type: "StartReaction", losses: 2 });
    assert.deepEqual(rig.events, [{ type: "ReactionStarted", losses: 2 }]);
    assert.deepEqual(rig.machine.state.reaction, { isUnderWay: true, losses: 2 });
    rig.tell({ type: "EndReaction", losses: 1 });
    assert.deepEqual(rig.events, [{ type: "ReactionEnded", losses: 1 }]);
    assert.deepEqual(rig.machine.state.reaction, { isUnderWay: false, losses: 1 });
  });
});

describe("a fork", () => {
  const from = { id: "o", generation: 3 };
  const fork = (events: readonly Event[]): CodeRig => new CodeRig().start({ fork: { from, events } });
  const added = (step: ReturnType<typeof activity>): Event => ({
    type: "TaskAdded",
    node: (step as Extract<typeof step, { type: "activity" }>).node,
  });

  test("takes over what happened to the other, and begins anew what was under way there", () => {
    const rig = fork([
      added(activity("a")),
      added(activity("b")),
      added(child("c", { node: { nodeParams: "5" } })),
      { type: "TasksScheduled", tasks: [0, 1] },
      { type: "TasksScheduled", tasks: [2] },
      { type: "ChildStarted", task: 2, attempt: 1, childId: "o/2" },
      { type: "TaskSucceeded", task: 0, attempt: 1, output: "1" },
      { type: "TimerSet", timer: 0, dueAt: 9000 },
      { type: "InstancePaused" },
    ]);
    assert.deepEqual(rig.machine.state.forkedFrom, from);
    assert.deepEqual(rig.events.slice(2 + 9), [
      { type: "InstanceResumed" },
      { type: "TasksWithdrawn", tasks: [1, 2] },
      { type: "TasksScheduled", tasks: [2] },
      { type: "ChildStarted", task: 2, attempt: 1, childId: "i/2" },
      { type: "TasksScheduled", tasks: [1] },
    ]);
    assert.deepEqual(rig.commands, [
      {
        type: "StartChild",
        task: 2,
        childId: "i/2",
        of: { workflow: "c", version: "1" },
        parent: { id: "i", key: 7, generation: 1, task: 2, attempt: 1, depth: 1 },
        input: "5",
      },
      { type: "RunTasks", tasks: [1] },
    ]);
    assert.deepEqual([rig.status, rig.machine.nextWake()], ["Running", 9000]);
  });

  test("of one that had come to nothing is a plain start", () => {
    const rig = fork([]);
    assert.deepEqual([rig.eventTypes, rig.commands], [["InstanceCreated", "InstanceStarted"], []]);
  });

  test("schedules what had been asked for and not gone out", () => {
    assert.deepEqual(fork([added(activity("a"))]).commands, [{ type: "RunTasks", tasks: [0] }]);
  });

  test("leaves the other's children alone, also those that waited for another attempt there", () => {
    const rig = fork([
      added(child("c", { node: { retryCount: 3 } })),
      { type: "TasksScheduled", tasks: [0] },
      { type: "ChildStarted", task: 0, attempt: 1, childId: "o/0" },
      { type: "TaskFailed", task: 0, attempt: 1, failure: failureOf("no"), retryAt: 2000 },
    ]);
    rig.pass(1000);
    assert.deepEqual(
      rig.history.flatMap(({ event }) => (event.type === "ChildStarted" ? event.childId : [])),
      ["o/0", "i/0"],
    );
    assert.equal(
      rig.commands.some(({ type }) => type === "TellChild"),
      false,
    );
  });
});

describe("a pause", () => {
  test("is at once: jobs are taken back unless they run, children are told, nothing comes due", () => {
    const rig = CodeRig.started([activity("a"), activity("b"), child("c"), timer(2000)]).begin(0);
    rig.tell({ type: "PauseInstance" });
    assert.deepEqual(rig.events, [{ type: "InstancePaused" }]);
    assert.deepEqual(rig.commands, [
      { type: "WithdrawTasks", attemptIds: ["i:1:0:1", "i:1:1:1"] },
      { type: "TellChild", childId: "i/2", tell: { type: "PauseInstance" } },
    ]);
    assert.deepEqual([rig.machine.nextWake(), rig.pass(5000).events], [undefined, []]);
  });

  test("with nothing under way only says so", () => {
    assert.deepEqual(CodeRig.started().tell({ type: "PauseInstance" }).commands, []);
  });

  test("ends with a resume, which lets come due what did meanwhile", () => {
    const rig = CodeRig.started([activity("a", { retryCount: 1 }), child("c"), timer(2000), timer(1500)]).fail(0);
    rig.tell({ type: "PauseInstance" });
    rig.at = 3000;
    rig.tell({ type: "ResumeInstance" });
    assert.deepEqual(rig.events, [
      { type: "InstanceResumed" },
      { type: "TimerFired", timer: 1 },
      { type: "TimerFired", timer: 0 },
      { type: "RetriesDue", tasks: [0] },
      { type: "TasksScheduled", tasks: [0] },
    ]);
    assert.deepEqual(rig.commands, [
      { type: "TellChild", childId: "i/1", tell: { type: "ResumeInstance" } },
      { type: "RunTasks", tasks: [0] },
    ]);
  });

  test("keeps nothing from arriving", () => {
    const rig = CodeRig.started([activity("a")])
      .begin(0)
      .tell({ type: "PauseInstance" });
    assert.deepEqual(rig.succeed(0, { output: "1" }).eventTypes, ["TaskSucceeded"]);
    assert.deepEqual(rig.tell({ type: "RaiseEvent", name: "go" }).eventTypes, ["EventRaised"]);
  });

  test("does not stop the instance's own deadline, which resumes it", () => {
    const rig = CodeRig.started([child("c")], { timeoutMs: 5000 }).tell({ type: "PauseInstance" });
    assert.equal(rig.machine.nextWake(), 6000);
    assert.deepEqual(rig.pass(5000).eventTypes, ["InstanceResumed", "InstanceTimedOut", "CancelRequested"]);
    assert.deepEqual(rig.commands, [{ type: "TellChild", childId: "i/0", tell: { type: "ResumeInstance" } }]);
  });

  test("a resume after the deadline leaves it to its own message", () => {
    const rig = CodeRig.started([], { timeoutMs: 5000 }).tell({ type: "PauseInstance" });
    rig.at = 9000;
    assert.deepEqual(rig.tell({ type: "ResumeInstance" }).eventTypes, ["InstanceResumed"]);
    assert.equal(rig.machine.nextWake(), 6000);
    assert.deepEqual(rig.pass(0).eventTypes, ["InstanceTimedOut", "CancelRequested"]);
  });

  test("comes while it runs, a resume while it is paused", () => {
    const rig = CodeRig.started();
    assert.equal(rig.refusal({ type: "ResumeInstance" }).message, 'cannot resume instance "i": it is Running');
    rig.tell({ type: "PauseInstance" });
    assert.equal(rig.refusal({ type: "PauseInstance" }).message, 'cannot pause instance "i": it is Paused');
  });
});

describe("time", () => {
  test("lets timers fire once, never early, the longest due first", () => {
    const rig = CodeRig.started([timer(5000), timer(3000), timer(3000), timer(9000)]);
    assert.equal(rig.machine.nextWake(), 3000);
    assert.deepEqual(rig.pass(1999).events, []);
    assert.deepEqual(rig.pass(4000).events, [
      { type: "TimerFired", timer: 1 },
      { type: "TimerFired", timer: 2 },
      { type: "TimerFired", timer: 0 },
    ]);
    assert.deepEqual([rig.pass(0).events, rig.machine.nextWake()], [[], 9000]);
  });
});

describe("a timeout", () => {
  const reason = "the instance did not end within its timeout of 5 s";
  const hourMs = 3_600_000;
  const again: CodeInput = { type: "CancelInstance", reason };

  test("asks the code to end, and gives it an hour for that", () => {
    const rig = CodeRig.started([activity("a"), timer(2000)], { timeoutMs: 5000 });
    assert.deepEqual(rig.history[1]?.event, { type: "InstanceStarted", deadline: 6000 });
    assert.equal(rig.machine.nextWake(), 2000);
    rig.pass(1000);
    assert.equal(rig.machine.nextWake(), 6000);
    assert.deepEqual(rig.pass(4000).events, [
      { type: "InstanceTimedOut", compensationMs: hourMs, deadline: 6000 + hourMs },
      { type: "CancelRequested", reason, isHeld: true },
    ]);
    assert.deepEqual(rig.tell(again).eventTypes, ["CancelRequested", "TasksStopped"]);
    assert.equal(rig.machine.nextWake(), 6000 + hourMs);
    rig.pass(hourMs);
    const bound = "and its compensation not within a further 3600 s";
    assert.deepEqual(rig.events.at(-1), { type: "InstanceEnded", status: "Failed", reason: `${reason}, ${bound}` });
    assert.deepEqual([rig.pass(9000).events, rig.machine.nextWake()], [[], undefined]);
  });

  test("gives as much time again as there was, if that was more", () => {
    const rig = CodeRig.started([], { timeoutMs: 2 * hourMs }).pass(2 * hourMs);
    assert.equal(rig.machine.nextWake(), 1000 + 4 * hourMs);
  });

  test("of absent code bounds nothing until it takes effect", () => {
    const rig = CodeRig.started([], { timeoutMs: 5000 });
    rig.at = 6000;
    rig.tell({ type: "TimerDue", isCodeAbsent: true });
    assert.deepEqual(rig.events[0], { type: "InstanceTimedOut", compensationMs: hourMs });
    assert.equal(rig.machine.nextWake(), undefined);
    rig.at = 7000;
    rig.tell(again);
    assert.equal(rig.machine.nextWake(), 7000 + hourMs);
  });

  test("that is held lets timers and retries go on, and has no say in how the code ends", () => {
    const rig = CodeRig.started([timer(6000)], { timeoutMs: 5000 }).pass(5000);
    assert.equal(rig.machine.nextWake(), 6000);
    assert.deepEqual(rig.pass(0).eventTypes, ["TimerFired"]);
    assert.equal(rig.take({ type: "cancel", reason: "asked before" }).status, "Terminated");
  });

  test("that the code knows of has it fail, whatever it does, with its own failure if it has one", () => {
    const failure = failureOf("own");
    const ends: [LastStep, string][] = [
      [{ type: "cancel", reason }, reason],
      [{ type: "complete", output: "1" }, reason],
      [{ type: "continue", events: [] }, reason],
      [{ type: "fail", failure }, "own"],
    ];
    for (const [end, expected] of ends) {
      const rig = CodeRig.started([], { timeoutMs: 5000 }).pass(5000).tell(again).take(end);
      assert.deepEqual([rig.status, rig.machine.state.reason], ["Failed", expected]);
    }
  });

  test("that is held goes on to the next generation", () => {
    const rig = CodeRig.started([], { timeoutMs: 5000 }).pass(5000).take({ type: "continue", events: [] });
    assert.deepEqual(rig.eventTypes, ["InstanceContinued", "InstanceTimedOut", "CancelRequested"]);
    assert.equal(rig.machine.nextWake(), 6000 + hourMs);
    assert.equal(rig.tell(again).take({ type: "complete" }).status, "Failed");
  });

  test("asks again where the code has caught a cancel and gone on", () => {
    const rig = CodeRig.started([], { timeoutMs: 5000 }).tell({ type: "CancelInstance", reason: "please" });
    rig.take(activity("on and on")).pass(5000);
    assert.deepEqual(rig.tell(again).eventTypes, ["CancelRequested", "TasksStopped"]);
  });

  test("is known from the history alone", () => {
    const rig = CodeRig.started([], { timeoutMs: 5000 });
    const later = new CodeRig();
    for (const { at, event } of rig.history) later.machine.apply(event, at);
    later.at = 6000;
    later.tell({ type: "TimerDue" });
    assert.deepEqual(later.eventTypes, ["InstanceTimedOut", "CancelRequested"]);
  });
});

describe("a termination", () => {
  test("stops everything at once, and tells children and parent", () => {
    const rig = new CodeRig().start({ parent }).take(activity("a"), child("c"), timer(9000));
    rig.tell({ type: "TerminateInstance", reason: "enough" });
    assert.deepEqual(rig.events, [
      { type: "TasksStopped", tasks: [0, 1] },
      { type: "InstanceEnded", status: "Terminated", reason: "enough" },
    ]);
    assert.deepEqual(rig.commands, [
      { type: "AbortTasks", attemptIds: ["i:1:0:1"] },
      { type: "TellChild", childId: "i/1", tell: { type: "TerminateInstance", reason: "enough" } },
      { type: "TellParent", parent, status: "Terminated", reason: "enough" },
    ]);
  });

  test("of what has only children in flight aborts no job", () => {
    const rig = CodeRig.started([child("c")]).tell({ type: "TerminateInstance", reason: "enough" });
    assert.deepEqual(
      rig.commands.map(({ type }) => type),
      ["TellChild"],
    );
  });
});

describe("being asked to end", () => {
  test("calls off what the code waits for, and leaves the end to it", () => {
    const rig = CodeRig.started([activity("a"), child("c"), activity("b", { retryCount: 1 }), timer(9000)]).fail(2);
    rig.tell({ type: "CancelInstance", reason: "please" });
    assert.deepEqual(rig.events, [
      { type: "CancelRequested", reason: "please" },
      { type: "TasksCanceled", tasks: [2], cause: "instance-ended" },
      { type: "TasksStopped", tasks: [0, 1] },
    ]);
    assert.deepEqual(rig.commands, [
      { type: "AbortTasks", attemptIds: ["i:1:0:1"] },
      { type: "TellChild", childId: "i/1", tell: { type: "CancelInstance", reason: "please" } },
    ]);
    assert.deepEqual([rig.status, rig.machine.nextWake()], ["Running", undefined]);
  });

  test("once is enough", () => {
    const rig = CodeRig.started().tell({ type: "CancelInstance", reason: "please" });
    assert.deepEqual(rig.tell({ type: "CancelInstance", reason: "now" }).events, []);
    assert.equal(rig.machine.state.cancelReason, "please");
  });

  test("does not keep it from taking more steps", () => {
    const rig = CodeRig.started().tell({ type: "CancelInstance", reason: "please" });
    assert.deepEqual(rig.take(activity("undo"), timer(2000)).commands, [{ type: "RunTasks", tasks: [0] }]);
    assert.equal(rig.machine.nextWake(), 2000);
  });
});

describe("a retry", () => {
  test("runs it from the beginning with the same input, under the next generation", () => {
    const rig = new CodeRig({ timeoutMs: 5000 }).start({ input: "1", parent }).take(activity("a"));
    rig.take({ type: "fail", failure: failureOf("no") });
    rig.at = 9000;
    rig.tell({ type: "RetryInstance" });
    assert.deepEqual(rig.events, [
      {
        type: "InstanceContinued",
        workflow: "w",
        version: "1",
        generation: 2,
        createdAt: 1000,
        trigger: "api",
        input: "1",
        parent,
        deadline: 14_000,
      },
    ]);
    const { state } = rig.machine;
    assert.deepEqual(
      [state.status, state.size, state.reason, state.failure, state.endedAt, state.tasksFailed],
      ["Running", 0, undefined, undefined, undefined, 0],
    );
  });

  test("of one without input or parent", () => {
    const rig = CodeRig.started([{ type: "cancel", reason: "x" }]).tell({ type: "RetryInstance" });
    assert.deepEqual(rig.events, [
      { type: "InstanceContinued", workflow: "w", version: "1", generation: 2, createdAt: 1000, trigger: "api" },
    ]);
  });

  test("is refused for what runs, and for what ended well", () => {
    const rig = CodeRig.started();
    assert.equal(rig.refusal({ type: "RetryInstance" }).message, 'cannot retry instance "i": it is Running');
    rig.take({ type: "complete" });
    assert.equal(rig.refusal({ type: "RetryInstance" }).message, 'cannot retry instance "i": it is Success');
  });

  test("by its parent is never refused: it hears who waits for it now, and the parent of an end that was good", () => {
    const rig = new CodeRig().start({ parent });
    const next = { ...parent, attempt: 2 };
    rig.tell({ type: "RetryInstance", parent: next });
    assert.deepEqual([rig.events, rig.commands], [[{ type: "ParentChanged", parent: next }], []]);
    rig.take({ type: "complete", output: "1" });
    assert.deepEqual(rig.commands, [{ type: "TellParent", parent: next, status: "Success", output: "1" }]);
    const third = { ...parent, attempt: 3 };
    rig.tell({ type: "RetryInstance", parent: third });
    assert.deepEqual(rig.commands, [{ type: "TellParent", parent: third, status: "Success", output: "1" }]);
  });

  test("by its parent of what failed runs it again for the new attempt", () => {
    const rig = new CodeRig().start({ parent }).take({ type: "fail", failure: failureOf("no") });
    const next = { ...parent, attempt: 2 };
    rig.tell({ type: "RetryInstance", parent: next });
    assert.deepEqual([rig.eventTypes, rig.machine.state.parent], [["InstanceContinued"], next]);
  });
});

describe("what clients say", () => {
  test("an event is kept in the history", () => {
    const rig = CodeRig.started().tell({ type: "RaiseEvent", name: "go", data: "1" });
    assert.deepEqual(rig.events, [{ type: "EventRaised", name: "go", data: "1" }]);
  });

  test("an update is let in once, and its answer is kept", () => {
    const rig = CodeRig.started().tell({ type: "RequestUpdate", update: "u", name: "set", data: "1" });
    assert.deepEqual(rig.events, [{ type: "UpdateRequested", update: "u", name: "set", data: "1" }]);
    assert.deepEqual(rig.tell({ type: "RequestUpdate", update: "u", name: "set", data: "1" }).events, []);
    assert.equal(rig.machine.state.answerTo("u"), undefined);
    assert.deepEqual(rig.machine.state.updates?.open, [{ update: "u", name: "set", at: 1000 }]);
    rig.take({ type: "answer", update: "u", output: "2" }, { type: "complete" });
    assert.deepEqual(rig.machine.state.updates?.open, []);
    assert.deepEqual(rig.machine.state.answerTo("u"), { type: "UpdateAnswered", update: "u", output: "2", at: 1000 });
    assert.deepEqual(rig.tell({ type: "RequestUpdate", update: "u", name: "set" }).events, [], "also after the end");
  });

  test("after the end everything is refused", () => {
    const rig = CodeRig.started([{ type: "complete" }]);
    for (const request of requests) assert.equal(rig.refusal(request).code, "INSTANCE_STATE", request.type);
    assert.deepEqual(rig.pass(9000).events, []);
  });

  test("what makes sense for a DAG only is refused, with what to do instead", () => {
    const inputs = [
      { type: "DecisionEvaluated", task: 0, attempt: 1, value: { ok: true } },
      { type: "RerunInstance", task: 0 },
      { type: "SucceedTask", task: 0 },
      { type: "SkipTask", task: 0 },
      { type: "UpdateContext", patch: {} },
      { type: "UpdateParams", task: 0, params: "1" },
      { type: "AddSubTask", parent: 0, node: { nodeId: 1 } },
    ];
    for (const input of inputs) {
      const { code, message } = CodeRig.started([activity("a")]).refusal(input);
      assert.equal(code, "INSTANCE_STATE");
      assert.match(message, /is a code workflow: .* fork it to run it again from one of its steps/);
    }
  });

  test("what nobody knows is refused too", () => {
    const unknown: AnyInput = { type: "Sing" };
    assert.equal(CodeRig.started().refusal(unknown).code, "INSTANCE_STATE");
  });
});

test("an end is the same to a parent that asks later", () => {
  const rig = CodeRig.started([{ type: "fail", failure: failureOf("broken") }]);
  assert.deepEqual(rig.machine.tellParent(parent, "Failed"), {
    type: "TellParent",
    parent,
    status: "Failed",
    reason: "broken",
    failure: failureOf("broken"),
  });
});

describe("a task of code that a user stops", () => {
  const stop = (task: number): CodeInput => ({ type: "StopTask", task, reason: "enough" });
  const failure = { type: "TASK_STOPPED", message: "enough", retryable: false };

  test("is aborted and has failed for the code, and another takes its place", () => {
    const steps = [activity("a", { retryCount: 3 }), activity("b")];
    const rig = CodeRig.started(steps, { limits: { concurrentActivities: 1 } });
    rig.begin(0).tell(stop(0));
    assert.deepEqual(rig.events, [
      { type: "TasksStopped", tasks: [0], failure },
      { type: "TasksScheduled", tasks: [1] },
    ]);
    assert.deepEqual(rig.commands, [
      { type: "AbortTasks", attemptIds: ["i:1:0:1"] },
      { type: "RunTasks", tasks: [1] },
    ]);
    assert.equal(rig.succeed(0).dropped, 1);
    assert.equal(rig.machine.state.tasksFailed, 1);
    assert.equal(rig.replayed().tasks, rig.tasks);
    assert.equal(rig.refusal(stop(0)).message, `cannot stop task "a" of instance "i": it has ended in Stopped`);
  });

  test("is not tried again if it waits for its retry, and terminates its child if it has one", () => {
    const rig = CodeRig.started([activity("a", { retryCount: 3 }), child("c")]);
    rig.fail(0).tell(stop(0));
    assert.deepEqual([rig.events, rig.commands], [[{ type: "TasksStopped", tasks: [0], failure }], []]);
    assert.equal(rig.machine.nextWake(), undefined);
    const childId = rig.machine.state.record(1)?.childId;
    rig.tell(stop(1));
    assert.deepEqual(rig.commands, [
      { type: "TellChild", childId, tell: { type: "TerminateInstance", reason: "enough" } },
    ]);
    assert.equal(rig.tasks, "a Stopped, c Stopped");
  });
});
