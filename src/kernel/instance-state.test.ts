import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { activity, CodeRig } from "./code/code.rig.ts";
import { DagRig } from "./dag/dag.rig.ts";
import type { SharedInput } from "./input.ts";
import type { InstanceState } from "./instance-state.ts";
import type { Machine } from "./machine.ts";

const parent = { id: "p", key: 1, generation: 2, task: 4, attempt: 1, depth: 3 };

/** One of each kind, with one task under way. */
function both(): { readonly machine: Machine; tell(input: SharedInput): unknown }[] {
  return [DagRig.started("a", { domain: "d" }), CodeRig.started([activity("a")])];
}

describe("instances of both kinds", () => {
  test("are asked the same questions", () => {
    for (const { machine } of both()) {
      const { state }: { state: InstanceState } = machine;
      assert.deepEqual(
        [state.workflow, state.version, state.trigger, state.parent, state.status, state.generation],
        ["w", "1", "api", undefined, "Running", 1],
      );
      assert.deepEqual(
        [state.createdAt, state.startedAt, state.endedAt, state.updatedAt],
        [1000, 1000, undefined, 1000],
      );
      assert.deepEqual([state.size, state.inFlight, state.tasksInFlight(), state.attempt(0)], [1, 1, [0], 1]);
      assert.deepEqual(
        [state.find("a"), state.find("b"), state.parentOf(0), state.rank(0)],
        [0, undefined, undefined, 0],
      );
      assert.deepEqual([state.pausing, state.failing, state.reason], [false, false, undefined]);
      assert.deepEqual(machine.jobsInFlight(), [0]);
    }
  });

  test("say where their tasks run, where it is the same for all of them", () => {
    assert.deepEqual(
      both().map(({ machine }) => machine.state.domain),
      ["d", undefined],
    );
  });

  test("tell a parent that asks how they ended, and why", () => {
    for (const rig of both()) {
      rig.tell({ type: "TerminateInstance", reason: "enough" });
      const told = rig.machine.tellParent(parent, "Terminated");
      assert.deepEqual(
        [told.type, told.parent, told.status, told.reason],
        ["TellParent", parent, "Terminated", "enough"],
      );
    }
  });
});

describe("a DAG", () => {
  test("refuses what is said to code", () => {
    const inputs = [
      { type: "StepsTaken", steps: [] },
      { type: "StartReaction", losses: 1 },
      { type: "EndReaction", losses: 1 },
      { type: "RaiseEvent", name: "go" },
      { type: "RequestUpdate", update: "u", name: "set" },
    ];
    for (const input of inputs) {
      assert.deepEqual(DagRig.started("a").refusal(input), {
        code: "INSTANCE_STATE",
        message: 'instance "i" is a DAG: events and updates are for code workflows',
      });
    }
  });

  test("that is asked to end is terminated: it has nothing to undo", () => {
    const rig = DagRig.started("a").tell({ type: "CancelInstance", reason: "enough" });
    assert.deepEqual([rig.status, rig.machine.state.reason], ["Terminated", "enough"]);
  });
});
