import { test } from "node:test";
import type { Event } from "../../../src/kernel/event.ts";
import type { ScheduleSpec } from "../../../src/schedules/schedule-spec.ts";
import { scheduleWorkflow } from "../../../src/schedules/schedule-workflow.ts";
import { clockChangeMs, epochMs } from "../clock.ts";
import type { LifeRecord, Setting } from "../evidence.ts";
import { expectViolations } from "./expect-violations.ts";
import { createdCode, EvidenceBuilder } from "./evidence-builder.ts";
import { checkSchedules } from "./schedules.ts";

test("a run for each due time, and what policies leave out", () => {
  const schedule = new Planted({ every: { rateMs: 1000 } });
  schedule.turn(1000, started(0, 1000));
  schedule.turn(2000); // It is busy.
  schedule.turn(2500, ended(0));
  schedule.turn(5100, started(1, 5000)); // Two were missed.
  schedule.turn(5200, ended(1), update("pause"));
  schedule.turn(7000, update("resume"));
  schedule.turn(8000, started(2, 8000), update("delete"), { type: "InstanceEnded", status: "Success" });
  expectViolations(checkSchedules, schedule.builder);
});

test("a due time that is lost", () => {
  const schedule = new Planted({ every: { rateMs: 1000 } });
  schedule.turn(1000, started(0, 1000));
  schedule.turn(1500, ended(0));
  schedule.turn(2100);
  schedule.turn(3000, started(1, 3000));
  expectViolations(
    checkSchedules,
    schedule.builder,
    /schedule s: what was due at 2018-11-04T03:59:42.000Z was not run/,
  );
});

test("a timer that fires while the code is held up, and that the code gives up before it sees it", () => {
  const schedule = new Planted({ every: { rateMs: 1000 } }, { lacksCode: true });
  schedule.record(0, { type: "TimerSet", timer: 0, dueAt: epochMs + 1000 });
  schedule.turn(500);
  schedule.record(1000, { type: "TimerFired", timer: 0 });
  expectViolations(checkSchedules, schedule.builder, /what was due at 2018-11-04T03:59:41.000Z was not run/);
  schedule.record(2100, { type: "TimerCanceled", timer: 0 }, { type: "TimerSet", timer: 1, dueAt: epochMs + 1000 });
  schedule.record(2110, { type: "TimerFired", timer: 1 });
  expectViolations(checkSchedules, schedule.builder, /what was due at 2018-11-04T03:59:42.000Z was not run/);
  schedule.record(2120, started(0, 2000));
  expectViolations(checkSchedules, schedule.builder);
});

test("a schedule that is deleted while its code is held up, and had not seen its timer fire", () => {
  for (const every of [{ rateMs: 1000 }, { delayMs: 1000 }]) {
    const terminated: Event = { type: "InstanceEnded", status: "Terminated" };
    const seen = new Planted({ every }, { lacksCode: true });
    seen.record(1000, { type: "TimerFired", timer: 0 });
    seen.record(1010, { type: "TimerSet", timer: 1, dueAt: epochMs + 2000 });
    seen.record(1800, terminated);
    expectViolations(checkSchedules, seen.builder, /what was due at 2018-11-04T03:59:41.000Z was not run/);
    const unseen = new Planted({ every }, { lacksCode: true });
    unseen.record(1000, { type: "TimerFired", timer: 0 });
    expectViolations(checkSchedules, unseen.builder, /what was due at 2018-11-04T03:59:41.000Z was not run/);
    unseen.record(1800, terminated);
    expectViolations(checkSchedules, unseen.builder);
  }
});

test("a due time that runs twice, before its time, or for no reason", () => {
  const twice = new Planted({ every: { rateMs: 1000 } });
  twice.turn(1000, started(0, 1000));
  twice.turn(1100, ended(0));
  twice.turn(1200, started(1, 1000));
  expectViolations(checkSchedules, twice.builder, /:41.000Z was started again/);
  const early = new Planted({ every: { rateMs: 1000 } });
  early.turn(900, started(0, 1000));
  early.turn(1000);
  expectViolations(checkSchedules, early.builder, /was run in turn 1, not 2/, /:41.000Z was started 100 ms early/);
  const stray = new Planted({ every: { rateMs: 1000 } });
  stray.turn(1000, started(0, 1000));
  stray.turn(1500, ended(0), started(1, 1400));
  expectViolations(checkSchedules, stray.builder, /:41.400Z was started, and nothing was due/);
});

