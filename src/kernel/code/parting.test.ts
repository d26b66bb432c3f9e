import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { child, CodeRig } from "./code.rig.ts";
import { failureOf } from "../machine.rig.ts";
import { RecordedSteps } from "./recorded-steps.ts";

describe("a child that has not ended when its parent does", () => {
  const family = (isDetached = false): CodeRig =>
    CodeRig.started([
      child("a", { childId: "a", isDetached }),
      child("b", { childId: "b", isDetached, node: { whenParentEnds: "terminate" } }),
      child("c", { childId: "c", isDetached, node: { whenParentEnds: "cancel" } }),
      child("d", { childId: "d", isDetached, node: { whenParentEnds: "leave" } }),
    ]);
  const told = ({ commands }: CodeRig): string[] =>
    commands.flatMap((command) => (command.type === "TellChild" ? `${command.childId} ${command.tell.type}` : []));
  const asSaid = ["a TerminateInstance", "b TerminateInstance", "c CancelInstance"];

  test("is terminated, asked to end or left alone, as was said; in a new beginning too", () => {
    assert.deepEqual(told(family().take({ type: "complete" })), asSaid);
    assert.deepEqual(told(family().tell({ type: "TerminateInstance", reason: "enough" })), asSaid);
    assert.deepEqual(told(family().take({ type: "continue", events: [] })), asSaid);
  });

  test("is terminated, asked to end or left alone, as was said, also if nobody waits for it; but not in a new beginning", () => {
    assert.deepEqual(told(family(true).take({ type: "complete" })), asSaid);
    assert.deepEqual(told(family(true).take({ type: "fail", failure: failureOf("no") })), asSaid);
    assert.deepEqual(told(family(true).tell({ type: "TerminateInstance", reason: "enough" })), asSaid);
    const rig = family(true).take({ type: "continue", events: [] });
    assert.deepEqual(told(rig), []);
    assert.deepEqual(told(rig.take({ type: "complete" })), asSaid);
  });

  test("hears, if nobody waits for it, of a pause, a resume and a request to end, unless it is left alone", () => {
    const rig = family(true);
    const all = (type: string): string[] => ["a", "b", "c"].map((id) => `${id} ${type}`);
    assert.deepEqual(told(rig.tell({ type: "PauseInstance" })), all("PauseInstance"));
    assert.deepEqual(told(rig.tell({ type: "ResumeInstance" })), all("ResumeInstance"));
    assert.deepEqual(told(rig.tell({ type: "CancelInstance", reason: "enough" })), all("CancelInstance"));
    assert.deepEqual(told(rig.take({ type: "cancel", reason: "enough" })), [], "once is enough");
  });

  test("hears of a pause, a resume and a request to end in any case", () => {
    const rig = family();
    const all = (type: string): string[] => ["a", "b", "c", "d"].map((id) => `${id} ${type}`);
    assert.deepEqual(told(rig.tell({ type: "PauseInstance" })), all("PauseInstance"));
    assert.deepEqual(told(rig.tell({ type: "ResumeInstance" })), all("ResumeInstance"));
    assert.deepEqual(told(rig.tell({ type: "CancelInstance", reason: "enough" })), all("CancelInstance"));
  });
});

describe("another instance that code asks to end", () => {
  const step = { type: "cancel-instance", to: "x", reason: "enough" } as const;

  test("is told so, and the history says it", () => {
    const rig = CodeRig.started([step]);
    assert.deepEqual(rig.events.slice(-1), [{ type: "CancelSent", to: "x", reason: "enough" }]);
    assert.deepEqual(rig.commands, [{ type: "CancelOther", to: "x", reason: "enough" }]);
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
