import { deepEqual, equal } from "node:assert/strict";
import { describe, test } from "node:test";
import type { LoopWorkEntry, LoopWorkPhase } from "./loop-work-table.ts";
import { StallDetector, type StallLimits, suspectsOf } from "./stall-detector.ts";

/** The actions other than "none", as `<tick>: <action> <stalledMs>`, ticks counted from 1. */
function actions(limits: StallLimits, heartbeats: readonly number[]): string[] {
  const detector = new StallDetector(limits);
  return heartbeats.flatMap((heartbeat, index) => {
    const { action, stalledMs } = detector.tick(heartbeat);
    return action === "none" ? [] : [`${index + 1}: ${action} ${stalledMs}`];
  });
}

const still = (heartbeat: number, ticks: number): number[] => Array.from({ length: ticks }, () => heartbeat);

describe("what the watchdog does about a heartbeat", () => {
  const limits: StallLimits = { warnAfterMs: 2000, endAfterMs: 5000 };

  test("nothing while it changes, at whatever pace below the limit", () => {
    deepEqual(actions(limits, [1, 1, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 4, 4]), []);
  });

  test("the first tick only learns the heartbeat", () => {
    deepEqual(actions(limits, still(7, 8)), []);
  });

  test("a stall is reported once, 8 ticks of 250 ms after its last change", () => {
    deepEqual(actions({ ...limits, endAfterMs: 0 }, still(1, 100)), ["9: warn 2000"]);
  });

  test("each stall is reported", () => {
    deepEqual(actions(limits, [...still(1, 10), ...still(2, 10)]), ["9: warn 2000", "19: warn 2000"]);
  });

  test("the process is ended at the limit", () => {
    deepEqual(actions(limits, still(1, 21)), ["9: warn 2000", "21: end 5000"]);
  });

  test("stalls do not add up", () => {
    deepEqual(actions({ warnAfterMs: 0, endAfterMs: 5000 }, [...still(1, 20), ...still(2, 20), ...still(3, 20)]), []);
  });

  test("a limit of 0 means never", () => {
    deepEqual(actions({ warnAfterMs: 0, endAfterMs: 0 }, still(1, 1000)), []);
  });

  test("a limit that comes before the warning needs none", () => {
    deepEqual(actions({ warnAfterMs: 2000, endAfterMs: 500 }, still(1, 3)), ["3: end 500"]);
  });
});

describe("who may block the loop", () => {
  const entry = (step: string, phase: LoopWorkPhase): LoopWorkEntry => {
    return { kind: "job", instanceId: "i", workflowName: "w", step, phase };
  };
  const steps = (entries: readonly LoopWorkEntry[]): string[] => suspectsOf(entries, 0).named.map(({ step }) => step);

  test("a call that has not returned, before all others", () => {
    deepEqual(steps([entry("a", "waiting"), entry("b", "reacting"), entry("c", "running")]), ["c"]);
  });

  test("all code whose promises are settling, before jobs that await something", () => {
    deepEqual(steps([entry("a", "waiting"), entry("b", "reacting"), entry("c", "reacting")]), ["b", "c"]);
  });

  test("jobs that await something, if there is nothing else", () => {
    deepEqual(steps([entry("a", "waiting"), entry("b", "waiting")]), ["a", "b"]);
    deepEqual(steps([]), []);
  });

  test("work without a name is counted, unless a call has not returned", () => {
    equal(suspectsOf([entry("a", "waiting")], 3).count, 4);
    equal(suspectsOf([entry("a", "running")], 3).count, 1);
    equal(suspectsOf([], 3).count, 3);
  });
});
