/** The trace that an instance belongs to is written down with it, and goes on with what follows from it. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { activity, CodeRig } from "./code/code.rig.ts";
import { DagRig, specOf } from "./dag/dag.rig.ts";

const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

describe("the trace of an instance", () => {
  test("is on record with the creation of a DAG", () => {
    const rig = new DagRig(specOf("a")).start({ traceparent });
    assert.deepEqual(tracesOf(rig), [["InstanceCreated", traceparent]]);
    assert.equal(rig.machine.state.traceparent, traceparent);
  });

  test("is on record with the creation of code, and stays with a retry and a new generation", () => {
    const rig = new CodeRig().start({ traceparent }).take(activity("a"), { type: "continue", events: [] });
    rig
      .take({ type: "fail", failure: { type: "Error", message: "no", retryable: true } })
      .tell({ type: "RetryInstance" });
    assert.deepEqual(tracesOf(rig), [
      ["InstanceCreated", traceparent],
      ["InstanceContinued", traceparent],
      ["InstanceContinued", traceparent],
    ]);
    assert.equal(rig.machine.state.traceparent, traceparent);
  });
});

function tracesOf({ history }: CodeRig | DagRig): (readonly [string, string | undefined])[] {
  return history.flatMap(({ event }) =>
    event.type === "InstanceCreated" || event.type === "InstanceContinued" ? [[event.type, event.traceparent]] : [],
  );
}
