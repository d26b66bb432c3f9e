/** In development, the code of workflows is watched for clock, chance and timers; jobs and everything else are not. */
import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { type CodeWorkflow, defineJob, defineWorkflow, Engine, type Job } from "../../src/index.ts";
import { memoryStore, testEngine } from "../../src/testing.ts";
import { Lines } from "../api/rig.ts";

/** Looks at the clock for each line, as loggers do. */
class StampedLines extends Lines {
  override info(fields: Record<string, unknown>, message: string): void {
    super.info({ ...fields, time: Date.now() }, message);
  }

  override warn(fields: Record<string, unknown>, message: string): void {
    super.warn({ ...fields, time: new Date().toISOString() }, message);
  }

  get calls(): unknown[] {
    return this.all.filter(({ level }) => level === "warn").map(({ fields }) => fields["call"]);
  }
}

/** A job that does all that the code of a workflow must not do. */
const wild = defineJob("wild", async () => {
  await new Promise<void>((resolve) => void setTimeout(resolve, 1));
  const answer = await fetch("data:text/plain,fetched");
  return [Date.now(), Math.random(), crypto.randomUUID(), new Date(), await answer.text()].length;
});

const tame = defineWorkflow("tame", async (ctx) => {
  ctx.onQuery("now", () => Date.now() > 0);
  ctx.log.info({ at: ctx.now() }, "begun");
  const first = await ctx.run(wild, undefined);
  await ctx.sleep(new Date(ctx.now() + 1000));
  const [second, third] = await ctx.all([ctx.run(wild, undefined), ctx.callChild(wildChild, undefined)]);
  ctx.log.warn({ call: "the code's own" }, "nearly done");
  return [first, second, third, ctx.uuid(), ctx.random()].length;
});

const wildChild = defineWorkflow("wild-child", (ctx) => ctx.run(wild, undefined));

describe("the code of workflows", () => {
  test("is told from jobs, from the engine, from loggers and from whoever starts it", async () => {
    const lines = new StampedLines();
    await using kit = await testEngine({
      workflows: [tame, wildChild],
      jobs: [wild],
      logger: lines,
      watchCode: true,
    });
    const run = await kit.engine.startWorkflow(tame, undefined);
    assert.equal(await kit.clock.until(run.result()), 5);
    assert.equal(await run.query("now"), true);
    assert.deepEqual(lines.calls, ["the code's own"]);
    assert.deepEqual(
      lines.all.map(({ message }) => message),
      ["begun", "nearly done"],
    );
  });

  test("is told from jobs on a real clock too, with many instances side by side", async (t) => {
    const lines = new StampedLines();
    const flow = defineWorkflow("flow", async (ctx, n: number) => {
      for (let step = 0; step < 3; step++) {
        await ctx.all([ctx.run(wild, undefined), ctx.sleep(1)]);
        if (n === 7 && step === 1) Math.random();
      }
    });
    const engine = await realEngine(t, {
      workflows: [flow],
      jobs: [wild],
      logger: lines,
      watchCode: true,
    });
    const runs = await Promise.all(Array.from({ length: 20 }, (_, n) => engine.startWorkflow(flow, n)));
    await Promise.all(runs.map((run) => run.result()));
    assert.deepEqual(lines.calls, ["Math.random()"]);
  });

  test("is watched from its start through every wait, also in handlers and undoing, and does what it would do anyway", async () => {
    const lines = new StampedLines();
    const unsteady = defineWorkflow("unsteady", async (ctx) => {
      ctx.onUpdate("dice", () => Math.random());
      ctx.onCancel(() => void performance.now());
      ctx.undo(() => void crypto.randomUUID());
      await ctx.run(wild, undefined);
      const now = Date.now();
      await ctx.waitForEvent("go");
      return now;
    });
    await using kit = await testEngine({
      workflows: [unsteady],
      jobs: [wild],
      logger: lines,
      watchCode: true,
    });
    const run = await kit.engine.startWorkflow(unsteady, undefined);
    for (let time = 0; time < 2; time++) assert.ok((await run.update<number>("dice")) < 1);
    await run.raiseEvent("go");
    assert.ok((await kit.clock.until(run.result())) > 0);
    const second = await kit.engine.startWorkflow(unsteady, undefined);
    await kit.clock.settle();
    await second.cancel();
    await assert.rejects(kit.clock.until(second.result()), { code: "WORKFLOW_TERMINATED" });
    assert.equal(lines.calls.length, 4);
    assert.deepEqual(
      new Set(lines.calls),
      new Set(["Math.random()", "Date.now()", "performance.now()", "crypto.randomUUID()"]),
    );
    assert.ok(lines.all.every(({ fields }) => fields["file"] === import.meta.filename));
  });

  test("is told how it waits for something that is not durable", async (t) => {
    const lines = new StampedLines();
    const stray = defineWorkflow("stray", async (ctx) => {
      await new Promise<void>((resolve) => void setTimeout(resolve, 100));
      await ctx.run(wild, undefined);
    });
    const engine = await realEngine(t, {
      workflows: [stray],
      jobs: [wild],
      logger: lines,
      watchCode: true,
    });
    const run = await engine.startWorkflow(stray, undefined);
    assert.match(String((await run.getStatus()).attention), /nothing that is durable/);
    assert.deepEqual(lines.calls, ["setTimeout()"]);
    assert.deepEqual(lines.all.filter(({ level }) => level === "error").length, 1);
  });
});

async function realEngine(
  t: TestContext,
  parts: { workflows: CodeWorkflow[]; jobs: Job[]; logger: Lines; watchCode: boolean },
): Promise<Engine> {
  const engine = new Engine({ storage: memoryStore(), ...parts });
  await engine.start();
  t.after(() => engine.stop());
  return engine;
}
