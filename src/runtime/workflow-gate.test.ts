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

  test("counts a reopened instance above the maximum: the next ones wait until the count is below it again", () => {
    const { gates, admitted } = new Rig();
    for (const id of ["a", "b", "c"]) gates.enter("w", id, atMost(2));
    gates.reenter("w", "z");
    gates.leave("w", "a");
    assert.deepEqual(admitted, [], "b and z run");
    assert.deepEqual(gates.enter("w", "d", atMost(2, "fail")), { refuse: "fail", reason: "too many instances(4>2)" });
    gates.leave("w", "z");
    assert.deepEqual(admitted, ["w c"]);
  });

  test("counts reopened instances above the maximum after a restart too", () => {
    const { gates, admitted } = new Rig([
      { id: "a", isWaiting: false },
      { id: "z", isWaiting: false },
      { id: "b", isWaiting: true },
    ]);
    gates.restore("w", atMost(1));
    gates.leave("w", "a");
    assert.deepEqual(admitted, []);
    gates.leave("w", "z");
    assert.deepEqual(admitted, ["w b"]);
  });

  test("agrees with a model through starts, ends, reopenings and restarts", () => {
    const step = fc.record({
      what: fc.constantFrom("start", "start", "start", "end", "end", "reopen", "restart"),
      who: fc.nat(30),
      policy: fc.constantFrom("queue", "queue", "skip", "fail"),
    });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 4 }), fc.array(step, { maxLength: 100 }), (max, steps) => {
        const model = new GateModel(max);
        for (const { what, who, policy } of steps) {
          if (what === "start") model.start(policy);
          else if (what === "restart") model.restart();
          else model[what](who);
          model.check();
        }
      }),
    );
  });
});

/** Drives a gate, and says what it has to do by the rule: starts are held up by the maximum, reopenings only count. */
class GateModel {
  readonly #max: number;
  readonly #running = new Set<string>();
  readonly #waiting: string[] = [];
  readonly #ended: string[] = [];
  #gates: WorkflowGates;
  #count = 0;

  constructor(max: number) {
    this.#max = max;
    this.#gates = this.#open();
  }

  start(policy: OverflowPolicy): void {
    const id = `i${this.#count++}`;
    const others = this.#running.size + this.#waiting.length;
    const admission = this.#gates.enter("w", id, atMost(this.#max, policy));
    if (others < this.#max) {
      assert.equal(admission, "run");
      this.#running.add(id);
    } else if (policy === "queue") {
      assert.equal(admission, "queue");
      this.#waiting.push(id);
    } else {
      assert.deepEqual(admission, { refuse: policy, reason: `too many instances(${others + 1}>${this.#max})` });
      this.#ended.push(id);
      this.#gates.leave("w", id);
    }
  }

  /** Ends an instance that runs or waits. */
  end(who: number): void {
    const here = [...this.#running, ...this.#waiting];
    const id = here[who % Math.max(1, here.length)];
    if (id === undefined) return;
    if (!this.#running.delete(id)) this.#waiting.splice(this.#waiting.indexOf(id), 1);
    this.#ended.push(id);
    this.#gates.leave("w", id);
  }

  /** Reopens an instance that has ended, or was refused. */
  reopen(who: number): void {
    const [id] = this.#ended.splice(who % Math.max(1, this.#ended.length), 1);
    if (id === undefined) return;
    this.#running.add(id);
    this.#gates.reenter("w", id);
  }

  restart(): void {
    this.#gates = this.#open();
    if (this.#waiting.length > 0) this.#gates.restore("w", atMost(this.#max));
  }

  check(): void {
    assert.ok(this.#waiting.length === 0 || this.#running.size >= this.#max, "nobody waits while there is a place");
  }

  #open(): WorkflowGates {
    return new WorkflowGates({
      unfinished: () => [
        ...[...this.#running].map((id) => ({ id, isWaiting: false })),
        ...this.#waiting.map((id) => ({ id, isWaiting: true })),
      ],
      admit: (_, id) => {
        assert.equal(id, this.#waiting.shift(), "in order of arrival");
        assert.ok(this.#running.size < this.#max, "nobody is admitted above the maximum");
        this.#running.add(id);
      },
    });
  }
}
