import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hasCode } from "../../base/error.ts";
import type { Event } from "../event.ts";
import { activity, timer } from "./code.rig.ts";
import { failureOf } from "../machine.rig.ts";
import { RecordedSteps } from "./recorded-steps.ts";

const added = (jobName: string, nodeParams?: string): Event => ({
  type: "TaskAdded",
  node: { nodeId: 0, jobName, ...(nodeParams !== undefined && { nodeParams }) },
});

function recorded(events: readonly Event[], isCopied = false): RecordedSteps {
  const steps = new RecordedSteps();
  for (const event of events) steps.add(event, { isCopied });
  return steps;
}

function changed(sentence: string): (error: unknown) => boolean {
  return (error) => hasCode(error, "WORKFLOW_CHANGED") && error.message.includes(sentence);
}

describe("steps on record", () => {
  test("are matched in order, whatever arrived between them", () => {
    const steps = recorded([
      added("a", "1"),
      { type: "TaskSucceeded", task: 0, attempt: 1 },
      { type: "TimerSet", timer: 0, dueAt: 5 },
    ]);
    assert.equal(steps.match(activity("a", { nodeParams: "1" })), true);
    assert.equal(steps.match(timer(7)), true, "when a timer is due is the history's to say");
    steps.refuseMissing();
    assert.equal(steps.match(activity("b")), false, "what comes after the record is new");
    assert.equal(steps.match({ type: "complete" }), false);
    steps.refuseMissing();
  });

  test("of another kind, name or input say that the code has changed, at which step, and how", () => {
    const first = added("a", "1");
    for (const [step, actual] of [
      [timer(1), "timer"],
      [activity("b", { nodeParams: "1" }), 'activity "b" with 1'],
      [activity("a", { nodeParams: "2" }), 'activity "a" with 2'],
      [activity("a"), 'activity "a"'],
    ] as const) {
      const sentence = `step 0 is on record as activity "a" with 1, but the code now asks for ${actual}; deploy`;
      assert.throws(() => recorded([first]).match(step), changed(sentence));
    }
  });

  test("show what the code has thrown, before and after it undoes something", () => {
    const thrown = failureOf("new bug", { type: "TypeError" });
    const fail = { type: "fail", failure: thrown } as const;
    assert.throws(
      () => recorded([added("a")]).match(fail, thrown),
      changed('step 0 is on record as activity "a", but the code now throws TypeError: new bug; deploy'),
    );
    assert.throws(
      () => recorded([added("a")]).match(activity("undo"), thrown),
      changed('but the code now throws TypeError: new bug and asks for activity "undo"; deploy'),
    );
  });

  test("are none of those that set the custom status: it may be set more or less often", () => {
    const status = { type: "custom-status", status: "1" } as const;
    const steps = recorded([{ type: "CustomStatusSet", status: "1" }, added("a"), added("b")]);
    assert.equal(steps.match(activity("a")), true);
    assert.equal(steps.match(status), true, "one is on record");
    assert.equal(steps.match(status), false, "another is new");
    assert.equal(steps.match(activity("b")), true);
    recorded([{ type: "CustomStatusSet", status: "1" }]).refuseMissing();
  });

  test("count from 0, and the sentence says what to do", () => {
    const steps = recorded([added("a"), added("b")]);
    steps.match(activity("a"));
    assert.throws(() => steps.match(activity("c")), changed('step 1 is on record as activity "b"'));
    assert.throws(() => steps.match(activity("c")), changed("ctx.patched(), and resume it"));
  });

  test("that the code does not come to are missed", () => {
    const steps = recorded([added("a"), added("b")]);
    steps.match(activity("a"));
    assert.throws(
      () => steps.refuseMissing(),
      changed('step 1 is on record as activity "b", but the code now asks for nothing'),
    );
  });

  test("cannot come after the end", () => {
    for (const last of [{ type: "complete" }, { type: "continue", events: [] }] as const) {
      assert.throws(() => recorded([added("a")]).match(last), changed(`now asks for ${last.type}`));
    }
  });

  test("that were copied may have had another input, but no other name", () => {
    const copied = recorded([added("a", '"i/1"')], true);
    assert.equal(copied.match(activity("a", { nodeParams: '"j/1"' })), true);
    assert.throws(() => recorded([added("a")], true).match(activity("b")), changed('activity "b"'));
  });
});
