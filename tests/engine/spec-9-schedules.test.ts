/** Spec §9: schedules. */
import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { z } from "zod";
import {
  defineJob,
  defineWorkflow,
  Engine,
  inProcessBus,
  type ScheduledWorkflow,
  type ScheduleSettings,
} from "../../src/index.ts";
import { memoryStore, TestClock } from "../../src/testing.ts";
import { says, task, workflow } from "./rig.ts";

const hourMs = 3_600_000;
const hourly = { cron: "0 * * * *", timeZone: "UTC" } as const;

/** What was started, by instance id, in order. Each is one run of a job, wherever it ran. */
class Shop {
  readonly clock = new TestClock();
  readonly storage = memoryStore();
  readonly started: string[] = [];
  readonly inputs: unknown[] = [];
  engine: Engine;

  constructor() {
    this.engine = this.#newEngine();
  }

  static async open(t: TestContext): Promise<Shop> {
    const shop = new Shop();
    await shop.engine.start();
    t.after(() => (shop.engine.health.status === "up" ? shop.clock.until(shop.engine.stop()) : undefined));
    return shop;
  }

  #newEngine(): Engine {
    const note = defineJob("note", (_: unknown, { instanceId }) => void this.started.push(instanceId));
    const long = defineWorkflow("long", async (ctx) => {
      await ctx.run(note);
      await ctx.sleep(2.5 * hourMs);
    });
    const echo = defineWorkflow("echo", async (_, input: unknown) => void this.inputs.push(input));
    const { clock, storage } = this;
    const workflows = [workflow("short", task("t", "note")), long, echo];
    return new Engine({ clock, storage, jobs: [note], workflows });
  }

  async until<T>(promise: Promise<T>): Promise<T> {
    return await this.clock.until(promise);
  }

  async create(id: string, spec: Partial<ScheduleSettings & ScheduledWorkflow>): Promise<void> {
    await this.until(this.engine.schedules.create(id, { workflow: "short", every: hourly, ...spec }));
  }

  /** Gone for so long. */
  async restart(awayMs: number): Promise<void> {
    await this.until(this.engine.stop());
    await this.clock.advance(awayMs);
    this.engine = this.#newEngine();
    await this.engine.start();
    await this.clock.advance(1000);
  }

  take(): string[] {
    return this.started.splice(0).map((id) => id.replace("2026-01-05T", "").replace(":00:00.000Z", "h"));
  }
}