test("missed ones that run after all, and ones that are not made up for", () => {
  const once = new Planted({ every: { rateMs: 1000 }, whenBusy: "allow" });
  once.turn(2100, started(0, 1000), started(1, 2000));
  expectViolations(checkSchedules, once.builder, /:41.000Z was missed, and was run after all/);
  const all = new Planted({ every: { rateMs: 1000 }, whenBusy: "allow", whenMissed: "all" });
  all.turn(2100, started(0, 2000));
  expectViolations(checkSchedules, all.builder, /:41.000Z was not run/);
  const skipped = new Planted({ every: { rateMs: 1000 }, whenMissed: "all" });
  skipped.turn(2100, started(0, 1000));
  skipped.turn(2200, ended(0));
  expectViolations(checkSchedules, skipped.builder, /:42.000Z was not run/);
  skipped.turn(2300, started(1, 2000));
  expectViolations(checkSchedules, skipped.builder);
  const none = new Planted({ every: { rateMs: 70_000 }, whenMissed: "none" });
  none.turn(130_001, started(0, 70_000));
  expectViolations(checkSchedules, none.builder, /was missed, and was run after all/);
});

test("runs beside each other that are not to be", () => {
  const schedule = new Planted({ every: { rateMs: 1000 }, whenBusy: "queue" });
  schedule.turn(1000, started(0, 1000));
  schedule.turn(2000, started(1, 2000));
  expectViolations(checkSchedules, schedule.builder, /:42.000Z was started beside s\/2018-11-04T03:59:41.000Z/);
});

test("what is due while it is paused, or after a change", () => {
  const schedule = new Planted({ every: { rateMs: 1000 } });
  schedule.turn(500, update("pause"));
  schedule.turn(1000, started(0, 1000));
  schedule.turn(1100, ended(0), update("resume"));
  schedule.turn(1200, update("change", { workflow: "w", every: { rateMs: 5000 } }));
  schedule.turn(2000, started(1, 2000));
  schedule.turn(5000, ended(1), started(2, 5000));
  expectViolations(
    checkSchedules,
    schedule.builder,
    /:41.000Z was started, and nothing was due/,
    /:42.000Z was started, and/,
  );
});

test("a delay that does not count from the end", () => {
  const schedule = new Planted({ every: { delayMs: 1000 } });
  schedule.turn(1000, started(0, 1000));
  schedule.turn(1700, ended(0));
  schedule.turn(2700, started(1, 2700));
  expectViolations(checkSchedules, schedule.builder);
  schedule.turn(2800, started(2, 3700));
  schedule.turn(2900, ended(1));
  schedule.turn(2900, ended(2));
  schedule.turn(3900);
  expectViolations(
    checkSchedules,
    schedule.builder,
    /:43.900Z was not run/,
    /:43.700Z was started 900 ms early/,
    /nothing was due/,
  );
});

test("a delay whose run is started late because the code is held up", () => {
  const schedule = new Planted({ every: { delayMs: 1000 } }, { lacksCode: true });
  schedule.turn(1000);
  schedule.turn(1100, update("pause"));
  schedule.record(1200, started(0, 1000));
  expectViolations(checkSchedules, schedule.builder);
});

test("a delay that is paused before its run is due, and starts the run after all", () => {
  const schedule = new Planted({ every: { delayMs: 1000 } }, { lacksCode: true });
  schedule.turn(500, update("pause"));
  schedule.turn(1000, started(0, 1000));
  expectViolations(checkSchedules, schedule.builder, /:41.000Z was started, and nothing was due/);
});

test("a delay that counts from startAt, so that the same time is due before and after a pause", () => {
  const schedule = new Planted({ every: { delayMs: 1000 }, startAt: epochMs + 5001 }, { lacksCode: true });
  schedule.turn(500, update("pause"));
  schedule.turn(700, update("resume"));
  schedule.turn(6000, started(0, 6000));
  expectViolations(checkSchedules, schedule.builder);
});

test("due times before a new generation, which count from a request of the same turn, or are lost", () => {
  for (const { answers, decidedMs, isLost } of [
    { answers: [], decidedMs: 2500, isLost: true },
    { answers: ["b"], decidedMs: 2500, isLost: false },
    { answers: ["b"], decidedMs: 2400, isLost: true },
    { answers: ["a"], decidedMs: 2500, isLost: true },
  ]) {
    const schedule = new Planted({ every: { rateMs: 1000 }, whenMissed: "all" });
    schedule.record(100, { type: "UpdateRequested", update: "a", name: "trigger" });
    schedule.turn(1000, started(0, 1000));
    schedule.turn(1100, ended(0));
    schedule.record(2500, continued({ decidedMs, answers }));
    schedule.turn(3000, started(0, 3000));
    if (isLost) expectViolations(checkSchedules, schedule.builder, /:42.000Z was not run/);
    else expectViolations(checkSchedules, schedule.builder);
  }
});

