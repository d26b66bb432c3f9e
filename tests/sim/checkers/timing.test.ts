import { test } from "node:test";
import type { Event } from "../../../src/kernel/event.ts";
import { epochMs } from "../clock.ts";
import { code } from "../code-workflows.ts";
import { expectViolations } from "./expect-violations.ts";
import { created, createdCode, EvidenceBuilder, solo } from "./evidence-builder.ts";
import { checkTiming } from "./timing.ts";

const failure = { type: "Error", message: "no", retryable: true };

test("a retry that runs early", () => {
  const { builder, life } = failing({ retryMs: 500 });
  builder.now += 400;
  builder.run(life, "a:1:0:2");
  expectViolations(checkTiming, builder, /a:1:0:2, a retry, ran 98\.0 ms early/);
});

test("a retry that seems early by as much as clocks differ", () => {
  const { builder, life } = failing({ retryMs: 500 });
  builder.lists.clockSettings.push({ ...builder.moment(), machine: "m1", wallOffsetMs: 100 });
  builder.now += 400;
  builder.run(life, "a:1:0:2");
  expectViolations(checkTiming, builder);
});

test("a retry that is planned too early", () => {
  const { builder, life } = failing({ retryMs: 500 });
  const retryAt = epochMs + builder.now + 499;
  builder.turn(life, 1, [{ type: "TaskFailed", task: 0, attempt: 1, failure, retryAt }]);
  expectViolations(checkTiming, builder, /a:1:0:1 failed, and its retry was planned 1 ms early/);
});

test("a turn with a time that no clock has shown", () => {
  const builder = new EvidenceBuilder();
  const life = builder.life();
  builder.turn(life, 1, created(builder, solo), epochMs + builder.now + 5);
  expectViolations(checkTiming, builder, /a: turn 0 says .*, and its writer's clock had come to/);
});

test("an attempt that is timed out early", () => {
  const { builder, life, run } = failing({ timeoutMs: 1000 });
  run.end = undefined;
  builder.turn(life, 1, [{ type: "TaskFailed", task: 0, attempt: 1, failure, timedOut: true }]);
  expectViolations(checkTiming, builder, /a:1:0:1 was timed out early/);
});

test("an attempt on a worker that is timed out early, counted from its grant", () => {
  const { builder, life, run } = failing({ timeoutMs: 1000 });
  const message = 'task "t" ran longer than its timeout of 1 s';
  const timedOut = { type: "TaskFailed", task: 0, attempt: 1, timedOut: true } as const;
  const execution = { worker: "m1:ab/w", startedAt: epochMs + run.start.at - 900 };
  run.end = undefined;
  builder.turn(life, 1, [{ ...timedOut, ...execution, failure: { ...failure, message } }]);
  expectViolations(checkTiming, builder);
  const early = failing({ timeoutMs: 1000 });
  early.run.end = undefined;
  const late = { ...execution, startedAt: epochMs + run.start.at - 800 };
  early.builder.turn(early.life, 1, [{ ...timedOut, ...late, failure: { ...failure, message } }]);
  expectViolations(checkTiming, early.builder, /a:1:0:1 was timed out early/);
});

test("a worker that hears late of a timeout: the wait for the retry does not count from there", () => {
  const builder = new EvidenceBuilder({ isCluster: true });
  const life = builder.life();
  const worker = builder.life("w1", "worker");
  builder.turn(life, 1, created(builder, solo));
  const run = builder.run(worker, "a:1:0:1", { retryMs: 500 });
  builder.now += 800;
  builder.ended(run, "aborted");
  builder.run(life, "a:1:0:2");
  expectViolations(checkTiming, builder);
});

test("a grant that came to its worker after its time was out and its retry had begun", () => {
  const builder = new EvidenceBuilder({ isCluster: true });
  const life = builder.life();
  const worker = builder.life("w1", "worker");
  builder.turn(life, 1, created(builder, solo));
  builder.run(life, "a:1:0:2");
  builder.now += 800;
  builder.ended(builder.run(worker, "a:1:0:1", { retryMs: 500 }));
  expectViolations(checkTiming, builder);
});

test("an instance that is timed out early", () => {
  const builder = new EvidenceBuilder();
  const life = builder.life();
  const [first, , ...rest] = created(builder, solo);
  builder.turn(life, 1, [first!, { type: "InstanceStarted", deadline: epochMs + 9000 }, ...rest]);
  const reason = "the instance did not end within its timeout of 1 s";
  builder.turn(life, 1, [
    { type: "TasksStopped", tasks: [0] },
    { type: "InstanceEnded", status: "Failed", reason },
  ]);
  expectViolations(checkTiming, builder, /a was timed out early/);
});

test("code that is asked to end before its time is up, and one whose compensation is cut short", () => {
  const deadline = epochMs + 9000;
  const timedOut: Event = { type: "InstanceTimedOut", compensationMs: 5000, deadline: epochMs + 14_000 };
  const reason = "the instance did not end within its timeout of 1 s, and its compensation not within a further 5 s";
  const end: Event = { type: "InstanceEnded", status: "Failed", reason };
  for (const [early, events] of [
    [true, [timedOut]],
    [true, [end]],
    [false, [{ ...end, status: "Terminated" }]],
  ] as const) {
    const builder = new EvidenceBuilder();
    const [first, , ...rest] = createdCode(builder, code.timed, {});
    builder.turn(builder.life(), 1, [first!, { type: "InstanceStarted", deadline }, ...rest]);
    builder.turn(builder.life(), 1, [...events]);
    expectViolations(checkTiming, builder, ...(early ? [/was timed out early/] : []));
  }
});

test("a timer of code that fires early, or after it was called off", () => {
  const dueAt = epochMs + 2000;
  const set = { type: "TimerSet", timer: 0, dueAt } as const;
  const fired = { type: "TimerFired", timer: 0 } as const;
  const asleep = (...events: readonly Event[]): EvidenceBuilder => {
    const builder = new EvidenceBuilder();
    const life = builder.life();
    builder.turn(life, 1, createdCode(builder, code.sleeper, {}, set));
    for (const event of events) builder.turn(life, 1, [event]);
    return builder;
  };
  expectViolations(checkTiming, asleep(fired), /a: timer 0 fired 1000 ms early/);
  expectViolations(
    checkTiming,
    asleep({ type: "TimerCanceled", timer: 0 }, fired),
    /a: timer 0 fired, and was not set/,
  );
});

function failing(params: Record<string, number>): {
  builder: EvidenceBuilder;
  life: ReturnType<EvidenceBuilder["life"]>;
  run: ReturnType<EvidenceBuilder["run"]>;
} {
  const builder = new EvidenceBuilder();
  const life = builder.life();
  builder.turn(life, 1, created(builder, solo));
  const run = builder.run(life, "a:1:0:1", params);
  builder.now += 100;
  builder.ended(run, "failed");
  return { builder, life, run };
}
