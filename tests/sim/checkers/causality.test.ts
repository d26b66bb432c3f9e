import { test } from "node:test";
import type { Event } from "../../../src/kernel/event.ts";
import { epochMs } from "../clock.ts";
import { code } from "../code-workflows.ts";
import { expectViolations } from "./expect-violations.ts";
import { checkCausality } from "./causality.ts";
import { created, createdCode, goodRun, EvidenceBuilder, solo } from "./evidence-builder.ts";

test("a job that runs before its scheduling is durable", () => {
  const builder = new EvidenceBuilder();
  const life = builder.life();
  builder.run(life, "a:1:0:1");
  builder.turn(life, 1, created(builder, solo));
  expectViolations(checkCausality, builder, /a:1:0:1 ran before its scheduling was durable/);
});

test("a job that nobody scheduled", () => {
  const { builder, life } = goodRun();
  builder.run(life, "a:1:0:7");
  builder.run(life, "z:1:0:1");
  expectViolations(checkCausality, builder, /its history does not know of it/, /no history knows its instance/);
});

test("a job that runs again after its task has succeeded", () => {
  const { builder, life } = goodRun();
  builder.run(life, "a:1:0:1");
  expectViolations(checkCausality, builder, /ran 0 ms after it had succeeded/, /ran after its task had succeeded/);
});

test("a job that starts while its instance is paused", () => {
  const builder = new EvidenceBuilder();
  const life = builder.life();
  builder.turn(life, 1, created(builder, solo));
  builder.turn(life, 1, [
    { type: "PauseRequested" },
    { type: "TasksWithdrawn", tasks: [0] },
    { type: "InstancePaused" },
  ]);
  builder.run(life, "a:1:0:1");
  expectViolations(checkCausality, builder, /a:1:0:1 ran while its instance was paused/);
});

test("a job of code that starts after somebody was told of the pause, and a grant that was on its way then", () => {
  for (const isCluster of [false, true]) {
    const builder = new EvidenceBuilder({ isCluster });
    const life = builder.life();
    // In a cluster another member may host it.
    builder.claim(life);
    const worker = isCluster ? builder.life("m2") : builder.life("w1", "worker");
    const node = { nodeId: 0, nodeName: "step", jobName: "step" };
    const tasks: Event[] = [
      { type: "TaskAdded", node },
      { type: "TasksScheduled", tasks: [0] },
    ];
    builder.turn(life, 1, createdCode(builder, code.saga, {}, ...tasks));
    const pause = builder.ask(life, "pause");
    builder.turn(life, 1, [{ type: "InstancePaused" }]);
    builder.answer(pause);
    builder.now += 100;
    builder.run(worker, "a:1:0:1");
    expectViolations(checkCausality, builder);
    builder.run(life, "a:1:0:1");
    builder.now += 60_000;
    builder.run(worker, "a:1:0:1");
    const late = /a:1:0:1 ran while its instance was paused/;
    expectViolations(checkCausality, builder, late, late);
  }
});

test("a grant that comes to a worker when its time is out, and one that comes when it is long out", () => {
  const builder = new EvidenceBuilder({ isCluster: true });
  const life = builder.life();
  const worker = builder.life("w1", "worker");
  builder.turn(life, 1, created(builder, solo));
  const failure = { type: "TASK_TIMEOUT", message: "too long", retryable: true };
  builder.turn(life, 1, [{ type: "TaskFailed", task: 0, attempt: 1, failure, timedOut: true, retryAt: 1 }]);
  builder.now += 1000;
  builder.run(worker, "a:1:0:1");
  expectViolations(checkCausality, builder);
  builder.run(life, "a:1:0:1");
  builder.now += 60_000;
  builder.run(worker, "a:1:0:1");
  const late = /a:1:0:1 ran \d+ ms after it had timed out/;
  expectViolations(checkCausality, builder, late, late);
});

test("a success that never happened", () => {
  const { builder, run } = goodRun();
  run.end = undefined;
  expectViolations(checkCausality, builder, /a:1:0:1 is recorded as a success that never happened/);
});

test("a report that the history must not have", () => {
  const { builder, life } = goodRun();
  const events = JSON.stringify([{ type: "TaskFailed", task: 0, attempt: 1, failure: {} }]);
  builder.commit(life, { history: [{ instance: 1, turn: 2, firstEvent: 5, at: 0, events }] });
  expectViolations(checkCausality, builder, /TaskFailed after its end/, /task 0, attempt 1, which is not open/);
});

test("a retry that comes due early in the history", () => {
  const builder = new EvidenceBuilder();
  const life = builder.life();
  builder.turn(life, 1, created(builder, solo));
  const failure = { type: "Error", message: "no", retryable: true };
  builder.turn(life, 1, [
    { type: "TaskFailed", task: 0, attempt: 1, failure, retryAt: epochMs + 9000 },
    { type: "RetriesDue", tasks: [0] },
    { type: "TasksScheduled", tasks: [0] },
  ]);
  expectViolations(checkCausality, builder, /a: a retry of task 0 comes due 8000 ms early/);
});

test("a job that starts after somebody was told that its instance is terminated", () => {
  const builder = new EvidenceBuilder();
  const life = builder.life();
  builder.turn(life, 1, created(builder, solo));
  builder.answer(builder.ask(life, "terminate"));
  builder.run(life, "a:1:0:1");
  expectViolations(checkCausality, builder, /a:1:0:1 ran after its instance was said to be terminated/);
});