describe("9.1 a schedule", () => {
  test("starts its workflow at each due time, under an id made of it", async (t) => {
    const shop = await Shop.open(t);
    await shop.create("s", {});
    await shop.clock.advance(3 * hourMs + 1000);
    assert.deepEqual(shop.take(), ["s/13h", "s/14h", "s/15h"]);
    const { nextAt, runs, isEnabled, lastRunId } = await shop.engine.schedules.get("s");
    assert.deepEqual(
      { nextAt, runs, isEnabled, lastRunId },
      {
        nextAt: Date.UTC(2026, 0, 5, 16),
        runs: 3,
        isEnabled: true,
        lastRunId: "s/2026-01-05T15:00:00.000Z",
      },
    );
  });

  test("can be switched off and on; what was due meanwhile is not made up for", async (t) => {
    const shop = await Shop.open(t);
    await shop.create("s", {});
    await shop.until(shop.engine.schedules.pause("s"));
    await shop.clock.advance(3 * hourMs + 1000);
    assert.deepEqual(shop.take(), []);
    assert.equal((await shop.engine.schedules.get("s")).nextAt, null);
    await shop.until(shop.engine.schedules.resume("s"));
    await shop.clock.advance(hourMs);
    assert.deepEqual(shop.take(), ["s/16h"]);
  });

  test("can be changed, triggered and deleted", async (t) => {
    const shop = await Shop.open(t);
    await shop.create("s", {});
    await shop.until(shop.engine.schedules.change("s", { workflow: "short", every: { rateMs: 2 * hourMs } }));
    await shop.clock.advance(4 * hourMs + 1000);
    assert.deepEqual(shop.take(), ["s/14h", "s/16h"]);
    const id = await shop.until(shop.engine.schedules.trigger("s"));
    await shop.clock.settle();
    assert.deepEqual(shop.started.splice(0), [id]);
    await shop.until(shop.engine.schedules.delete("s"));
    await shop.clock.advance(5 * hourMs);
    assert.deepEqual(shop.take(), []);
    await assert.rejects(shop.engine.schedules.get("s"), says("SCHEDULE_UNKNOWN", /no schedule "s" is known/));
    assert.deepEqual(await shop.engine.schedules.list(), []);
    await shop.create("s", {});
    assert.equal((await shop.engine.schedules.list()).length, 1, "its id is free again");
  });

  test("shows all that it was told, so that a change of one thing changes nothing else", async (t) => {
    const shop = await Shop.open(t);
    const large = { keep: "me", text: "x".repeat(100_000) };
    await shop.create("s", { workflow: "echo", input: large, whenBusy: "queue", jitterMs: 0 });
    const { spec } = await shop.engine.schedules.get("s");
    assert.deepEqual(spec, { workflow: "echo", input: large, every: hourly, whenBusy: "queue", jitterMs: 0 });
    assert.deepEqual((await shop.engine.schedules.list())[0]?.spec, spec);
    await shop.until(shop.engine.schedules.change("s", { ...spec, every: { rateMs: 2 * hourMs } }));
    await shop.clock.advance(2 * hourMs + 1000);
    assert.deepEqual(shop.inputs, [large]);
  });

  test("without an input gives its runs none, as a start does", async (t) => {
    const shop = await Shop.open(t);
    await shop.create("s", { workflow: "echo" });
    assert.ok(!("input" in (await shop.engine.schedules.get("s")).spec));
    await shop.clock.advance(hourMs + 1000);
    assert.deepEqual(shop.inputs, [undefined]);
  });

  test("with a delay counts from the end of the run before", async (t) => {
    const shop = await Shop.open(t);
    await shop.create("s", { workflow: "long", every: { delayMs: hourMs } });
    await shop.clock.advance(8 * hourMs + 5000);
    const starts = shop.started.map((id) => Date.parse(id.slice(2)));
    assert.equal(starts.length, 3);
    for (const [index, at] of starts.slice(1).entries()) {
      assert.ok(at - (starts[index] as number) >= 3.5 * hourMs, "run and delay");
    }
  });

  test("refuses an input that does not fit its workflow's schema, when it is made and when it is changed", async (t) => {
    const shop = await Shop.open(t);
    const schema = z.object({ city: z.string(), since: z.coerce.date().optional() });
    const report = defineWorkflow("report", { input: schema }, async (_, { city }) => void shop.inputs.push(city));
    await shop.until(shop.engine.registerWorkflow(report));
    const misfit = says("INPUT_INVALID", /^the input of workflow "report" does not fit its schema: /);
    for (const input of [undefined, {}, { city: 7 }]) {
      await assert.rejects(shop.create("s", { workflow: "report", input }), misfit);
    }
    await shop.create("s", { workflow: "report", input: { city: "Ulm", since: new Date(0) } });
    const change = shop.engine.schedules.change("s", { workflow: "report", input: { city: 7 }, every: hourly });
    await assert.rejects(shop.until(change), misfit);
    await shop.clock.advance(hourMs);
    assert.deepEqual(shop.inputs, ["Ulm"]);
  });

  test("that makes no sense is refused with the reason", async (t) => {
    const shop = await Shop.open(t);
    const create = (spec: object): Promise<void> =>
      shop.engine.schedules.create("s", { workflow: "short", every: hourly, ...spec });
    await assert.rejects(create({ every: { cron: "0 25 * * *" } }), says("SCHEDULE_INVALID", /the hour field: "25"/));
    await assert.rejects(create({ workflow: "nobody" }), says("WORKFLOW_UNKNOWN", /"nobody" is not among/));
    await assert.rejects(
      create({ whenBusy: "panic" }),
      says("SCHEDULE_INVALID", /"skip", "queue", "allow", "cancel-previous"/),
    );
    const never = (every: object, problem: RegExp, more: object = {}): Promise<void> =>
      assert.rejects(create({ every, ...more }), says("SCHEDULE_INVALID", problem));
    await never({ cron: "0 0 30 2 *" }, /cron expression "0 0 30 2 \*" is never due within 100 years/);
    await never({ cron: "0 30 2 ? 3 1L", timeZone: "Europe/Berlin", inGap: "skip" }, /is never due within 100 years/);
    await never(hourly, /is never due up to its endAt \(1970-01-01T00:00:00.005Z\)/, { endAt: 5 });
    await never(hourly, /is never due from its startAt .* up to its endAt/, { startAt: 9e12, endAt: 8e12 });
    await assert.rejects(create({ jitterMs: -1 }), says("SCHEDULE_INVALID", /jitterMs/));
    await shop.create("s", {});
    await assert.rejects(create({}), says("INSTANCE_EXISTS", /already exists/));
  });
});

