import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import type { MaxInstances, OverflowPolicy } from "../kernel/dag/dag-spec.ts";
import { type UnfinishedInstance, WorkflowGates } from "./workflow-gate.ts";

class Rig {
  readonly admitted: string[] = [];
  readonly gates: WorkflowGates;

  constructor(unfinished: readonly UnfinishedInstance[] = []) {
    this.gates = new WorkflowGates({
      unfinished: (workflow) => (workflow === "w" ? unfinished : []),
      admit: (workflow, id) => void this.admitted.push(`${workflow} ${id}`),
    });
  }
}

function atMost(max: number, policy: OverflowPolicy = "queue"): MaxInstances {
  return { max, policy };
}

describe("a workflow's gate", () => {
  test("lets everybody in where there is no maximum", () => {
    const { gates } = new Rig();
    for (const id of ["a", "b", "c"]) assert.equal(gates.enter("w", id, undefined), "run");
    assert.equal(gates.enter("w", "d", atMost(0)), "run");
    assert.equal(gates.fullFor("w"), undefined);
  });

  test("queues above the maximum and admits in order of arrival", () => {
    const { gates, admitted } = new Rig();
    assert.deepEqual(
      ["a", "b", "c", "d"].map((id) => gates.enter("w", id, atMost(2))),
      ["run", "run", "queue", "queue"],
    );
    gates.leave("w", "b");
    assert.deepEqual(admitted, ["w c"]);
    gates.leave("w", "a");
    assert.deepEqual(admitted, ["w c", "w d"]);
  });

  test("refuses above the maximum, and says how many there were", () => {
    const { gates } = new Rig();
    gates.enter("w", "a", atMost(1, "skip"));
    assert.deepEqual(gates.enter("w", "b", atMost(1, "skip")), { refuse: "skip", reason: "too many instances(2>1)" });
    assert.deepEqual(gates.enter("w", "c", atMost(1, "fail")), { refuse: "fail", reason: "too many instances(2>1)" });
    gates.leave("w", "b");
    gates.leave("w", "a");
    assert.equal(gates.enter("w", "d", atMost(1, "fail")), "run");
  });

  test("knows those who were there before it", () => {
    const { gates, admitted } = new Rig([
      { id: "a", isWaiting: false },
      { id: "b", isWaiting: true },
    ]);
    assert.equal(gates.enter("w", "c", atMost(1)), "queue");
    gates.leave("w", "a");
    assert.deepEqual(admitted, ["w b"]);
  });

  test("after a restart it goes on admitting", () => {
    const { gates, admitted } = new Rig([
      { id: "a", isWaiting: true },
      { id: "b", isWaiting: true },
    ]);
    gates.restore("w", atMost(1));
    assert.deepEqual(admitted, ["w a"]);
    gates.leave("w", "a");
    assert.deepEqual(admitted, ["w a", "w b"]);
  });

  test("admits all who wait when the newest definition has no maximum any more", () => {
    const { gates, admitted } = new Rig();
    for (const id of ["a", "b", "c"]) gates.enter("w", id, atMost(1));
    assert.equal(gates.enter("w", "d", undefined), "run");
    gates.leave("w", "a");
    assert.deepEqual(admitted, ["w b", "w c"]);
  });

  test("one that leaves while it waits is not admitted", () => {
    const { gates, admitted } = new Rig();
    for (const id of ["a", "b", "c"]) gates.enter("w", id, atMost(1));
    gates.leave("w", "b");
    gates.leave("w", "a");
    assert.deepEqual(admitted, ["w c"]);
  });

  test("one that was left out waits again, or is admitted if there is a place", () => {
    const { gates, admitted } = new Rig();
    for (const id of ["a", "b"]) gates.enter("w", id, atMost(1));
    gates.leave("w", "b");
    gates.rejoin("w", "b", atMost(1));
    gates.rejoin("w", "b", atMost(1));
    assert.deepEqual(admitted, []);
    gates.leave("w", "a");
    assert.deepEqual(admitted, ["w b"]);
    gates.rejoin("w", "b", atMost(1));
    assert.deepEqual(admitted, ["w b"], "it has its place already");
  });

  test("is full for one that is reopened, and counts it", () => {
    const { gates } = new Rig();
    gates.enter("w", "a", atMost(2));
    assert.equal(gates.fullFor("w"), undefined);
    gates.reenter("w", "b");
    assert.equal(gates.fullFor("w"), 2);
    gates.leave("w", "a");
    assert.equal(gates.fullFor("w"), undefined);
  });

  test("never admits more than the maximum, and forgets nobody", () => {
    const step = fc.record({ enters: fc.boolean(), who: fc.nat(30) });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 4 }), fc.array(step, { maxLength: 100 }), (max, steps) => {
        const running = new Set<string>();
        const waiting: string[] = [];
        const gates = new WorkflowGates({
          unfinished: () => [],
          admit: (_, id) => {
            assert.equal(id, waiting.shift(), "in order of arrival");
            running.add(id);
          },
        });
        let next = 0;
        for (const { enters, who } of steps) {
          if (enters) {
            const id = `i${next++}`;
            if (gates.enter("w", id, atMost(max)) === "run") running.add(id);
            else waiting.push(id);
          } else {
            const here = [...running, ...waiting];
            const id = here[who % Math.max(1, here.length)];
            if (id === undefined) continue;
            running.delete(id);
            if (waiting.includes(id)) waiting.splice(waiting.indexOf(id), 1);
            gates.leave("w", id);
          }
          assert.ok(running.size <= max);
          assert.ok(waiting.length === 0 || running.size === max, "nobody waits while there is a place");
        }
      }),
    );
  });
});
