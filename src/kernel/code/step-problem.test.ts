import assert from "node:assert/strict";
import { test } from "node:test";
import { CodeState } from "./code-state.ts";
import type { Step } from "./step.ts";
import { findStepProblem } from "./step-problem.ts";

function problemOf(...steps: readonly Step[]): string | undefined {
  const state = new CodeState({ maxConcurrentTasks: Infinity, timeoutMs: undefined });
  state.apply({ type: "TimerSet", timer: 0, dueAt: 5 }, 0);
  state.apply({ type: "UpdateRequested", update: "u", name: "add" }, 0);
  return findStepProblem(steps, state, "@acme/i");
}

test("steps that an instance can take have no problem", () => {
  const problem = problemOf(
    { type: "activity", node: { nodeId: 0, jobName: "j" } },
    { type: "child", node: { nodeId: 1, nodeType: 3, workflowName: "w" }, childId: "@acme/c", isDetached: false },
    { type: "timer", dueAt: 7 },
    { type: "cancel-timer", timer: 1 },
    { type: "answer", update: "u" },
    { type: "event", to: "@acme/other", name: "e" },
    { type: "complete" },
  );
  assert.equal(problem, undefined);
});

test("steps with numbers, ids or an order that cannot be are found", () => {
  const child = { nodeId: 0, nodeType: 3, workflowName: "w" } as const;
  const expected: readonly (readonly [RegExp, readonly Step[]])[] = [
    [/step 0, cancel-timer, is about timer 1/, [{ type: "cancel-timer", timer: 1 }]],
    [/update "v", which is not open/, [{ type: "answer", update: "v" }]],
    [
      /step 1, answer, is about update "u"/,
      [
        { type: "answer", update: "u" },
        { type: "answer", update: "u" },
      ],
    ],
    [/step 0, complete, is not the last/, [{ type: "complete" }, { type: "timer", dueAt: 1 }]],
    [/another namespace/, [{ type: "event", to: "@other/i", name: "e" }]],
    [/another namespace/, [{ type: "cancel-instance", to: "i", reason: "r" }]],
    [/id of another namespace/, [{ type: "child", node: child, childId: "c", isDetached: true }]],
    [/another kind of task/, [{ type: "activity", node: child }]],
    [/another kind of task/, [{ type: "child", node: { nodeId: 0, nodeType: 2 }, isDetached: false }]],
    [
      /step 0, child, starts a workflow that is the engine's own/,
      [{ type: "child", node: { ...child, workflowName: "heddle.schedule", workflowVersion: "1" }, isDetached: true }],
    ],
    [/does not say what to run/, [{ type: "activity", node: { nodeId: 0 } }]],
  ];
  for (const [pattern, steps] of expected) assert.match(problemOf(...steps) ?? "", pattern);
});
