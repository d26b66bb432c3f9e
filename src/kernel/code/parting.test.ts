import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { child, CodeRig } from "./code-rig.test.ts";
import { RecordedSteps } from "./recorded-steps.ts";

describe("a child that has not ended when its parent does", () => {
  const family = (): CodeRig =>
    CodeRig.started([
      child("a", { childId: "a" }),
      child("b", { childId: "b", node: { whenParentEnds: "terminate" } }),
      child("c", { childId: "c", node: { whenParentEnds: "cancel" } }),
      child("d", { childId: "d", node: { whenParentEnds: "leave" } }),
    ]);
  const told = ({ commands }: CodeRig): string[] =>
    commands.flatMap((command) => (command.type === "TellChild" ? `${command.childId} ${command.tell.type}` : []));
  const asSaid = ["a CancelWorkflow", "b CancelWorkflow", "c RequestCancel"];

  test("is terminated, asked to end or left alone, as was said; in a new beginning too", () => {
    assert.deepEqual(told(family().take({ type: "complete" })), asSaid);
    assert.deepEqual(told(family().tell({ type: "CancelWorkflow", reason: "enough" })), asSaid);
    assert.deepEqual(told(family().take({ type: "continue", events: [] })), asSaid);
  });

  test("hears of a pause, a resume and a request to end in any case", () => {
    const rig = family();
    const all = (type: string): string[] => ["a", "b", "c", "d"].map((id) => `${id} ${type}`);
    assert.deepEqual(told(rig.tell({ type: "PauseWorkflow" })), all("PauseWorkflow"));
    assert.deepEqual(told(rig.tell({ type: "ResumeWorkflow" })), all("ResumeWorkflow"));
    assert.deepEqual(told(rig.tell({ type: "RequestCancel", reason: "enough" })), all("RequestCancel"));
  });
});

describe("another instance that code asks to end", () => {
  const step = { type: "cancel-instance", to: "x", reason: "enough" } as const;

  test("is told so, and the history says it", () => {
    const rig = CodeRig.started([step]);
    assert.deepEqual(rig.events.slice(-1), [{ type: "CancelSent", to: "x", reason: "enough" }]);
    const tell = { type: "RequestCancel", reason: "enough" };
    assert.deepEqual(rig.commands, [{ type: "TellChild", childId: "x", tell }]);
    assert.equal(rig.replayed().machine.status, "Running");
  });

  test("is known again in a replay", () => {
    const recorded = new RecordedSteps();
    recorded.add({ type: "CancelSent", to: "x", reason: "enough" }, { isCopied: false });
    recorded.add({ type: "CancelSent", to: "x", reason: "enough" }, { isCopied: false });
    assert.equal(recorded.match(step), true);
    assert.throws(() => recorded.match({ ...step, to: "y" }), /cancel-instance "x".*cancel-instance "y"/);
  });
});
