import { test } from "node:test";
import type { Event } from "../../../src/kernel/event.ts";
import type { JobRun } from "../evidence.ts";
import { created, EvidenceBuilder, solo } from "./evidence-builder.ts";
import { expectViolations } from "./expect-violations.ts";
import { checkHeartbeats } from "./heartbeats.ts";

const params = { failures: 1, fallsSilent: true, timeoutMs: 1000 };
const failed = { type: "TaskFailed", task: 0, attempt: 1, retryAt: 1 } as const;
const broken = { type: "Error", message: "no", retryable: true };
const silent = { type: "HEARTBEAT_TIMEOUT", message: "silent", retryable: true };

/** An attempt that has sent two heartbeats. */
function begun(more: JobRun["params"] = {}) {
  const builder = new EvidenceBuilder();
  const life = builder.life();
  builder.claim(life);
  builder.turn(life, 1, created(builder, solo));
  const run = builder.run(life, "a:1:0:1", { ...params, ...more });
  run.heartbeats.push({ ...builder.moment(), details: 1 }, { ...builder.moment(), details: 2 });
  const again = (found: unknown): void => {
    builder.lists.runs.push({ ...builder.run(life, "a:1:0:2", params), found });
    builder.lists.runs.splice(-2, 1);
  };
  return { builder, run, again, record: (...events: readonly Event[]) => builder.turn(life, 1, events) };
}

test("details that the next attempt finds were left by an earlier one", () => {
  for (const [found, ...wrong] of [[2], [1, /found 1, which is not what was left/], [undefined, /found undefined/]]) {
    const { builder, run, record, again } = begun();
    builder.ended(run, "failed");
    record({ ...failed, failure: broken, heartbeat: "2" });
    again(found);
    expectViolations(checkHeartbeats, builder, ...(wrong as RegExp[]));
  }
});

test("details in the history were sent by that attempt, the last ones if it has failed by itself", () => {
  const lost = begun();
  lost.record({ type: "TaskInterrupted", task: 0, attempt: 1, heartbeat: "1" });
  expectViolations(checkHeartbeats, lost.builder);
  const stopped = begun();
  stopped.record({ type: "TasksWithdrawn", tasks: [0], heartbeats: { 0: "3" } });
  expectViolations(checkHeartbeats, stopped.builder, /has details that it did not send: 3/);
  const forgotten = begun();
  forgotten.builder.ended(forgotten.run, "failed");
  forgotten.record({ ...failed, failure: broken, heartbeat: "1" });
  expectViolations(checkHeartbeats, forgotten.builder, /failed, and its last details are lost/);
});

test("a heartbeat timeout comes after silence", () => {
  for (const { afterMs, more = {}, wrong = [] } of [
    { afterMs: 1000 },
    { afterMs: 900, wrong: [/had a heartbeat timeout early/] },
    { afterMs: 1000, more: { fallsSilent: false }, wrong: [/timed out, and was never silent/] },
    { afterMs: 1000, more: { failures: 0 }, wrong: [/timed out, and was never silent/] },
  ]) {
    const { builder, record } = begun(more);
    builder.now += afterMs;
    record({ ...failed, failure: silent, heartbeat: "2", timedOut: true });
    expectViolations(checkHeartbeats, builder, ...wrong);
  }
});
