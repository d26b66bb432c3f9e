/** Spec §8.6: a recorded history is replayed against new code. */
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { describe, test } from "node:test";
import { z } from "zod";
import {
  type CodeWorkflow,
  defineJob,
  defineWorkflow,
  type Engine,
  EngineError,
  type WorkflowContext,
} from "../../src/index.ts";
import { recordHistory } from "../../src/runtime/recorded-history.ts";
import { memoryStore, type RecordedHistory, replayWorkflow, testEngine } from "../../src/testing.ts";

const double = defineJob("double", ({ n }: { n: number }) => 2 * n);
const fails = defineJob("fails", (): number => {
  throw new Error("it always does");
});
const big = defineJob("big", () => "x".repeat(20_000));

/** As it would be written to a file, and read from it. */
const viaFile = (recorded: RecordedHistory): RecordedHistory => JSON.parse(JSON.stringify(recorded)) as RecordedHistory;

type Body<Input, Output> = (ctx: WorkflowContext, input: Input) => Promise<Output>;

const version = <Input, Output>(body: Body<Input, Output>): CodeWorkflow<Input, Promise<Output>> =>
  defineWorkflow("w", body);

/** The history of an instance of this code, as the engine gives it; `during` may do something to it. */
async function record(
  workflow: CodeWorkflow,
  input: unknown,
  during: (engine: Engine) => Promise<unknown> = () => Promise.resolve(),
): Promise<RecordedHistory> {
  const storage = memoryStore();
  const child = defineWorkflow("child", (ctx, n: number) => ctx.run(double, { n }));
  await using kit = await testEngine({ storage, workflows: [workflow, child], jobs: [double, fails, big] });
  await kit.engine.startWorkflow(workflow, input, { instanceId: "i" });
  await kit.clock.advance(3_600_000);
  await during(kit.engine);
  await kit.clock.advance(3_600_000);
  const [row] = await storage.listInstances({ limit: 10, workflow: workflow.name });
  return viaFile(await recordHistory(storage, { id: "i", key: row!.key }));
}

const changed = (message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof EngineError, String(error));
  assert.equal(error.code, "WORKFLOW_CHANGED");
  assert.match(error.message, message);
  return true;
};

const refused = (message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof EngineError, String(error));
  assert.equal(error.code, "OPTION_INVALID");
  assert.match(error.message, message);
  return true;
};

const steps = version(async (ctx, n: number) => {
  const twice = await ctx.run(double, { n });
  await ctx.sleep(1000);
  return await ctx.run(double, { n: twice });
});

