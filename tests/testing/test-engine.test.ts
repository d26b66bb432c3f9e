/** Spec §8.6: a workflow runs in memory with skipped time and mocked activities. */
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { describe, test } from "node:test";
import { z } from "zod";
import {
  defineJob,
  defineWorkflow,
  type Engine,
  StepFailed,
  TaskBuilder,
  WorkflowBuilder,
  type WorkflowContext,
} from "../../src/index.ts";
import { memoryStore, mockJob, testEngine } from "../../src/testing.ts";
import { LogBook } from "../../src/testing/log-book.rig.ts";

const dayMs = 24 * 3_600_000;
const yearMs = 365 * dayMs;

const charge = defineJob("charge", async ({ amount }: { amount: number }): Promise<string> => {
  throw new Error(`nobody is to be charged ${amount} in a test`);
});
const ship = defineJob("ship", ({ to }: { to: string }) => `to ${to}`);

const order = defineWorkflow("order", async (ctx, { amount, to }: { amount: number; to: string }) => {
  const receipt = await ctx.run(charge, { amount }, { retryCount: 3, retryPolicy: { initialMs: 60_000 } });
  await ctx.sleep(3 * yearMs);
  const sent = await ctx.run(ship, { to });
  return { receipt, sent, at: ctx.now() };
});

