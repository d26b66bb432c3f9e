/** Spec §9.4: schedules that the program declares. */
import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { z } from "zod";
import {
  type DeclaredSchedule,
  defineJob,
  defineSchedule,
  defineWorkflow,
  Engine,
  type EngineOptions,
  inProcessBus,
} from "../../src/index.ts";
import { LogBook } from "../../src/testing/log-book.rig.ts";
import { memoryStore, TestClock } from "../../src/testing.ts";
import { says, task, workflow } from "./rig.ts";

const hourMs = 3_600_000;
const hourly = { cron: "0 * * * *", timeZone: "UTC" } as const;
const daily = { cron: "0 6 * * *", timeZone: "UTC" } as const;

const note = defineJob("note", { input: z.object({ text: z.string() }) }, ({ text }) => text);
const report = defineWorkflow("report", { input: z.object({ days: z.number() }) }, async (_, { days }) => days);
const sweep = defineWorkflow("sweep", async () => "swept");
const load = workflow("load", task("t", "note", { text: "x" }));

interface Program {
  readonly clock: TestClock;
  readonly storage: ReturnType<typeof memoryStore>;
  readonly logger: LogBook;
}

function newProgram(): Program {
  return { clock: new TestClock(), storage: memoryStore(), logger: new LogBook() };
}

/** Starts the program with these schedules; an earlier run of it has been stopped. */
async function start(
  t: TestContext,
  program: Program,
  schedules: readonly DeclaredSchedule[],
  options: Partial<EngineOptions> = {},
): Promise<Engine> {
  const engine = new Engine({ ...program, jobs: [note], workflows: [report, sweep, load], schedules, ...options });
  await program.clock.until(engine.start());
  t.after(() => (engine.health.status === "up" ? program.clock.until(engine.stop()) : undefined));
  return engine;
}

describe("9.4 a declared schedule", () => {
  test("is created by the start of the engine, and runs", async (t) => {
    const program = newProgram();
    const engine = await start(t, program, [
      defineSchedule("reports", { workflow: report, input: { days: 7 }, every: hourly, whenBusy: "queue" }),
      defineSchedule("notes", { job: note, params: { text: "hello" }, every: hourly }),
      defineSchedule("loads", { workflow: load, every: daily }),
      defineSchedule("sweeps", { workflow: "sweep", every: { rateMs: hourMs } }),
    ]);
    const listed = await engine.schedules.list();
    assert.deepEqual(Object.fromEntries(listed.map(({ scheduleId, spec }) => [scheduleId, spec])), {
      reports: { workflow: "report", input: { days: 7 }, every: hourly, whenBusy: "queue" },
      notes: { job: "note", params: { text: "hello" }, every: hourly },
      loads: { workflow: "load", every: daily },
      sweeps: { workflow: "sweep", every: { rateMs: hourMs } },
    });
    await program.clock.advance(hourMs + 1000);
    const { status } = await engine.getWorkflowInstanceStatus("reports/2026-01-05T13:00:00.000Z");
    assert.equal(status, "Success");
  });

  test("is left alone by a start that declares the same, and misses no due time", async (t) => {
    const program = newProgram();
    const declared = [defineSchedule("s", { workflow: report, input: { days: 1 }, every: hourly })];
    const first = await start(t, program, declared);
    const historyOf = async (engine: Engine): Promise<number> =>
      (await program.clock.until(engine.getWorkflowInstanceHistory("schedule:s"))).length;
    const before = await historyOf(first);
    await program.clock.until(first.stop());
    const second = await start(t, program, declared);
    assert.equal(await historyOf(second), before, "nothing is recorded");
  });

  test("is changed by a start that declares it differently, and stays paused", async (t) => {
    const program = newProgram();
    const first = await start(t, program, [defineSchedule("s", { workflow: sweep, every: hourly })]);
    await program.clock.until(first.schedules.pause("s"));
    await program.clock.until(first.stop());
    const second = await start(t, program, [defineSchedule("s", { workflow: sweep, every: daily })]);
    const { spec, isEnabled } = await second.schedules.get("s");
    assert.deepEqual({ spec, isEnabled }, { spec: { workflow: "sweep", every: daily }, isEnabled: false });
  });

  test("comes back at the next start if it was deleted, and is not deleted when it is no longer declared", async (t) => {
    const program = newProgram();
    const declared = [defineSchedule("s", { workflow: sweep, every: hourly })];
    const first = await start(t, program, declared);
    await program.clock.until(first.schedules.delete("s"));
    await program.clock.until(first.stop());
    const second = await start(t, program, declared);
    assert.equal((await second.schedules.list()).length, 1);
    await program.clock.until(second.stop());
    const third = await start(t, program, []);
    assert.equal((await third.schedules.list()).length, 1);
  });

  test("without a time zone keeps the one of the process that created it", async (t) => {
    const program = newProgram();
    const first = await start(t, program, []);
    const tokyo = { cron: "0 6 * * *", timeZone: "Asia/Tokyo" };
    await program.clock.until(first.schedules.create("s", { workflow: "sweep", every: tokyo }));
    const declared = { workflow: "sweep", every: { cron: "0 6 * * *" } };
    assert.equal(await program.clock.until(first.schedules.declare("s", declared)), "unchanged");
    const later = { ...declared, every: { cron: "0 7 * * *" } };
    assert.equal(await program.clock.until(first.schedules.declare("s", later)), "changed");
    assert.deepEqual((await first.schedules.get("s")).spec.every, { cron: "0 7 * * *", timeZone: "Asia/Tokyo" });
  });

  test("of two members that start at once exists once", async (t) => {
    const program = newProgram();
    const declared = [defineSchedule("s", { workflow: sweep, every: hourly })];
    const bus = inProcessBus();
    const asMember = { cluster: { bus, shards: 4 } };
    const members = await Promise.all(
      [1, 2].map(() => start(t, program, declared, { ...asMember, storage: program.storage.connect() })),
    );
    for (const member of members) assert.equal((await program.clock.until(member.schedules.list())).length, 1);
  });

  test("whose instance is paused is left as it is, and the engine starts with a warning", async (t) => {
    const program = newProgram();
    const first = await start(t, program, [defineSchedule("s", { workflow: sweep, every: hourly })]);
    await program.clock.until(first.pauseWorkflowInstance("schedule:s"));
    await program.clock.until(first.stop());
    const second = await start(t, program, [defineSchedule("s", { workflow: sweep, every: daily })]);
    assert.equal(second.health.status, "up");
    const warning = program.logger.find("warn", /a declared schedule could not be brought up to date/);
    assert.match(String(warning?.fields["error"]), /its instance "schedule:s" is paused/);
  });
});