test("times around a change of the clocks", () => {
  const every = { cron: "0 30 0 * * ?", timeZone: "America/Campo_Grande" } as const;
  const schedule = new Planted({ every });
  schedule.turn(clockChangeMs - epochMs);
  expectViolations(checkSchedules, schedule.builder, /what was due at 2018-11-04T04:00:00.000Z was not run/);
});

test("a backfill with a gap, with too many at once, or of what is not due", () => {
  const schedule = new Planted({ every: { rateMs: 1000 }, whenMissed: "none" });
  const range = { from: epochMs + 1000, to: epochMs + 9000, parallelism: 1 };
  const begun: Event = { type: "UpdateAnswered", update: "backfill", output: "3" };
  schedule.turn(999, update("pause"));
  schedule.turn(3500, update("backfill", range), begun, started(0, 1000, "backfill/"), started(1, 2000, "backfill/"));
  expectViolations(
    checkSchedules,
    schedule.builder,
    /has left out 1 of 3/,
    /:42.000Z of s was started as number 2 of 1/,
  );
  schedule.turn(3600, ended(0), ended(1), started(2, 3000, "backfill/"));
  schedule.turn(3700, ended(2), started(3, 3500, "backfill/"));
  expectViolations(checkSchedules, schedule.builder, /as number 2 of 1/, /:43.500Z was started, and was not due/);
});

test("a run by hand that was promised, and one that nobody asked for", () => {
  const schedule = new Planted({ every: { rateMs: 100_000 } });
  const promised: Event = { type: "UpdateAnswered", update: "trigger", output: '"s/by-hand/a"' };
  schedule.turn(10, update("trigger"), promised);
  expectViolations(
    checkSchedules,
    schedule.builder,
    /somebody was told that s\/by-hand\/a was started, and it was not/,
  );
  const childId = "s/by-hand/b";
  schedule.turn(20, { type: "TaskAdded", node: node(0) }, { type: "ChildStarted", task: 0, attempt: 1, childId });
  expectViolations(
    checkSchedules,
    schedule.builder,
    /s\/by-hand\/b was started, and nobody asked for it/,
    /somebody was told/,
  );
});

/** A schedule from virtual time 0 on. */
class Planted {
  readonly builder: EvidenceBuilder;
  readonly #life: LifeRecord;

  constructor(spec: Omit<ScheduleSpec, "workflow">, setting: Partial<Setting> = {}) {
    this.builder = new EvidenceBuilder(setting);
    this.#life = this.builder.life();
    const state = {
      scheduleId: "s",
      spec: { workflow: "w", ...spec },
      isEnabled: true,
      anchor: epochMs,
      decidedUntil: epochMs,
    };
    this.builder.turn(this.#life, 1, createdCode(this.builder, scheduleWorkflow, state), epochMs);
  }

  /** In which it looks at what is due. */
  turn(ms: number, ...events: readonly (Event | readonly Event[])[]): void {
    this.record(ms, { type: "EventRaised", name: "wake" }, ...events);
  }

  record(ms: number, ...events: readonly (Event | readonly Event[])[]): void {
    this.builder.turn(this.#life, 1, events.flat(), epochMs + ms);
  }
}

function started(task: number, dueMs: number, what = ""): Event[] {
  const childId = `s/${what}${new Date(epochMs + dueMs).toISOString()}`;
  return [
    { type: "TaskAdded", node: node(task) },
    { type: "ChildStarted", task, attempt: 1, childId },
  ];
}

function node(task: number): Extract<Event, { type: "TaskAdded" }>["node"] {
  return { nodeId: task, nodeType: 3, workflowName: "w", workflowVersion: "1" };
}

function continued({ decidedMs, answers }: { decidedMs: number; answers: readonly string[] }): Event {
  const spec = { workflow: "w", every: { rateMs: 1000 }, whenMissed: "all" };
  const state = { scheduleId: "s", spec, isEnabled: true, anchor: epochMs, decidedUntil: epochMs + decidedMs };
  return {
    type: "InstanceContinued",
    workflow: scheduleWorkflow.name,
    version: scheduleWorkflow.version,
    generation: 2,
    createdAt: epochMs,
    trigger: "api",
    input: JSON.stringify(state),
    answers: answers.map((each) => ({ type: "UpdateAnswered", update: each })),
  };
}

function ended(task: number): Event {
  return { type: "TaskSucceeded", task, attempt: 1 };
}

function update(name: string, data?: unknown): Event {
  return { type: "UpdateRequested", update: name, name, ...(data !== undefined && { data: JSON.stringify(data) }) };
}