describe("a test engine", () => {
  test("runs a workflow of years in no time, with mocks in place of jobs", async () => {
    const charged = mockJob(charge, ({ amount }) => Promise.resolve(`receipt for ${amount}`), { failures: 2 });
    await using kit = await testEngine({
      workflows: [order],
      jobs: [charge, ship],
      mocks: [charged],
      now: Date.UTC(2030, 0, 1),
    });
    const began = performance.now();
    const run = await kit.engine.startWorkflow(order, { amount: 5, to: "Rome" });
    const { at, ...result } = await kit.clock.until(run.result());
    assert.deepEqual(result, { receipt: "receipt for 5", sent: "to Rome" });
    assert.equal(at, Date.UTC(2030, 0, 1) + 3 * yearMs + 3 * 60_000);
    assert.deepEqual(charged.calls, [{ amount: 5 }, { amount: 5 }, { amount: 5 }]);
    assert.ok(performance.now() - began < 1000);
  });

  test("skips time for a result that is awaited and that only time brings", async () => {
    const shipping = mockJob(ship, () => "sent");
    const mocks = [mockJob(charge, async () => "r", { failures: 2 }), shipping];
    await using kit = await testEngine({ workflows: [order], jobs: [ship], mocks });
    const run = await kit.engine.startWorkflow(order, { amount: 5, to: "Rome" });
    const [first, second] = await Promise.all([run.result(), run.result()]);
    assert.deepEqual([first.receipt, second.receipt, shipping.calls.length], ["r", "r", 1]);
    const [found] = await kit.engine.listWorkflowInstances();
    assert.equal(found?.status, "Success");
  });

  test("leaves the clock alone while a result is only held", async () => {
    await using kit = await testEngine({ workflows: [order], jobs: [ship], mocks: [mockJob(charge, async () => "r")] });
    const began = kit.clock.now();
    const held = (await kit.engine.startWorkflow(order, { amount: 5, to: "Rome" })).result();
    await delay(1300);
    assert.equal(kit.clock.now(), began);
    assert.equal((await held).receipt, "r");
  });

  test("skips again when an awaited instance sleeps after an event that a test raises late", async () => {
    const twice = defineWorkflow("twice", async (ctx) => {
      await ctx.sleep(yearMs);
      await ctx.waitForEvent("go");
      await ctx.sleep(yearMs);
      return "through";
    });
    await using kit = await testEngine({ workflows: [twice] });
    const run = await kit.engine.startWorkflow(twice);
    const result = run.result();
    const awaited = result.then((value) => value);
    await delay(1500);
    await run.raiseEvent("go");
    assert.equal(await awaited, "through");
  });

  test("tells a test that moves the clock itself why it hangs, once", async () => {
    const logger = new LogBook();
    await using kit = await testEngine({
      workflows: [order],
      jobs: [ship],
      mocks: [mockJob(charge, async () => "r")],
      logger,
    });
    const run = await kit.engine.startWorkflow(order, { amount: 5, to: "Rome" }, { instanceId: "o-1" });
    await kit.clock.advance(1000);
    const at = kit.clock.now();
    const hints = (): readonly unknown[] => logger.lines.filter(({ message }) => message.includes("clock.until"));
    const results = [run.result(), run.result()].map((result) => result.then(({ receipt }) => receipt));
    while (hints().length === 0) await delay(20);
    const hint = logger.lines.find(({ message }) => message.includes("clock.until"));
    assert.deepEqual([hint?.level, hint?.fields["instanceId"]], ["warn", "o-1"]);
    await delay(1100);
    assert.deepEqual([hints().length, kit.clock.now()], [1, at]);
    for (const result of results) assert.equal(await kit.clock.until(result), "r");
  });

  test("gives no such hint while a job runs or time passes, nor for what time does not bring", async () => {
    const logger = new LogBook();
    const slow = defineJob("slow", () => delay(1300));
    const waits = defineWorkflow("waits", async (ctx, job: boolean) => {
      if (job) await ctx.run(slow);
      else await ctx.waitForEvent("go");
    });
    await using kit = await testEngine({ workflows: [waits], jobs: [slow], logger });
    const working = await kit.engine.startWorkflow(waits, true);
    const waiting = await kit.engine.startWorkflow(waits, false);
    const result = waiting.result();
    await working.result();
    await delay(1100);
    await waiting.raiseEvent("go");
    await result;
    assert.deepEqual(
      logger.lines.filter(({ message }) => message.includes("clock.until")),
      [],
    );
  });

  test("reports a mock that nobody called and that stands in for nothing in the test", async () => {
    const logger = new LogBook();
    const idle = defineWorkflow("idle", async () => 1);
    const dag = new WorkflowBuilder()
      .withName("dag")
      .withTask(new TaskBuilder("t").withJobFunction("ship", { to: "x" }))
      .build();
    const other = defineJob("other", () => 1);
    const mocks = [mockJob(charge, async () => "r"), mockJob(ship, () => "s"), mockJob(other, () => 2)];
    {
      await using kit = await testEngine({ workflows: [idle, dag], jobs: [other], mocks, logger });
      const run = await kit.engine.startWorkflow(idle);
      assert.equal(await kit.clock.until(run.result()), 1);
    }
    const reported = logger.lines.filter(({ message }) => message.startsWith("a mock was never called"));
    assert.deepEqual(
      reported.map(({ level, fields }) => [level, fields["job"]]),
      [["warn", "charge"]],
    );
  });

  test("keeps from a mock what the job would not take", async () => {
    const pay = defineJob("pay", { input: z.object({ amount: z.coerce.number() }) }, ({ amount }) => amount);
    const paid = mockJob(pay, ({ amount }) => amount + 1);
    const spend = defineWorkflow("spend", (ctx, amount: string) => ctx.run("pay", { amount }));
    await using kit = await testEngine({ workflows: [spend], mocks: [paid] });
    const good = await kit.engine.startWorkflow(spend, "5");
    assert.equal(await kit.clock.until(good.result()), 6);
    const bad = await kit.engine.startWorkflow(spend, "five");
    await assert.rejects(kit.clock.until(bad.result()), /"pay" failed: /);
    assert.deepEqual(paid.calls, [{ amount: 5 }]);
  });

  const dueAtOnce: Readonly<Record<string, (ctx: WorkflowContext) => Promise<unknown>>> = {
    "a sleep of 0 ms": (ctx) => ctx.sleep(0),
    "a sleep until a time that is over": (ctx) => ctx.sleep(new Date(ctx.now() - 5000)),
    "a wait for an event with a timeout of 0 ms": (ctx) => ctx.waitForEvent("never", { timeoutMs: 0 }).catch(() => 1),
  };
  for (const [what, wait] of Object.entries(dueAtOnce)) {
    test(`needs no time for ${what}`, async () => {
      const first = defineWorkflow("first", async (ctx) => {
        await wait(ctx);
        return ctx.now();
      });
      const afterJob = defineWorkflow("after-job", async (ctx) => {
        await ctx.run(ship, { to: "Rome" });
        await wait(ctx);
        return ctx.now();
      });
      for (const workflow of [first, afterJob]) {
        await using kit = await testEngine({ workflows: [first, afterJob], jobs: [ship] });
        const run = await kit.engine.startWorkflow(workflow, undefined);
        assert.equal(await kit.clock.until(run.result()), kit.clock.now());
      }
    });
  }

  test("is the same every time: ids, chance and times", async () => {
    const dice = defineWorkflow("dice", async (ctx) => {
      await ctx.sleep(1000);
      return [ctx.instanceId, ctx.uuid(), ctx.random(), ctx.now()];
    });
    const results: unknown[] = [];
    for (let time = 0; time < 2; time++) {
      await using kit = await testEngine({ workflows: [dice] });
      const run = await kit.engine.startWorkflow(dice, undefined);
      results.push(await kit.clock.until(run.result()));
    }
    assert.deepEqual(results[0], results[1]);
  });

  test("lets a test look at what has happened by a certain time", async () => {
    const reminders = mockJob(
      defineJob("remind", () => undefined),
      () => undefined,
    );
    const nag = defineWorkflow("nag", async (ctx) => {
      for (;;) {
        await ctx.sleep(30 * dayMs);
        await ctx.run(reminders, undefined);
      }
    });
    await using kit = await testEngine({ workflows: [nag], mocks: [reminders] });
    await kit.engine.startWorkflow(nag, undefined);
    await kit.clock.advance(30 * dayMs - 1);
    assert.equal(reminders.calls.length, 0);
    await kit.clock.advance(1);
    assert.equal(reminders.calls.length, 1);
    await kit.clock.advance(yearMs);
    assert.equal(reminders.calls.length, 13);
  });

  test("lets no time pass while a job runs, however long that takes", async () => {
    const slow = defineJob("slow", async () => {
      await delay(30);
      return "done";
    });
    const patient = defineWorkflow("patient", (ctx) => ctx.run(slow, undefined, { timeoutSeconds: 1 }));
    await using kit = await testEngine({ workflows: [patient], jobs: [slow] });
    const run = await kit.engine.startWorkflow(patient, undefined);
    const before = kit.clock.now();
    assert.equal(await kit.clock.until(run.result()), "done");
    assert.equal(kit.clock.now(), before);
  });

  test("lets an attempt run into its timeout when time is moved by hand", async () => {
    const hangs = defineJob("hangs", (_: undefined, { signal }) => {
      return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
    });
    const impatient = defineWorkflow("impatient", async (ctx) => {
      try {
        return await ctx.run(hangs, undefined, { timeoutSeconds: 10 });
      } catch (error) {
        return error instanceof StepFailed ? error.failure.type : "another error";
      }
    });
    await using kit = await testEngine({ workflows: [impatient], jobs: [hangs] });
    const run = await kit.engine.startWorkflow(impatient, undefined);
    await kit.clock.advance(10_000);
    assert.equal(await kit.clock.until(run.result()), "TASK_TIMEOUT");
  });

  test("says when a workflow waits for something that only the test can give it", async () => {
    const asks = defineWorkflow("asks", (ctx) => ctx.waitForEvent<string>("answer"));
    await using kit = await testEngine({ workflows: [asks] });
    const run = await kit.engine.startWorkflow(asks, undefined);
    await assert.rejects(kit.clock.until(run.result()), /waits for something that no time brings/);
    await run.raiseEvent("answer", "yes");
    assert.equal(await kit.clock.until(run.result()), "yes");
  });

  test("runs DAGs too, through their retries", async () => {
    const flaky = mockJob(ship, ({ to }) => `at last to ${to}`, { failures: 1 });
    const task = new TaskBuilder("ship").withJobFunction(flaky, { to: "Oslo" }).withRetryCount(1);
    await using kit = await testEngine({ mocks: [flaky] });
    const run = await kit.engine.submitWorkflow(new WorkflowBuilder().withName("trip").withTask(task).build());
    assert.deepEqual(await kit.clock.until(kit.engine.awaitWorkflowInstance(run.instanceId)), {
      ship: "at last to Oslo",
    });
  });

  test("goes on from a store, as after a restart", async () => {
    const storage = memoryStore();
    const mocks = [mockJob(charge, () => Promise.resolve("paid"))];
    const first = await testEngine({ storage, workflows: [order], jobs: [ship], mocks });
    await first.engine.startWorkflow(order, { amount: 1, to: "Bern" }, { instanceId: "o" });
    await first.clock.advance(yearMs);
    await first.stop();
    await using second = await testEngine({ storage, workflows: [order], jobs: [ship], mocks, now: first.clock.now() });
    const run = await second.engine.getWorkflowHandle<{ receipt: string }>("o");
    assert.equal((await second.clock.until(run.result())).receipt, "paid");
  });

  for (const how of ["settle", "advance", "until"] as const) {
    test(`wakes at once what came due while no engine ran: ${how}`, async () => {
      const storage = memoryStore();
      const woken: number[] = [];
      const note = defineJob("note", ({ at }: { at: number }) => void woken.push(at));
      const naps = defineWorkflow("naps", async (ctx) => {
        for (let nap = 0; nap < 2; nap++) {
          await ctx.sleep(60_000);
          await ctx.run(note, { at: ctx.now() });
        }
      });
      const now = Date.UTC(2030, 0, 1);
      const first = await testEngine({ storage, workflows: [naps], jobs: [note], now });
      const { instanceId } = await first.engine.startWorkflow(naps, undefined);
      await first.clock.settle();
      await first.stop();

      const later = now + 600_000;
      await using second = await testEngine({ storage, workflows: [naps], jobs: [note], now: later });
      if (how === "settle") {
        await second.clock.settle();
        assert.deepEqual([woken, second.clock.now()], [[later], later]);
      } else if (how === "advance") {
        await second.clock.advance(300_000);
        assert.deepEqual(woken, [later, later + 60_000]);
      } else {
        await second.clock.until(second.engine.awaitWorkflowInstance(instanceId));
        assert.deepEqual(woken, [later, later + 60_000]);
      }
    });
  }

  test("stops once, at the end of its block or by hand, also with a job that does not end", async () => {
    const { promise: never } = Promise.withResolvers<void>();
    const deaf = defineJob("deaf", () => never);
    const endless = defineWorkflow("endless", (ctx) => ctx.run(deaf, undefined));
    let engine: Engine;
    {
      await using kit = await testEngine({ workflows: [endless], jobs: [deaf], logger: new LogBook() });
      ({ engine } = kit);
      await engine.startWorkflow(endless, undefined);
      await kit.clock.settle();
      assert.equal(engine.health.runningTasks, 1);
      await kit.stop();
    }
    assert.equal(engine.health.status, "stopped");
  });

  test("does not take a sleeper for one that is stuck", async () => {
    const logger = new LogBook();
    const sleeps = defineWorkflow("sleeps", (ctx) => ctx.sleep(yearMs));
    const waits = defineWorkflow("waits", (ctx) => ctx.waitForEvent("never"));
    await using kit = await testEngine({ workflows: [sleeps, waits], logger });
    for (const workflow of [sleeps, waits]) await kit.engine.startWorkflow(workflow, undefined);
    await kit.clock.advance(dayMs);
    assert.deepEqual(kit.engine.health.stuckInstances, []);
    assert.deepEqual(logger.lines, []);
  });

  test("does not take an instance whose child waits for one that is stuck", async () => {
    const logger = new LogBook();
    const approval = defineWorkflow("approval", (ctx) => ctx.waitForEvent("approved"));
    const parent = defineWorkflow("parent", (ctx) => ctx.callChild(approval, undefined));
    const dag = new WorkflowBuilder()
      .withName("dag")
      .withTask(new TaskBuilder("ask").withNestedWorkflow("approval"))
      .build();
    await using kit = await testEngine({ workflows: [approval, parent, dag], logger });
    await kit.engine.startWorkflow(parent, undefined);
    await kit.engine.submitWorkflow(dag);
    await kit.clock.advance(dayMs);
    assert.deepEqual(kit.engine.health.stuckInstances, []);
    assert.deepEqual(logger.lines, []);
  });

  test("takes an instance with a job that does not end for one that is stuck, also beside a child", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const deaf = defineJob("deaf", () => promise);
    const approval = defineWorkflow("approval", (ctx) => ctx.waitForEvent("approved"));
    const parent = defineWorkflow("parent", (ctx) =>
      ctx.all([ctx.callChild(approval, undefined), ctx.run(deaf, undefined, { timeoutSeconds: 172_800 })]),
    );
    await using kit = await testEngine({ workflows: [approval, parent], jobs: [deaf], logger: new LogBook() });
    const { instanceId } = await kit.engine.startWorkflow(parent, undefined);
    await kit.clock.advance(dayMs);
    assert.deepEqual(kit.engine.health.stuckInstances, [instanceId]);
    resolve();
  });
});