describe("9.4 a declaration is refused", () => {
  const program = newProgram();
  const refused = (schedules: unknown): (() => Engine) => {
    return () => new Engine({ ...program, schedules: schedules as DeclaredSchedule[] });
  };

  test("where it is made, if it could never be a schedule", () => {
    const invalid = (says: RegExp) => ({ code: "SCHEDULE_INVALID", message: says });
    assert.throws(
      () => defineSchedule("s", { workflow: sweep, every: { cron: "61 * * * *" } }),
      invalid(/^schedule "s": .*61/),
    );
    assert.throws(() => defineSchedule("", { workflow: sweep, every: hourly }), invalid(/id must be text/));
    assert.throws(() => defineSchedule("s", { every: hourly }), invalid(/a schedule is \{ workflow.*got \{ every \}/));
    assert.throws(
      () => defineSchedule("s", { workflow: sweep, evry: hourly } as never),
      invalid(/did you mean "every"/),
    );
    assert.throws(
      () => defineSchedule("s", { workflow: sweep, every: hourly, whenBussy: "skip" } as never),
      invalid(/did you mean "whenBusy"/),
    );
  });

  test("by the constructor, if it is none or twice", () => {
    const once = defineSchedule("s", { workflow: sweep, every: hourly });
    const invalid = (says: RegExp) => ({ code: "OPTION_INVALID", message: says });
    assert.throws(refused(once), invalid(/"schedules" must be a list/));
    assert.throws(refused([{ every: hourly }]), invalid(/must hold what defineSchedule gave/));
    assert.throws(refused([once, once]), invalid(/"schedules" has "s" twice/));
  });

  test("by the start, which stops the engine, if there is no such workflow", async () => {
    const { clock, ...rest } = newProgram();
    const schedules = [defineSchedule("s", { workflow: "swep", every: hourly })];
    const engine = new Engine({ ...rest, clock, workflows: [sweep], schedules });
    await assert.rejects(
      clock.until(engine.start()),
      says("WORKFLOW_UNKNOWN", /^schedule ".*": workflow "swep" is not among/),
    );
    assert.equal(engine.health.status, "stopped");
  });
});
