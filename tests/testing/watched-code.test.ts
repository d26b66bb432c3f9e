/** In development, the code of workflows is watched for clock, chance and timers; jobs and everything else are not. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, type TestContext, test } from "node:test";
import { type CodeWorkflow, defineJob, defineWorkflow, Engine, type Job } from "../../src/index.ts";
import { memoryStore, testEngine } from "../../src/testing.ts";
import { LogBook } from "../../src/testing/log-book.rig.ts";

/** Looks at the clock for each line, as loggers do. */
class StampedLines extends LogBook {
  override info(fields: Record<string, unknown>, message: string): void {
    super.info({ ...fields, time: Date.now() }, message);
  }

  override warn(fields: Record<string, unknown>, message: string): void {
    super.warn({ ...fields, time: new Date().toISOString() }, message);
  }

  get calls(): unknown[] {
    return this.lines.filter(({ level }) => level === "warn").map(({ fields }) => fields["call"]);
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
      lines.lines.map(({ message }) => message),
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
    assert.ok(lines.lines.every(({ fields }) => fields["file"] === import.meta.filename));
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
    assert.deepEqual(lines.lines.filter(({ level }) => level === "error").length, 1);
  });

  test("is told of a fetch with its line, and of nothing that the fetch does inside Node", async (t) => {
    const server = createServer((_, response) => void response.end("answer")).listen(0, "127.0.0.1");
    await once(server, "listening");
    t.after(() => server.close());
    const { port } = server.address() as AddressInfo;
    const lines = new StampedLines();
    const answers: string[] = [];
    const fetching = defineWorkflow("fetching", async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/`);
      answers.push(await answer.text());
    });
    const engine = await realEngine(t, { workflows: [fetching], jobs: [], logger: lines, watchCode: true });
    const run = await engine.startWorkflow(fetching, undefined);
    const { attention } = await run.getStatus();
    assert.match(
      String(attention),
      /nothing that is durable \(it called fetch\(\) at .*watched-code\.test\.ts:\d+\); /,
    );
    while (answers.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    assert.deepEqual(lines.calls, ["fetch()"]);
  });

  test("is told what it called where it takes other steps than before", async () => {
    const storage = memoryStore();
    let chosen = "wild";
    const unsteady = defineWorkflow("unsteady", async (ctx) => {
      await ctx.run(Math.random() < 1 ? chosen : "none");
      await ctx.waitForEvent("go");
    });
    const options = {
      storage,
      workflows: [unsteady],
      jobs: [wild, defineJob("other", () => 1)],
      logger: new StampedLines(),
      watchCode: true,
    };
    const first = await testEngine(options);
    await first.engine.startWorkflow(unsteady, undefined, { instanceId: "u" });
    await first.clock.settle();
    await first.engine.stop();
    chosen = "other";
    await using second = await testEngine({ ...options, now: first.clock.now() });
    // The event brings the instance into memory: if its job ended before the stop, nothing else would.
    await second.engine.raiseEvent("u", "go");
    await second.clock.settle();
    const { attention } = await second.engine.getWorkflowInstanceStatus("u");
    assert.match(
      String(attention),
      /such as the clock, chance .* \(it called Math\.random\(\) at .*watched-code\.test\.ts:\d+\)$/,
    );
  });
});

async function realEngine(
  t: TestContext,
  parts: { workflows: CodeWorkflow[]; jobs: Job[]; logger: LogBook; watchCode: boolean },
): Promise<Engine> {
  const engine = new Engine({ storage: memoryStore(), ...parts });
  await engine.start();
  t.after(() => engine.stop());
  return engine;
}
