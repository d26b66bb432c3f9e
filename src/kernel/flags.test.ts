import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hasCode } from "../base/error.ts";
import { activity, CodeRig } from "./code/code.rig.ts";
import { CodeMachine } from "./code/code-machine.ts";
import { DagMachine } from "./dag/dag-machine.ts";
import { specOf } from "./dag/dag.rig.ts";
import { Graph } from "./dag/graph.ts";
import type { Event } from "./event.ts";
import { engineFlags, knownFlags } from "./flags.ts";
import type { StartInstance } from "./input.ts";
import { defaultLimits } from "./machine.ts";
import { Turn } from "./turn.ts";

const start: StartInstance = {
  type: "StartInstance",
  workflow: "w",
  version: "1",
  generation: 1,
  context: {},
  trigger: "api",
  admission: "run",
};

/** A machine of each kind whose engine knows these flags. */
function machines(flags: readonly number[]): (DagMachine | CodeMachine)[] {
  return [
    new DagMachine(new Graph(specOf("a b")), "i", 7, defaultLimits, flags),
    new CodeMachine({ id: "i", key: 7, limits: defaultLimits, timeoutMs: undefined, flags }),
  ];
}

function startOf(machine: DagMachine | CodeMachine, input: StartInstance = start): Event[] {
  const turn = new Turn(1000, 0);
  machine.handle(input, turn);
  return turn.events;
}

function flagsOf([event]: readonly Event[]): readonly number[] | undefined {
  assert.ok(event?.type === "InstanceCreated" || event?.type === "InstanceContinued");
  return event.flags;
}

describe("flags", () => {
  test("have numbers from 1 without gaps, in order, each with its story", () => {
    assert.deepEqual(
      knownFlags,
      knownFlags.map((_, place) => place + 1),
    );
    for (const { since, story } of Object.values(engineFlags)) assert.ok(since !== "" && story !== "");
  });

  test("that the engine knows are recorded in the first event of an instance", () => {
    for (const machine of machines([1, 2])) {
      assert.deepEqual(flagsOf(startOf(machine)), [1, 2]);
      assert.deepEqual(
        [1, 2, 3].map((flag) => machine.state.hasFlag(flag)),
        [true, true, false],
      );
    }
  });

  test("leave nothing in the history where there are none", () => {
    for (const machine of machines([])) assert.ok(!("flags" in (startOf(machine)[0] as Event)));
  });

  test("of an instance stay as recorded when a newer engine replays its history", () => {
    const [oldDag, oldCode] = machines([]);
    for (const [place, old] of [oldDag, oldCode].entries()) {
      const history = startOf(old as DagMachine | CodeMachine);
      const newer = machines([1])[place] as DagMachine | CodeMachine;
      for (const event of history) newer.apply(event, 1000);
      assert.equal(newer.state.hasFlag(1), false);
      assert.equal(newer.status, "Running");
    }
  });

  test("that this engine does not know keep it from running the instance", () => {
    for (const [place, machine] of machines([1, 2]).entries()) {
      const [created] = startOf(machine);
      const older = machines([1])[place] as DagMachine | CodeMachine;
      assert.throws(
        () => older.apply(created as Event, 1000),
        (error) => hasCode(error, "STORE_NEWER") && /instance "i" .* does not know: 2;/.test(error.message),
      );
      assert.equal(older.state.generation, 0);
    }
  });

  test("are those of the engine again when code continues as new or is retried", () => {
    for (const last of [
      { type: "continue", events: [] },
      { type: "fail", failure: failure() },
    ] as const) {
      const [, old] = machines([]) as [DagMachine, CodeMachine];
      const newer = new CodeMachine({ id: "i", key: 7, limits: defaultLimits, timeoutMs: undefined, flags: [1] });
      for (const event of startOf(old)) newer.apply(event, 1000);
      const turn = new Turn(2000, 0);
      newer.handle({ type: "StepsTaken", steps: [last] }, turn);
      if (last.type === "fail") newer.handle({ type: "RetryInstance" }, turn);
      assert.deepEqual(flagsOf(turn.events.filter(({ type }) => type === "InstanceContinued")), [1]);
      assert.equal(newer.state.hasFlag(1), true);
    }
  });

  test("of a fork are those of its source", () => {
    const source = { id: "s", generation: 1 };
    const fork = (flags?: readonly number[]): StartInstance => ({
      ...start,
      fork: { from: source, events: [], ...(flags && { flags }) },
    });
    const forkOf = (flags?: readonly number[]): readonly number[] | undefined =>
      flagsOf(startOf(machines([1, 2])[1] as CodeMachine, fork(flags)));
    assert.deepEqual([forkOf([1]), forkOf()], [[1], undefined]);
  });

  test("by default are all that the engine knows", () => {
    assert.deepEqual(CodeRig.started([activity("a")]).machine.state.flags, knownFlags);
  });
});

function failure(): { type: string; message: string; retryable: boolean } {
  return { type: "Error", message: "broken", retryable: false };
}
