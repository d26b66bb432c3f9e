import assert from "node:assert/strict";
import { test } from "node:test";
import { Bug } from "../../base/assert.ts";
import type { Event } from "../event.ts";
import type { TaskKind } from "../task-definition.ts";
import { activity, child } from "./code.rig.ts";
import { failureOf } from "../machine.rig.ts";
import { describeStep, identityOf, isLast, recordedIdentity, type Step, taskStepOf } from "./step.ts";

/** Each step, what tells it from others, and the event that it leaves. */
const ordinary: readonly [Step, ReturnType<typeof identityOf>, Event][] = [
  [
    activity("pay", { nodeParams: "1" }),
    { kind: "activity", name: "pay", input: "1" },
    { type: "TaskAdded", node: { nodeId: 0, nodeName: "shown", jobName: "pay", nodeParams: "1" } },
  ],
  [
    activity("pay"),
    { kind: "activity", name: "pay", input: "" },
    { type: "TaskAdded", node: { nodeId: 3, jobName: "pay" } },
  ],
  [
    child("ship", { node: { nodeParams: "[2]" } }),
    { kind: "child", name: "ship", input: "[2]" },
    { type: "TaskAdded", node: { nodeId: 0, nodeType: 3, workflowName: "ship", nodeParams: "[2]" } },
  ],
  [
    child("ship"),
    { kind: "child", name: "ship", input: "" },
    { type: "TaskAdded", node: { nodeId: 0, nodeType: 3, workflowName: "ship" } },
  ],
  [
    { type: "timer", dueAt: 5 },
    { kind: "timer", name: "" },
    { type: "TimerSet", timer: 0, dueAt: 9 },
  ],
  [
    { type: "cancel-timer", timer: 0 },
    { kind: "cancel-timer", name: "" },
    { type: "TimerCanceled", timer: 0 },
  ],
  [
    { type: "event", to: "x", name: "go", data: "1" },
    { kind: "event", name: "go to x" },
    { type: "EventSent", to: "x", name: "go", data: "2" },
  ],
  [
    { type: "custom-status", status: "1" },
    { kind: "custom-status", name: "" },
    { type: "CustomStatusSet", status: null },
  ],
  [
    { type: "patch", patch: "p" },
    { kind: "patch", name: "p" },
    { type: "PatchMarked", patch: "p" },
  ],
  [
    { type: "answer", update: "u", output: "1" },
    { kind: "answer", name: "u" },
    { type: "UpdateAnswered", update: "u", failure: failureOf("no") },
  ],
];

const last: readonly Step[] = [
  { type: "continue", events: [] },
  { type: "complete" },
  { type: "fail", failure: failureOf("no") },
  { type: "cancel", reason: "enough" },
];

test("a step and the event that it leaves are known as the same", () => {
  for (const [step, identity, event] of ordinary) {
    assert.deepEqual(identityOf(step), identity);
    assert.deepEqual(recordedIdentity(event), identity);
    assert.equal(isLast(step), false);
  }
});

test("a last step is told from the others, and has no name", () => {
  for (const step of last) {
    assert.equal(isLast(step), true);
    assert.deepEqual(identityOf(step), { kind: step.type, name: "" });
  }
});

test("arrivals, and what follows from steps by itself, are nobody's step", () => {
  const others: readonly Event[] = [
    { type: "InstanceStarted" },
    { type: "TasksScheduled", tasks: [0] },
    { type: "TaskSucceeded", task: 0, attempt: 1 },
    { type: "TimerFired", timer: 0 },
    { type: "EventRaised", name: "go" },
    { type: "UpdateRequested", update: "u", name: "set" },
    { type: "CancelRequested", reason: "enough" },
    { type: "ChildDetached", task: 0, childId: "c" },
    { type: "ChildStarted", task: 0, attempt: 1, childId: "c" },
    { type: "InstanceEnded", status: "Success" },
  ];
  for (const event of others) assert.equal(recordedIdentity(event), undefined, event.type);
});

test("a node without a name of either kind still has an identity", () => {
  assert.deepEqual(identityOf({ type: "activity", node: { nodeId: 0 } }), { kind: "activity", name: "", input: "" });
});

test("in words: kind, name, and the beginning of a long input", () => {
  assert.equal(describeStep({ kind: "timer", name: "" }), "timer");
  assert.equal(describeStep({ kind: "patch", name: "p" }), 'patch "p"');
  assert.equal(describeStep({ kind: "activity", name: "pay", input: "" }), 'activity "pay"');
  assert.equal(describeStep({ kind: "activity", name: "pay", input: "[1]" }), 'activity "pay" with [1]');
  assert.equal(
    describeStep({ kind: "activity", name: "pay", input: "7".repeat(200) }),
    `activity "pay" with ${"7".repeat(200)}`,
  );
  assert.equal(
    describeStep({ kind: "activity", name: "pay", input: "7".repeat(201) }),
    `activity "pay" with ${"7".repeat(200)}…`,
  );
});

test("code asks for activities and children, and for no decisions", () => {
  assert.deepEqual([taskStepOf("job"), taskStepOf("nested")], ["activity", "child"]);
  for (const kind of ["decision", "future"]) assert.throws(() => taskStepOf(kind as TaskKind), Bug);
});