describe("9.2 policies", () => {
  const whileBusy = [
    ["skip", ["s/13h", "s/16h"]],
    ["queue", ["s/13h", "s/14h", "s/15h"]],
    ["allow", ["s/13h", "s/14h", "s/15h", "s/16h", "s/17h", "s/18h"]],
    ["cancel-previous", ["s/13h", "s/14h", "s/15h", "s/16h", "s/17h", "s/18h"]],
  ] as const;
  for (const [whenBusy, expected] of whileBusy) {
    test(`while a run has not ended: ${whenBusy}`, async (t) => {
      const shop = await Shop.open(t);
      await shop.create("s", { workflow: "long", whenBusy });
      await shop.clock.advance(6 * hourMs + 2000);
      assert.deepEqual(shop.take(), expected);
      const first = await shop.engine.getWorkflowInstanceStatus("s/2026-01-05T13:00:00.000Z");
      assert.equal(first.status, whenBusy === "cancel-previous" ? "Terminated" : "Success");
    });
  }

  const whenGone = [
    ["once", ["s/16h"]],
    ["all", ["s/13h", "s/14h", "s/15h", "s/16h"]],
    ["none", []],
  ] as const;
  for (const [whenMissed, expected] of whenGone) {
    test(`due times that passed while nobody was there: ${whenMissed}`, async (t) => {
      const shop = await Shop.open(t);
      await shop.create("s", { whenMissed, whenBusy: "allow" });
      await shop.restart(4.5 * hourMs);
      assert.deepEqual(shop.take(), expected);
      await shop.clock.advance(hourMs);
      assert.deepEqual(shop.take(), ["s/17h"]);
    });
  }

  for (const whenBusy of ["skip", "queue", "cancel-previous"] as const) {
    test(`all due times that passed run one after the other, also with whenBusy ${whenBusy}`, async (t) => {
      const shop = await Shop.open(t);
      await shop.create("s", { workflow: "long", whenMissed: "all", whenBusy });
      await shop.restart(3.5 * hourMs);
      assert.deepEqual(shop.take(), ["s/13h"]);
      assert.equal((await shop.engine.schedules.get("s")).waiting, 2);
      // The next due time comes while they are made up for.
      await shop.clock.advance(12 * hourMs);
      assert.deepEqual(shop.take().slice(0, 2), ["s/14h", "s/15h"]);
    });
  }

  test("all due times of a short absence run too", async (t) => {
    const shop = await Shop.open(t);
    await shop.create("s", { every: { rateMs: 4000 }, whenMissed: "all" });
    await shop.restart(20_000);
    assert.equal(shop.take().length, 5);
    const { runs, skipped } = await shop.engine.schedules.get("s");
    assert.deepEqual({ runs, skipped }, { runs: 5, skipped: 0 });
  });

  test("chance may make a run later, by less than asked for", async (t) => {
    const shop = await Shop.open(t);
    await shop.create("s", { jitterMs: 10 * 60_000 });
    await shop.clock.advance(hourMs);
    assert.deepEqual(shop.take(), []);
    await shop.clock.advance(10 * 60_000);
    assert.deepEqual(shop.take(), ["s/13h"]);
  });

  test("a range of the past is run once for each due time, so many at a time", async (t) => {
    const shop = await Shop.open(t);
    await shop.create("s", {});
    const from = shop.clock.now() - 24 * hourMs;
    assert.equal(
      await shop.until(shop.engine.schedules.backfill("s", { from, to: shop.clock.now(), parallelism: 4 })),
      25,
    );
    await shop.clock.settle();
    assert.equal(new Set(shop.started).size, 25);
    assert.equal(shop.started.length, 25);
    await assert.rejects(
      shop.engine.schedules.backfill("s", { from: 2, to: 1 }),
      says("SCHEDULE_INVALID", /takes \{ from, to \}/),
    );
  });

  test("a range of too many due times is refused", async (t) => {
    const shop = await Shop.open(t);
    await shop.create("rate", { every: { rateMs: 1000 } });
    await shop.create("cron", { every: { cron: "* * * * * *", timeZone: "Europe/Berlin" } });
    const { schedules } = shop.engine;
    const now = shop.clock.now();
    const range = { from: now - 20_000_000, to: now };
    const tooMany = says("SCHEDULE_INVALID", /at most 10000 due times/);
    await assert.rejects(shop.until(schedules.backfill("cron", range)), tooMany);
    const noDate = says("SCHEDULE_INVALID", /in epoch ms/);
    await assert.rejects(shop.until(schedules.backfill("cron", { from: -1e300, to: now })), noDate);
    // Before it was made, nothing was due.
    assert.ok((await shop.until(schedules.backfill("rate", range))) <= 1);
    await assert.rejects(shop.until(schedules.backfill("nobody", range)), says("SCHEDULE_UNKNOWN"));
  });

  test("9.3 the next times can be listed beforehand", async (t) => {
    const shop = await Shop.open(t);
    const times = shop.engine.schedules.preview({ every: { cron: "0 9 * * MON", timeZone: "UTC" } }, { count: 2 });
    assert.deepEqual(times, [Date.UTC(2026, 0, 12, 9), Date.UTC(2026, 0, 19, 9)]);
    const rare = shop.engine.schedules.preview({ every: { cron: "0 0 0 ? 2 1#5", timeZone: "UTC" } }, { count: 1000 });
    assert.deepEqual(
      rare.map((at) => new Date(at).getUTCFullYear()),
      [2032, 2060, 2088],
      "within a century",
    );
    assert.throws(
      () => shop.engine.schedules.preview({ every: hourly }, { count: 1001 }),
      says("SCHEDULE_INVALID", /up to 1000 due times, got from \d+ and count 1001/),
    );
  });
});