describe("replay of a history", () => {
  test("lets the same code pass, and new code that takes the same steps", async () => {
    const recorded = await record(steps, 1);
    await replayWorkflow(steps, recorded);
    const tidied = version(async (ctx, n: number) => {
      const twice = await ctx.run("double", { n });
      ctx.log.info({ twice }, "half way");
      await ctx.createTimer(2000);
      return { fourfold: await ctx.run(double, { n: twice as number }) };
    });
    await replayWorkflow(tidied, recorded);
  });

  test("takes what getWorkflowInstanceHistory gives", async () => {
    await using kit = await testEngine({ workflows: [steps], jobs: [double] });
    const run = await kit.engine.startWorkflow(steps, 1, { instanceId: "i" });
    await kit.clock.until(run.result());
    await replayWorkflow(steps, { instanceId: "i", turns: await kit.engine.getWorkflowInstanceHistory("i") });
  });

  test("calls no job and writes no log", async () => {
    const recorded = await record(steps, 1);
    const before = JSON.stringify(recorded);
    const silent = version(async (ctx, n: number) => {
      assert.equal(ctx.isReplaying, true);
      return await steps.fn(ctx, n);
    });
    await replayWorkflow(silent, recorded);
    assert.equal(JSON.stringify(recorded), before);
  });

  test("names the step that differs: another job, another input, one less, one more", async () => {
    const recorded = await record(steps, 1);
    const replaced = version(async (ctx, n: number) => {
      await ctx.run(double, { n });
      await ctx.sleep(1000);
      await ctx.run(big, undefined);
    });
    const message = /step 2 is on record as activity "double" with \{"n":2\}, but the code now asks for activity "big"/;
    await assert.rejects(replayWorkflow(replaced, recorded), changed(message));
    const otherInput = version((ctx, n: number) => ctx.run(double, { n: n + 1 }));
    await assert.rejects(replayWorkflow(otherInput, recorded), changed(/step 0 .* with \{"n":1\}, .* with \{"n":2\}/));
    const shorter = version(async (ctx, n: number) => {
      await ctx.run(double, { n });
    });
    await assert.rejects(replayWorkflow(shorter, recorded), changed(/step 1 is on record as timer, .* complete/));
    const longer = version(async (ctx, n: number) => {
      await steps.fn(ctx, n);
      await ctx.run(big, undefined);
    });
    await assert.rejects(
      replayWorkflow(longer, recorded),
      changed(/it ended the instance in Success, but now asks for activity "big"/),
    );
    const waiting = version(async (ctx, n: number) => {
      await steps.fn(ctx, n);
      await ctx.waitForEvent("never");
    });
    await assert.rejects(replayWorkflow(waiting, recorded), changed(/ended .* in Success, but now waits/));
  });

  test("works for an instance that has not ended, from any turn of it", async () => {
    const { instanceId, turns } = await record(steps, 1);
    assert.ok(turns.length >= 4);
    const other = version(async (ctx, n: number) => {
      await ctx.sleep(1000);
      await ctx.run(double, { n });
    });
    for (let length = 1; length < turns.length; length++) {
      const unfinished = { instanceId, turns: turns.slice(0, length) };
      await replayWorkflow(steps, unfinished);
      await assert.rejects(replayWorkflow(other, unfinished), changed(/step 0 is on record as activity "double"/));
    }
  });

  test("works from the beginning of the last generation", async () => {
    const loop = version(async (ctx, n: number) => {
      const twice = await ctx.run(double, { n });
      const kept = await ctx.waitForEvent<string>("more", { timeoutMs: 60_000 }).catch(() => "none");
      if (n < 2) return await ctx.continueAsNew(twice, { keepEvents: true });
      ctx.setCustomStatus([ctx.generation, ctx.uuid(), kept]);
      await ctx.run(double, { n: ctx.generation });
      return await ctx.waitForEvent("never");
    });
    const recorded = await record(loop, 1, async (engine) => {
      await engine.raiseEvent("i", "more", "1");
    });
    const [first] = recorded.turns;
    assert.equal(first?.events[0]?.type, "InstanceContinued");
    assert.ok(first.turn > 0);
    await replayWorkflow(loop, recorded);
    const other = version(async (ctx, n: number) => {
      await ctx.run(double, { n: n + ctx.generation });
    });
    await assert.rejects(replayWorkflow(other, recorded), changed(/step 0 .* with \{"n":2\}, .* with \{"n":4\}/));
  });

  test("works for a fork, whose first turn was copied", async () => {
    const storage = memoryStore();
    await using kit = await testEngine({ storage, workflows: [steps], jobs: [double] });
    const run = await kit.engine.startWorkflow(steps, 1, { instanceId: "i" });
    await kit.clock.until(run.result());
    const fork = await kit.engine.forkWorkflowInstance("i", { fromTask: 1, instanceId: "f" });
    await kit.clock.until(fork.result());
    const turns = await kit.engine.getWorkflowInstanceHistory("f");
    await replayWorkflow(steps, viaFile({ instanceId: "f", turns }));
  });

  test("gives the code its failures, events, updates, children, patches and pauses again", async () => {
    const richOf = (isPatched: (ctx: WorkflowContext) => boolean): CodeWorkflow<{ name: string }, Promise<number>> =>
      version(async (ctx, input) => {
        let total = 0;
        ctx.onUpdate("add", async (n: number) => (total += await ctx.run(double, { n })));
        const failure = await ctx.run(fails, undefined, { retryCount: 1 }).catch((error: unknown) => String(error));
        const choice = await ctx.race([ctx.sleep(1).then(() => "slept"), ctx.waitForEvent("never")]);
        const child = await ctx.callChild("child", 4);
        const dog = ctx.startChild("child", 5);
        const way = isPatched(ctx) ? "new" : "old";
        const event = await ctx.waitForEvent<{ ok: boolean }>("go", { schema: z.object({ ok: z.boolean() }) });
        ctx.sendEvent(dog, "fetch", { failure, choice, child, way, event, input });
        ctx.setCustomStatus({ total });
        return await ctx.run(double, { n: total });
      });
    const rich = richOf((ctx) => ctx.patched("newer"));
    const recorded = await record(rich, { name: "x" }, async (engine) => {
      assert.equal(await engine.updateWorkflowInstance("i", "add", 3), 6);
      await engine.pauseWorkflowInstance("i");
      await engine.raiseEvent("i", "go", { ok: true });
      await engine.resumeWorkflowInstance("i");
    });
    assert.equal(recorded.turns.at(-1)?.events.at(-1)?.type, "InstanceEnded");
    await replayWorkflow(rich, recorded);
    const poorer = richOf(() => false);
    await assert.rejects(replayWorkflow(poorer, recorded), changed(/step 4 is on record as patch "newer", but/));
  });

  test("expects an instance that its code had failed to be failed again, and asks nothing of one ended by others", async () => {
    const failing = version((ctx) => ctx.run(fails, undefined));
    const failed = await record(failing, 1);
    await replayWorkflow(failing, failed);
    const forgiving = version((ctx) => ctx.run(fails, undefined).catch(() => 0));
    await assert.rejects(
      replayWorkflow(forgiving, failed),
      changed(/ended the instance in Failed, but now asks for complete/),
    );

    const waiting = version((ctx) => ctx.waitForEvent("never"));
    const canceled = await record(waiting, 1, (engine) => engine.cancelWorkflowInstance("i"));
    await replayWorkflow(waiting, canceled);
    const terminated = await record(waiting, 1, (engine) => engine.terminateWorkflowInstance("i"));
    await replayWorkflow(waiting, terminated);
  });

  test("works for large values, which a recorded history holds", async () => {
    const large = version(async (ctx, input: { text: string }) => {
      const text = await ctx.run(big, undefined);
      const event = await ctx.waitForEvent<string>("go");
      await ctx.run(double, { n: text.length + event.length + input.text.length });
      return text;
    });
    const input = { text: "y".repeat(10_000) };
    const raise = (engine: Engine): Promise<void> => engine.raiseEvent("i", "go", "z".repeat(5000));
    const recorded = await record(large, input, raise);
    assert.equal(JSON.stringify(recorded).includes('"ref"'), false);
    assert.ok(JSON.stringify(recorded).includes('{\\"n\\":35000}'));
    await replayWorkflow(large, recorded);

    const again = version(async (ctx, { text }: { text: string }) => {
      if (ctx.generation < 3) return await ctx.continueAsNew({ text: `${text}${text}` }, { keepEvents: true });
      await ctx.sleep(7200_000);
      return (await ctx.waitForEvent<string>("go")).length + text.length;
    });
    await replayWorkflow(again, await record(again, input, raise));
  });

  test("says what to do about a value that the history only refers to", async () => {
    const large = version((ctx) => ctx.run(big, undefined));
    await using kit = await testEngine({ workflows: [large], jobs: [big] });
    const run = await kit.engine.startWorkflow(large, { text: "y".repeat(9000) }, { instanceId: "i" });
    await kit.clock.until(run.result());
    const turns = await kit.engine.getWorkflowInstanceHistory("i");
    await assert.rejects(
      replayWorkflow(large, { instanceId: "i", turns }),
      refused(/a value of \d+ bytes but does not/),
    );
  });

  test("finds code that waits for something else", async () => {
    const recorded = await record(steps, 1);
    const wrong = version(async (ctx, n: number) => {
      await ctx.run(double, { n });
      await delay(5);
      await ctx.sleep(1000);
    });
    await assert.rejects(replayWorkflow(wrong, recorded), { code: "WORKFLOW_NOT_DURABLE" });
  });

  test("refuses what is not the whole history of such a workflow", async () => {
    const { instanceId, turns } = await record(steps, 1);
    await assert.rejects(replayWorkflow(steps, { instanceId, turns: [] }), refused(/"i" is empty; .* all of it/));
    await assert.rejects(replayWorkflow(steps, { instanceId, turns: turns.slice(1) }), refused(/begins with Task/));
    const gap = { instanceId, turns: turns.filter(({ turn }) => turn !== 1) };
    await assert.rejects(replayWorkflow(steps, gap), refused(/has no turn 1/));
    const renamed = defineWorkflow("another", steps.fn);
    await assert.rejects(replayWorkflow(renamed, { instanceId, turns }), refused(/of workflow "w", not of "another"/));
  });
});
