/** Spec §8.1: what the code of a workflow can do, each step durable: after a restart it goes on where it was. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { z } from "zod";
import { defineJob, defineWorkflow, hasCode, StepFailed, type WorkflowContext } from "../../src/index.ts";
import { CodeRig } from "./code-rig.ts";
import { Gate, says, startEngine } from "./rig.ts";

const dayMs = 24 * 3_600_000;

describe("8.1 activities", () => {
  test("8.1 an async function runs jobs one after the other and gives back a result", async (t) => {
    const add = defineJob("add", ({ a, b }: { a: number; b: number }) => a + b);
    const sum = defineWorkflow("sum", async (ctx, numbers: number[]) => {
      let total = 0;
      for (const n of numbers) total = await ctx.run(add, { a: total, b: n });
      return { total, by: ctx.workflowName, version: ctx.workflowVersion, id: ctx.instanceId };
    });
    const rig = await CodeRig.start(t, { workflows: [sum], jobs: [add] });
    const handle = await rig.engine.startWorkflow(sum, [1, 2, 3], { instanceId: "s" });
    assert.deepEqual(await handle.result(), { total: 6, by: "sum", version: "1", id: "s" });
    const view = await handle.getStatus();
    assert.equal(view.kind, "code");
    assert.equal(view.status, "Success");
    assert.deepEqual(
      view.tasks.map(({ name, status, attempt }) => `${name} ${status} ${attempt}`),
      ["add Success 1", "add Success 1", "add Success 1"],
    );
  });

  test("8.1 an activity's id is <instance>::<n>, n from 0, and stays over its attempts", async (t) => {
    const seen: string[] = [];
    const flaky = defineJob("flaky", (_: undefined, ctx) => {
      seen.push(`${ctx.taskId} ${ctx.attemptId} ${ctx.attempt}`);
      if (seen.length === 2) throw new Error("not yet");
    });
    const three = defineWorkflow("three", async (ctx) => {
      await ctx.run(flaky);
      await ctx.run(flaky, undefined, { retryCount: 1 });
      await ctx.callActivity(flaky);
    });
    const rig = await CodeRig.start(t, { workflows: [three], jobs: [flaky] });
    const handle = await rig.engine.startWorkflow(three, undefined, { instanceId: "i" });
    await rig.clock.until(handle.result());
    assert.deepEqual(seen, ["i::0 i:1:0:1 1", "i::1 i:1:1:1 1", "i::1 i:1:1:2 2", "i::2 i:1:2:1 1"]);
  });

  test("8.1 after a restart the code goes on: what was done is not done again", async (t) => {
    const gate = new Gate();
    const slow = defineJob("slow", async (_: undefined, ctx) => {
      await Promise.race([
        gate.opened,
        new Promise((_resolve, reject) => ctx.signal.addEventListener("abort", reject)),
      ]);
      return "slow";
    });
    const starts: string[] = [];
    const chain = defineWorkflow("chain", async (ctx) => {
      starts.push(ctx.isReplaying ? "again" : "first");
      const done = [await ctx.run("note", "a"), await ctx.run(slow), await ctx.run("note", "b")];
      return done;
    });
    const rig = await CodeRig.start(t, { workflows: [chain], jobs: [slow] });
    const { instanceId } = await rig.engine.startWorkflow(chain, undefined);
    await rig.settle();
    await rig.restart();
    gate.open();
    assert.deepEqual(await rig.engine.awaitWorkflowInstance(instanceId), ["a", "slow", "b"]);
    assert.deepEqual(rig.calls, ["a", "b"]);
    assert.deepEqual(starts, ["first", "again"]);
  });

  test("8.1 code in memory is not replayed: it stays on its promise between turns", async (t) => {
    let runs = 0;
    const once = defineWorkflow("once", async (ctx) => {
      runs++;
      for (let i = 0; i < 20; i++) await ctx.run("note", String(i));
      await ctx.waitForEvent("go");
      await ctx.sleep(dayMs);
    });
    const rig = await CodeRig.start(t, { workflows: [once], idleMs: 10 * dayMs });
    const handle = await rig.engine.startWorkflow(once, undefined);
    await rig.settle();
    await handle.raiseEvent("go");
    await rig.clock.until(handle.result(), { maxMs: 2 * dayMs });
    assert.equal(runs, 1);
  });

  test("8.1 a failed activity throws StepFailed, which the code may catch", async (t) => {
    const careful = defineWorkflow("careful", async (ctx) => {
      try {
        await ctx.run("refuse", "bread");
        return undefined;
      } catch (error) {
        assert.ok(error instanceof StepFailed);
        return { message: error.message, type: error.failure.type };
      }
    });
    const rig = await CodeRig.start(t, { workflows: [careful] });
    const handle = await rig.engine.startWorkflow(careful, undefined);
    assert.deepEqual(await handle.result(), { message: 'activity "refuse" failed: no bread here', type: "Error" });
  });

  test("8.1 what the code does not catch fails the instance, with the words of what failed", async (t) => {
    const careless = defineWorkflow("careless", async (ctx) => await ctx.run("refuse", "bread", { name: "bake" }));
    const rig = await CodeRig.start(t, { workflows: [careless] });
    const handle = await rig.engine.startWorkflow(careless, undefined, { instanceId: "c" });
    await assert.rejects(
      handle.result(),
      says("WORKFLOW_FAILED", 'instance "c" failed: activity "bake" failed: no bread here'),
    );
    const { status, reason } = await handle.getStatus();
    assert.deepEqual([status, reason], ["Failed", 'activity "bake" failed: no bread here']);
  });

  test("8.1 an activity is retried as its options say, with waits that survive a restart", async (t) => {
    const times: number[] = [];
    const clockOf: { now: () => number } = { now: () => 0 };
    const flaky = defineJob("flaky", () => {
      times.push(clockOf.now());
      if (times.length < 3) throw new Error("not yet");
      return times.length;
    });
    const patient = defineWorkflow("patient", (ctx) =>
      ctx.run(flaky, undefined, { retryCount: 5, retryPolicy: { initialMs: 60_000, factor: 2, jitter: 0 } }),
    );
    const rig = await CodeRig.start(t, { workflows: [patient], jobs: [flaky] });
    clockOf.now = () => rig.clock.now();
    const begun = rig.clock.now();
    const { instanceId } = await rig.engine.startWorkflow(patient, undefined);
    await rig.clock.advance(30_000);
    await rig.restart();
    assert.equal(await rig.clock.until(rig.engine.awaitWorkflowInstance(instanceId)), 3);
    assert.deepEqual(
      times.map((at) => at - begun),
      [0, 60_000, 180_000],
    );
  });

  test("8.1 an attempt that takes too long fails as timed out", async (t) => {
    const never = defineJob("never", () => new Promise<never>(() => undefined));
    const impatient = defineWorkflow("impatient", async (ctx) => {
      const error: unknown = await ctx.run(never, undefined, { timeoutSeconds: 5 }).catch((caught: unknown) => caught);
      return error instanceof StepFailed ? error.failure.type : "?";
    });
    const rig = await CodeRig.start(t, { workflows: [impatient], jobs: [never] });
    const handle = await rig.engine.startWorkflow(impatient, undefined);
    assert.equal(await rig.clock.until(handle.result()), "TASK_TIMEOUT");
    assert.equal((await handle.getStatus()).tasks[0]?.status, "TimeoutFailed");
  });

  test("8.1 an input that does not fit the job's schema fails the activity without calling it", async (t) => {
    const double = defineJob("double", { input: z.object({ n: z.number() }) }, ({ n }) => n * 2);
    const wrong = defineWorkflow("wrong", (ctx) => ctx.run("double", { n: "two" }));
    const rig = await CodeRig.start(t, { workflows: [wrong], jobs: [double] });
    const handle = await rig.engine.startWorkflow(wrong, undefined);
    await assert.rejects(handle.result(), says("WORKFLOW_FAILED", 'activity "double" failed', "n"));
  });

  test("8.1 an activity of an unknown job waits for it, and says so", async (t) => {
    const early = defineWorkflow("early", (ctx) => ctx.run("later", 7));
    const rig = await CodeRig.start(t, { workflows: [early] });
    const handle = await rig.engine.startWorkflow(early, undefined);
    await rig.settle();
    assert.match((await handle.getStatus()).tasks[0]?.wait?.text ?? "", /"?later"?/);
    rig.engine.registerJobFunction("later", (n: number) => n + 1);
    assert.equal(await handle.result(), 8);
  });

  test("8.1 a job that changes the context or generates sub-tasks fails as an activity, and hears why", async (t) => {
    const patching = defineJob("patching", (_: undefined, ctx) => ctx.patchContext({ a: 1 }));
    const caught = defineWorkflow("caught", async (ctx) =>
      ctx.run(patching).then(
        () => "went through",
        (error: unknown) => (error instanceof StepFailed ? error.message : "?"),
      ),
    );
    const rig = await CodeRig.start(t, { workflows: [caught], jobs: [patching] });
    const handle = await rig.engine.startWorkflow(caught, undefined);
    assert.equal(
      await handle.result(),
      'activity "patching" failed: activity "patching" changed the context, which only a task of a DAG can do; give the result back instead',
    );
  });
});

describe("8.1 fan-out and fan-in", () => {
  test("8.1 many at once, all awaited, in the order of the call", async (t) => {
    const square = defineJob("square", (n: number) => n * n);
    const fan = defineWorkflow("fan", async (ctx, count: number) => {
      const numbers = Array.from({ length: count }, (_, n) => n);
      const squares = await ctx.all(numbers.map((n) => ctx.run(square, n)));
      return squares.reduce((sum, n) => sum + n, 0);
    });
    const rig = await CodeRig.start(t, { workflows: [fan], jobs: [square] });
    const handle = await rig.engine.startWorkflow(fan, 200);
    assert.equal(await handle.result(), 2_646_700);
    assert.equal((await handle.getStatus()).tasks.length, 200);
  });

  test("8.1 race and any settle in the order of history, also when they are replayed", async (t) => {
    const race = defineWorkflow("race", async (ctx) => {
      const first = await ctx.race([
        ctx.sleep(2 * dayMs).then(() => "slow"),
        ctx.waitForEvent<string>("fast"),
        ctx.sleep(3 * dayMs).then(() => "slower"),
      ]);
      const any = await ctx.any([ctx.run("refuse", "x"), ctx.run("note", "y")]);
      await ctx.waitForEvent("end");
      return [first, any];
    });
    const rig = await CodeRig.start(t, { workflows: [race] });
    const handle = await rig.engine.startWorkflow(race, undefined, { instanceId: "r" });
    await rig.clock.advance(dayMs);
    await handle.raiseEvent("fast", "event");
    await rig.settle();
    await rig.restart();
    await rig.engine.raiseEvent("r", "end");
    assert.deepEqual(await rig.engine.awaitWorkflowInstance("r"), ["event", "y"]);
    assert.deepEqual(rig.calls, ["x", "y"]);
  });

  test("8.1 timers that lose a race never fire, and waits that lose take no event", async (t) => {
    const poll = defineWorkflow("poll", async (ctx) => {
      const seen: unknown[] = [];
      while (seen.length < 300) {
        seen.push(await ctx.race([ctx.waitForEvent("cmd"), ctx.sleep(1000).then(() => "tick")]));
      }
      await ctx.sleep(10_000);
      return seen;
    });
    const rig = await CodeRig.start(t, { workflows: [poll] });
    const handle = await rig.engine.startWorkflow(poll, undefined, { instanceId: "p" });
    await rig.clock.advance(1500);
    for (let n = 1; n < 150; n++) await handle.raiseEvent("cmd", n);
    await rig.restart();
    for (let n = 150; n < 300; n++) await rig.engine.raiseEvent("p", "cmd", n);
    const seen = await rig.clock.until(rig.engine.awaitWorkflowInstance("p"));
    assert.deepEqual(seen, ["tick", ...Array.from({ length: 299 }, (_, n) => n + 1)]);
    const types = await rig.eventTypes("p");
    assert.equal(types.filter((type) => type === "TimerFired").length, 2, "the tick and the last sleep");
  });

  test("8.1 what the code leaves running when it ends is stopped", async (t) => {
    const aborted: string[] = [];
    const endless = defineJob("endless", (_: undefined, ctx) => {
      ctx.signal.addEventListener("abort", () => aborted.push(ctx.taskId));
      return new Promise<never>(() => undefined);
    });
    const hasty = defineWorkflow("hasty", async (ctx) => {
      void ctx.run(endless);
      await ctx.run("note", "quick");
      return "done";
    });
    const rig = await CodeRig.start(t, { workflows: [hasty], jobs: [endless] });
    const handle = await rig.engine.startWorkflow(hasty, undefined, { instanceId: "h" });
    assert.equal(await handle.result(), "done");
    await rig.settle();
    assert.deepEqual(aborted, ["h::0"]);
    assert.equal((await handle.getStatus()).tasks[0]?.status, "Stopped");
  });
});

describe("8.1 durable timers", () => {
  test("8.1 a sleep of years, through restarts, neither early nor late", async (t) => {
    const decade = defineWorkflow("decade", async (ctx) => {
      const from = ctx.now();
      await ctx.sleep(3652 * dayMs);
      return ctx.now() - from;
    });
    const rig = await CodeRig.start(t, { workflows: [decade] });
    const { instanceId } = await rig.engine.startWorkflow(decade, undefined);
    for (const days of [1, 30, 3000]) {
      await rig.away(days * dayMs);
      await rig.settle();
      assert.equal((await rig.engine.getWorkflowInstanceStatus(instanceId)).status, "Running");
    }
    await rig.away(621 * dayMs - 1000);
    const slept = await rig.clock.until(rig.engine.awaitWorkflowInstance<number>(instanceId));
    assert.equal(slept, 3652 * dayMs);
  });

  test("8.1 until a date, or one that has passed", async (t) => {
    const dated = defineWorkflow("dated", async (ctx, { until, past }: { until: number; past: number }) => {
      await ctx.sleep(new Date(past));
      await ctx.createTimer(new Date(until));
      return ctx.now();
    });
    const rig = await CodeRig.start(t, { workflows: [dated] });
    const until = rig.clock.now() + 12_345;
    const handle = await rig.engine.startWorkflow(dated, { until, past: rig.clock.now() - dayMs });
    assert.equal(await rig.clock.until(handle.result()), until);
  });

  test("8.1 a wait that is no time is refused in plain words", async (t) => {
    const odd = defineWorkflow("odd", (ctx) => ctx.sleep(Number.NaN));
    const rig = await CodeRig.start(t, { workflows: [odd] });
    const handle = await rig.engine.startWorkflow(odd, undefined);
    await assert.rejects(
      handle.result(),
      says("WORKFLOW_FAILED", /a wait takes a number of ms or a Date, at most \d+ ms ahead, got NaN/),
    );
  });
});

describe("8.1 external events", () => {
  test("8.1 events are kept until they are awaited, first come first served, per name", async (t) => {
    const taker = defineWorkflow("taker", async (ctx) => {
      await ctx.waitForEvent("begin");
      const b = await ctx.waitForEvent<string>("b");
      const a = [await ctx.waitForEvent<number>("a"), await ctx.waitForEvent<number>("a")];
      return { a, b };
    });
    const rig = await CodeRig.start(t, { workflows: [taker] });
    const handle = await rig.engine.startWorkflow(taker, undefined, { instanceId: "t" });
    await handle.raiseEvent("a", 1);
    await handle.raiseEvent("a", 2);
    await handle.raiseEvent("b", "early");
    await rig.restart();
    await rig.engine.raiseEvent("t", "begin");
    assert.deepEqual(await rig.engine.awaitWorkflowInstance("t"), { a: [1, 2], b: "early" });
  });

  test("8.1 an event that does not come in time throws, and may come later all the same", async (t) => {
    const waiter = defineWorkflow("waiter", async (ctx) => {
      const late: unknown = await ctx.waitForEvent("go", { timeoutMs: 60_000 }).catch((error: unknown) => error);
      assert.ok(late instanceof StepFailed);
      return { late: late.message, type: late.failure.type, after: await ctx.waitForEvent("go", { timeoutMs: dayMs }) };
    });
    const rig = await CodeRig.start(t, { workflows: [waiter] });
    const handle = await rig.engine.startWorkflow(waiter, undefined, { instanceId: "w" });
    await rig.clock.advance(59_999);
    assert.equal((await rig.eventTypes("w")).includes("TimerFired"), false);
    await rig.clock.advance(1);
    await handle.raiseEvent("go", "now");
    assert.deepEqual(await handle.result(), {
      late: 'event "go" did not come within 60000 ms',
      type: "TASK_TIMEOUT",
      after: "now",
    });
    assert.equal((await rig.eventTypes("w")).filter((type) => type === "TimerCanceled").length, 1);
  });

  test("8.1 an event's data is checked by its schema", async (t) => {
    const strict = defineWorkflow("strict", async (ctx) => {
      const { n } = await ctx.waitForEvent("go", { schema: z.object({ n: z.number() }) });
      return n;
    });
    const rig = await CodeRig.start(t, { workflows: [strict] });
    const good = await rig.engine.startWorkflow(strict, undefined);
    await good.raiseEvent("go", { n: 5 });
    assert.equal(await good.result(), 5);
    const bad = await rig.engine.startWorkflow(strict, undefined, { instanceId: "b" });
    await bad.raiseEvent("go", { n: "five" });
    await assert.rejects(
      bad.result(),
      says("WORKFLOW_FAILED", 'event "go" of instance "b" does not fit its schema', "n"),
    );
  });

  test("8.1 one instance sends an event to another", async (t) => {
    const ear = defineWorkflow("ear", (ctx) => ctx.waitForEvent("word"));
    const mouth = defineWorkflow("mouth", async (ctx, to: string) => {
      ctx.sendEvent(to, "word", { from: ctx.instanceId });
      ctx.sendEvent("nobody", "word");
      await ctx.run("note", "sent");
    });
    const rig = await CodeRig.start(t, { workflows: [ear, mouth] });
    const listening = await rig.engine.startWorkflow(ear, undefined, { instanceId: "ear" });
    await (await rig.engine.startWorkflow(mouth, "ear", { instanceId: "mouth" })).result();
    assert.deepEqual(await listening.result(), { from: "mouth" });
  });

  test("8.1 or to itself", async (t) => {
    const selfish = defineWorkflow("selfish", async (ctx) => {
      ctx.sendEvent(ctx.instanceId, "word", 1);
      return await ctx.waitForEvent("word");
    });
    const rig = await CodeRig.start(t, { workflows: [selfish] });
    assert.equal(await (await rig.engine.startWorkflow(selfish, undefined)).result(), 1);
  });
});

describe("8.1 the same in every replay", () => {
  const steady = defineWorkflow("steady", async (ctx) => {
    const before = [ctx.now(), ctx.random(), ctx.uuid()];
    await ctx.waitForEvent("go");
    return { before, after: [ctx.now(), ctx.random(), ctx.uuid()] };
  });

  test("8.1 now, random and uuid", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [steady] });
    const begun = rig.clock.now();
    await rig.engine.startWorkflow(steady, undefined, { instanceId: "s" });
    const other = await rig.engine.startWorkflow(steady, undefined, { instanceId: "other" });
    await rig.clock.advance(1000);
    await other.raiseEvent("go");
    const different = await other.result();
    await rig.restart();
    await rig.engine.raiseEvent("s", "go");
    type Seen = Awaited<ReturnType<typeof other.result>>;
    const { before, after } = await rig.engine.awaitWorkflowInstance<Seen>("s");
    assert.equal(before[0], begun);
    assert.equal(after[0], begun + 1000);
    assert.match(String(before[2]), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    const chances = [before[1], after[1], different.before[1], different.after[1]];
    assert.equal(new Set(chances).size, 4);
    assert.ok(chances.every((each) => Number(each) >= 0 && Number(each) < 1));
    assert.equal(new Set([before[2], after[2], different.before[2], different.after[2]]).size, 4);
  });

  test("8.1 after a restart the code sees what it saw before", async (t) => {
    const seen: unknown[] = [];
    const watcher = defineWorkflow("watcher", async (ctx) => {
      seen.push([ctx.now(), ctx.random(), ctx.uuid()]);
      await ctx.sleep(5000);
      seen.push([ctx.now(), ctx.random(), ctx.uuid()]);
      await ctx.waitForEvent("go");
    });
    const rig = await CodeRig.start(t, { workflows: [watcher] });
    await rig.engine.startWorkflow(watcher, undefined, { instanceId: "w" });
    await rig.clock.advance(10_000);
    await rig.restart();
    await rig.engine.raiseEvent("w", "go");
    await rig.engine.awaitWorkflowInstance("w");
    assert.equal(seen.length, 4);
    assert.deepEqual(seen.slice(2), seen.slice(0, 2));
  });

  test("8.1 logging is silent while the code is replayed, and says whose it is", async (t) => {
    const talker = defineWorkflow("talker", async (ctx) => {
      ctx.log.info({ step: 1 }, "one");
      await ctx.waitForEvent("go");
      ctx.log.warn({ step: 2, replaying: ctx.isReplaying }, "two");
    });
    const rig = await CodeRig.start(t, { workflows: [talker] });
    await rig.engine.startWorkflow(talker, undefined, { instanceId: "t" });
    await rig.restart();
    await rig.engine.raiseEvent("t", "go");
    await rig.engine.awaitWorkflowInstance("t");
    const lines = rig.log.lines.filter(({ fields }) => "step" in fields);
    assert.deepEqual(lines, [
      { level: "info", message: "one", fields: { instanceId: "t", workflowName: "talker", step: 1 } },
      { level: "warn", message: "two", fields: { instanceId: "t", workflowName: "talker", step: 2, replaying: false } },
    ]);
  });
});

describe("8.1 continue-as-new", () => {
  const counter = defineWorkflow("counter", async (ctx, n: number): Promise<number> => {
    if (n === 5) return ctx.generation;
    ctx.setCustomStatus({ n });
    await ctx.run("note", `round ${n}`);
    return await ctx.continueAsNew(n + 1);
  });

  test("8.1 keeps the id, begins a new generation with an empty history, and stays Running", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [counter] });
    const statuses: string[] = [];
    rig.engine.subscribe(({ status }) => statuses.push(status));
    const handle = await rig.engine.startWorkflow(counter, 0, { instanceId: "c" });
    assert.equal(await handle.result(), 6);
    assert.deepEqual(rig.calls, ["round 0", "round 1", "round 2", "round 3", "round 4"]);
    assert.deepEqual(new Set(statuses), new Set(["Running", "Success"]));
    const view = await handle.getStatus();
    assert.equal(view.generation, 6);
    assert.deepEqual(view.customStatus, { n: 4 });
    assert.deepEqual(await rig.eventTypes("c"), ["InstanceContinued", "InstanceEnded"]);
    assert.deepEqual(
      (await rig.engine.listWorkflowInstances()).map(({ id, generation }) => [id, generation]),
      [["c", 6]],
    );
  });

  test("8.1 activities are numbered anew, with attempt ids of their own", async (t) => {
    const ids: string[] = [];
    const work = defineJob("work", (_: undefined, ctx) => void ids.push(`${ctx.taskId} ${ctx.attemptId}`));
    const twice = defineWorkflow("twice", async (ctx, round: number): Promise<string> => {
      await ctx.run(work);
      return round === 2 ? "end" : await ctx.continueAsNew(2);
    });
    const rig = await CodeRig.start(t, { workflows: [twice], jobs: [work] });
    await (await rig.engine.startWorkflow(twice, 1, { instanceId: "x" })).result();
    assert.deepEqual(ids, ["x::0 x:1:0:1", "x::0 x:2:0:1"]);
  });

  for (const keepEvents of [true, false]) {
    test(`8.1 events that nobody took are ${keepEvents ? "kept" : "dropped"} as told, also over a restart`, async (t) => {
      const taker = defineWorkflow("taker", async (ctx, round: number): Promise<unknown> => {
        if (round === 2) return await ctx.waitForEvent("e", { timeoutMs: 1000 }).catch(() => "none");
        await ctx.waitForEvent("go");
        return await ctx.continueAsNew(2, { keepEvents });
      });
      const rig = await CodeRig.start(t, { workflows: [taker] });
      const handle = await rig.engine.startWorkflow(taker, 1, { instanceId: "t" });
      await handle.raiseEvent("e", "kept");
      await rig.restart();
      await rig.engine.raiseEvent("t", "go");
      const result = rig.engine.awaitWorkflowInstance("t");
      assert.equal(await rig.clock.until(result), keepEvents ? "kept" : "none");
    });
  }

  test("8.1 code that begins anew without end can be looked at, spoken to, terminated, and stopped with its engine", async (t) => {
    const restless = defineWorkflow("restless", (ctx, n: number): Promise<never> => ctx.continueAsNew(n + 1));
    // Time stands still for nobody here: it never comes to rest.
    const engine = await startEngine(t, { workflows: [restless] });
    const handle = await engine.startWorkflow(restless, 0, { instanceId: "r" });
    const { generation } = await handle.getStatus();
    await handle.raiseEvent("any");
    assert.ok((await handle.getStatus()).generation > generation);
    await handle.terminate("enough");
    await assert.rejects(handle.result(), says("WORKFLOW_TERMINATED", "enough"));
    await engine.startWorkflow(restless, 0, { instanceId: "left" });
    await engine.stop();
  });

  test("8.1 nothing after it is carried out", async (t) => {
    const eager = defineWorkflow("eager", async (ctx, round: number) => {
      if (round === 1) {
        void ctx.continueAsNew(2);
        await ctx.run("note", "never").catch(() => undefined);
      }
      return "second";
    });
    const rig = await CodeRig.start(t, { workflows: [eager] });
    assert.equal(await (await rig.engine.startWorkflow(eager, 1)).result(), "second");
    assert.deepEqual(rig.calls, []);
  });
});

describe("8.1 custom status", () => {
  test("8.1 is shown to whoever looks, at any time, and can be taken away", async (t) => {
    const teller = defineWorkflow("teller", async (ctx) => {
      ctx.setCustomStatus({ phase: "waiting", since: 1 });
      await ctx.waitForEvent("go");
      ctx.setCustomStatus(undefined);
      await ctx.waitForEvent("go");
      ctx.setCustomStatus("done");
    });
    const rig = await CodeRig.start(t, { workflows: [teller] });
    const handle = await rig.engine.startWorkflow(teller, undefined, { instanceId: "t" });
    await rig.settle();
    const customStatus = async (): Promise<unknown> => (await rig.engine.getWorkflowInstanceStatus("t")).customStatus;
    assert.deepEqual(await customStatus(), { phase: "waiting", since: 1 });
    await rig.restart();
    assert.deepEqual(await customStatus(), { phase: "waiting", since: 1 });
    await rig.engine.raiseEvent("t", "go");
    assert.equal(await customStatus(), undefined);
    await rig.engine.raiseEvent("t", "go");
    await rig.engine.awaitWorkflowInstance("t");
    assert.equal(await customStatus(), "done");
    assert.ok(handle);
  });
});

describe("8.1 saga-style compensation", () => {
  async function booking(ctx: WorkflowContext, fails: string): Promise<string> {
    for (const what of ["hotel", "flight", "car"]) {
      if (what === fails) await ctx.run("refuse", what);
      await ctx.run("note", `book ${what}`, {
        undo: async (output) => void (await ctx.run("note", `undo ${String(output)}`)),
      });
    }
    return "booked";
  }
  const trip = defineWorkflow("trip", booking);

  test("8.1 what completed is undone in reverse, and the instance fails with what failed", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [trip] });
    const handle = await rig.engine.startWorkflow(trip, "car", { instanceId: "t" });
    await assert.rejects(handle.result(), says("WORKFLOW_FAILED", 'activity "refuse" failed: no car here'));
    assert.deepEqual(rig.calls, ["book hotel", "book flight", "car", "undo book flight", "undo book hotel"]);
  });

  test("8.1 nothing is undone when all went well", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [trip] });
    assert.equal(await (await rig.engine.startWorkflow(trip, "nothing")).result(), "booked");
    assert.deepEqual(rig.calls, ["book hotel", "book flight", "book car"]);
  });

  test("8.1 undoing is durable: it goes on after a restart, and nothing is undone twice", async (t) => {
    const gate = new Gate();
    const slow = defineJob("slow", async (_: undefined, ctx) => {
      await Promise.race([
        gate.opened,
        new Promise((_resolve, reject) => ctx.signal.addEventListener("abort", reject)),
      ]);
    });
    const saga = defineWorkflow("saga", async (ctx) => {
      ctx.undo(async () => void (await ctx.run("note", "undo 1")));
      ctx.undo(() => ctx.run(slow));
      ctx.undo(async () => void (await ctx.run("note", "undo 3")));
      await ctx.run("refuse", "it");
    });
    const rig = await CodeRig.start(t, { workflows: [saga], jobs: [slow] });
    await rig.engine.startWorkflow(saga, undefined, { instanceId: "s" });
    await rig.settle();
    assert.deepEqual(rig.calls, ["it", "undo 3"]);
    await rig.restart();
    gate.open();
    await assert.rejects(rig.engine.awaitWorkflowInstance("s"), says("WORKFLOW_FAILED", "no it here"));
    assert.deepEqual(rig.calls, ["it", "undo 3", "undo 1"]);
  });

  test("8.1 what cannot be undone does not keep the rest from it, and is told", async (t) => {
    const saga = defineWorkflow("saga", async (ctx) => {
      ctx.undo(async () => void (await ctx.run("note", "undone")));
      ctx.undo(async () => void (await ctx.run("refuse", "undo")));
      throw new Error("no luck");
    });
    const rig = await CodeRig.start(t, { workflows: [saga] });
    const handle = await rig.engine.startWorkflow(saga, undefined);
    await assert.rejects(
      handle.result(),
      says("WORKFLOW_FAILED", 'no luck; and not everything could be undone: activity "refuse" failed: no undo here'),
    );
    assert.deepEqual(rig.calls, ["undo", "undone"]);
  });

  test("8.1 a stretch of code with its own undoing", async (t) => {
    const nested = defineWorkflow("nested", async (ctx, fails: { inner: boolean; outer: boolean }) => {
      ctx.undo(async () => void (await ctx.run("note", "undo outer")));
      const inner = await ctx
        .saga(async (own) => {
          await own.run("note", "a", { undo: async () => void (await own.run("note", "undo a")) });
          if (fails.inner) throw new Error("inner");
          return "inner went well";
        })
        .catch((error: unknown) => (error as Error).message);
      if (fails.outer) throw new Error("outer");
      return inner;
    });
    const rig = await CodeRig.start(t, { workflows: [nested] });
    const inner = await rig.engine.startWorkflow(nested, { inner: true, outer: false });
    assert.equal(await inner.result(), "inner");
    assert.deepEqual(rig.calls.splice(0), ["a", "undo a"]);
    const outer = await rig.engine.startWorkflow(nested, { inner: false, outer: true });
    await assert.rejects(outer.result(), (error) => hasCode(error, "WORKFLOW_FAILED"));
    assert.deepEqual(rig.calls.splice(0), ["a", "undo a", "undo outer"]);
    const both = await rig.engine.startWorkflow(nested, { inner: true, outer: true });
    await assert.rejects(both.result(), (error) => hasCode(error, "WORKFLOW_FAILED"));
    assert.deepEqual(rig.calls, ["a", "undo a", "undo outer"]);
  });
});