describe("9.3 each due time fires once", () => {
  test("across many restarts, and when the schedule begins anew", async (t) => {
    const shop = await Shop.open(t);
    await shop.create("s", { every: { rateMs: 60_000 } });
    for (let round = 0; round < 5; round++) {
      await shop.clock.advance(50 * 60_000);
      await shop.restart(30_000);
    }
    await shop.clock.advance(60_000);
    const minutes = shop.started.map((id) => (Date.parse(id.slice(2)) - Date.UTC(2026, 0, 5, 12)) / 60_000);
    assert.deepEqual(
      minutes,
      Array.from({ length: minutes.length }, (_, index) => index + 1),
    );
    assert.ok(minutes.length > 250);
    const { generation } = await shop.engine.getWorkflowInstanceStatus("schedule:s");
    assert.ok(generation > 2, "it has begun anew");
  });

  test("in a cluster, while members come and go", async () => {
    const clock = new TestClock();
    const storage = memoryStore();
    const bus = inProcessBus();
    const started: string[] = [];
    const note = defineJob("note", (_: unknown, { instanceId }) => void started.push(instanceId));
    let names = 0;
    const member = async (): Promise<Engine> => {
      const cluster = { shards: 8, bus, name: `m${names++}` };
      const workflows = [workflow("short", task("t", "note"))];
      const engine = new Engine({ storage: storage.connect(), clock, jobs: [note], workflows, cluster });
      await clock.until(engine.start());
      return engine;
    };
    await storage.open();
    let engines = [await member(), await member()];
    for (const id of ["a", "b", "c", "d"]) {
      await clock.until((engines[0] as Engine).schedules.create(id, { workflow: "short", every: { rateMs: 60_000 } }));
    }
    for (let round = 0; round < 4; round++) {
      await clock.advance(10 * 60_000);
      const [leaving, ...staying] = engines;
      await clock.until((leaving as Engine).stop());
      engines = [...staying, await member()];
    }
    await clock.advance(60_000);
    assert.equal(new Set(started).size, started.length, "none twice");
    for (const id of ["a", "b", "c", "d"]) {
      const times = started.filter((each) => each.startsWith(`${id}/`)).map((each) => Date.parse(each.slice(2)));
      for (const [index, at] of times.slice(1).entries()) assert.equal(at - (times[index] as number), 60_000);
      assert.ok(times.length >= 40);
    }
    for (const engine of engines) await clock.until(engine.stop());
  });
});

describe("9.2 what counts from the end of a run", () => {
  test("is late at most: nothing is made up for, whatever the policy", async (t) => {
    const shop = await Shop.open(t);
    await shop.create("s", { every: { delayMs: hourMs }, whenMissed: "all", whenBusy: "allow" });
    await shop.restart(10 * hourMs);
    await shop.clock.advance(1000);
    assert.equal(shop.started.length, 1);
  });

  test("was never due in the past", async (t) => {
    const shop = await Shop.open(t);
    await shop.create("s", { every: { delayMs: hourMs } });
    const now = shop.clock.now();
    assert.equal(await shop.until(shop.engine.schedules.backfill("s", { from: now - 10 * hourMs, to: now })), 0);
  });
});

describe("9.2 by hand", () => {
  test("a run starts now, whatever the jitter", async (t) => {
    const shop = await Shop.open(t);
    await shop.create("s", { jitterMs: 10 * hourMs });
    await shop.until(shop.engine.schedules.trigger("s"));
    await shop.clock.advance(1000);
    assert.equal(shop.started.length, 1);
  });

  test("a backfill runs nothing that is still to come", async (t) => {
    const shop = await Shop.open(t);
    await shop.create("s", {});
    const now = shop.clock.now();
    const range = { from: now - 2 * hourMs, to: now + 100 * hourMs };
    assert.equal(await shop.until(shop.engine.schedules.backfill("s", range)), 3);
  });
});
