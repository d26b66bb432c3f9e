/** Spec §8.1 and §5.2, from outside: what clients can do with instances of code workflows. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { z } from "zod";
import { defineJob, defineWorkflow, hasCode, UpdateFailed, WorkflowCanceled } from "../../src/index.ts";
import { CodeRig } from "./code-rig.ts";
import { Gate, says, task, workflow } from "./rig.ts";

const hourMs = 3_600_000;
const echo = defineWorkflow("echo", async (_ctx, input: unknown) => await Promise.resolve(input ?? null));
const waits = defineWorkflow("waits", (ctx) => ctx.waitForEvent("go"));

describe("8.1 start", () => {
  test("8.1 with an id of its own, or a new one each", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [echo] });
    const [a, b] = [await rig.engine.startWorkflow(echo, 1), await rig.engine.startWorkflow(echo, 2)];
    assert.match(a.instanceId, /^[0-9a-f]{8}-[0-9a-f]{4}-7/);
    assert.notEqual(a.instanceId, b.instanceId);
    const own = await rig.engine.startWorkflow(echo, 3, { instanceId: "own" });
    assert.equal(own.instanceId, "own");
    assert.deepEqual(await Promise.all([a.result(), b.result(), own.result()]), [1, 2, 3]);
  });

  test("8.1 an active id is refused; a finished one only may be used again with reuse", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [waits] });
    const first = await rig.engine.startWorkflow(waits, undefined, { instanceId: "w" });
    await assert.rejects(
      rig.engine.startWorkflow(waits, undefined, { instanceId: "w" }),
      says("INSTANCE_EXISTS", 'an active instance with id "w" already exists; it is Running'),
    );
    await assert.rejects(
      rig.engine.startWorkflow(waits, undefined, { instanceId: "w", reuse: true }),
      says("INSTANCE_EXISTS", "Running"),
    );
    await first.raiseEvent("go", 1);
    assert.equal(await first.result(), 1);
    await assert.rejects(
      rig.engine.startWorkflow(waits, undefined, { instanceId: "w" }),
      says("INSTANCE_EXISTS", 'id "w" exists and is Success; choose another id or delete that instance first'),
    );
    const second = await rig.engine.startWorkflow(waits, undefined, { instanceId: "w", reuse: true });
    assert.equal((await second.getStatus()).generation, 2);
    await second.raiseEvent("go", 2);
    assert.equal(await second.result(), 2);
  });

  test("8.1 many starts of one id at once: one of them is it", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [waits] });
    const starts = Array.from({ length: 10 }, () => rig.engine.startWorkflow(waits, undefined, { instanceId: "w" }));
    const settled = await Promise.allSettled(starts);
    assert.equal(settled.filter(({ status }) => status === "fulfilled").length, 1);
    for (const each of settled) if (each.status === "rejected") says("INSTANCE_EXISTS", '"w"')(each.reason);
  });

  test("8.1 an input that does not fit the schema is refused before anything is written", async (t) => {
    const strict = defineWorkflow("strict", { input: z.object({ n: z.number().default(4) }) }, async (ctx, { n }) =>
      ctx.run("note", String(n)),
    );
    const rig = await CodeRig.start(t, { workflows: [strict] });
    await assert.rejects(
      // @ts-expect-error n is a number
      rig.engine.startWorkflow(strict, { n: "four" }, { instanceId: "s" }),
      says("INPUT_INVALID", 'the input of workflow "strict" does not fit its schema', "n"),
    );
    assert.deepEqual(await rig.engine.listWorkflowInstances(), []);
    const handle = await rig.engine.startWorkflow(strict, {}, { instanceId: "s" });
    assert.equal(await handle.result(), "4");
  });

  test("8.1 an output that does not fit its schema fails the instance", async (t) => {
    const strict = defineWorkflow(
      "strict",
      { output: z.number() },
      async (ctx) => (await ctx.run("note", "x")) as number,
    );
    const rig = await CodeRig.start(t, { workflows: [strict] });
    const handle = await rig.engine.startWorkflow(strict, undefined, { instanceId: "s" });
    await assert.rejects(
      handle.result(),
      says("WORKFLOW_FAILED", 'the output of instance "s" does not fit its schema'),
    );
  });

  test("8.1 a workflow that is not registered is refused, with what to do", async (t) => {
    const rig = await CodeRig.start(t);
    await assert.rejects(
      rig.engine.startWorkflow(echo, 1),
      says(
        "WORKFLOW_UNKNOWN",
        'code workflow "echo" in version "1" is not registered',
        '"workflows"',
        "registerWorkflow()",
      ),
    );
    await rig.engine.registerWorkflow(echo);
    assert.equal(await (await rig.engine.startWorkflow(echo, 1)).result(), 1);
    await assert.rejects(
      rig.engine.registerWorkflow(echo),
      says("WORKFLOW_DUPLICATE", 'code workflow "echo" is already registered in version "1"', "its own version"),
    );
  });

  test("8.1 what cannot be written as JSON is refused at the start", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [echo] });
    await assert.rejects(
      rig.engine.startWorkflow(echo, { n: 1n }),
      says("VALUE_NOT_SERIALIZABLE", 'the input of workflow "echo"'),
    );
  });

  test("5.1 everything is an error before start and after stop", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [echo] });
    const { engine } = rig;
    await rig.restart();
    const stopped = says("ENGINE_STATE", "stopped", "new Engine");
    await assert.rejects(engine.startWorkflow(echo, 1), stopped);
    await assert.rejects(engine.raiseEvent("x", "e"), stopped);
    await assert.rejects(engine.queryWorkflowInstance("x", "q"), stopped);
    await assert.rejects(engine.updateWorkflowInstance("x", "u"), stopped);
    await assert.rejects(engine.cancelWorkflowInstance("x"), stopped);
    await assert.rejects(engine.getWorkflowHandle("x"), stopped);
    await assert.rejects(engine.forkWorkflowInstance("x", { fromTask: 0 }), stopped);
    await assert.rejects(engine.signalWithStart(echo, { instanceId: "x", event: { name: "e" } }), stopped);
  });

  test("8.1 an unknown instance is an error everywhere, which names it", async (t) => {
    const { engine } = await CodeRig.start(t, { workflows: [echo] });
    const unknown = says("INSTANCE_UNKNOWN", '"x"');
    await assert.rejects(engine.raiseEvent("x", "e"), unknown);
    await assert.rejects(engine.queryWorkflowInstance("x", "q"), unknown);
    await assert.rejects(engine.updateWorkflowInstance("x", "u"), unknown);
    await assert.rejects(engine.cancelWorkflowInstance("x"), unknown);
    await assert.rejects(engine.getWorkflowHandle("x"), unknown);
    await assert.rejects(engine.forkWorkflowInstance("x", { fromTask: 0 }), unknown);
  });
});

describe("8.1 result and status", () => {
  test("8.1 by handle, by id, again and again, and after a restart", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [waits] });
    const handle = await rig.engine.startWorkflow(waits, undefined, { instanceId: "w" });
    const waiting = [handle.result(), rig.engine.awaitWorkflowInstance("w")];
    await handle.raiseEvent("go", { done: true });
    assert.deepEqual(await Promise.all(waiting), [{ done: true }, { done: true }]);
    assert.deepEqual(await handle.result(), { done: true });
    await rig.restart();
    const again = await rig.engine.getWorkflowHandle("w");
    assert.deepEqual(await again.result(), { done: true });
    const { status, workflowName, workflowVersion, attention } = await again.getStatus();
    assert.deepEqual([status, workflowName, workflowVersion, attention], ["Success", "waits", "1", undefined]);
  });

  test("8.1 list with filters", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [waits, echo] });
    await (await rig.engine.startWorkflow(echo, 1, { instanceId: "e1" })).result();
    await rig.clock.advance(1000);
    await rig.engine.startWorkflow(waits, undefined, { instanceId: "w1" });
    const paused = await rig.engine.startWorkflow(waits, undefined, { instanceId: "w2" });
    await paused.pause();
    const ids = async (filter: Parameters<typeof rig.engine.listWorkflowInstances>[0]): Promise<string[]> =>
      (await rig.engine.listWorkflowInstances(filter)).map(({ id }) => id).toSorted();
    assert.deepEqual(await ids({}), ["e1", "w1", "w2"]);
    assert.deepEqual(await ids({ workflow: "waits" }), ["w1", "w2"]);
    assert.deepEqual(await ids({ status: ["Paused"] }), ["w2"]);
    assert.deepEqual(await ids({ status: ["Success", "Running"] }), ["e1", "w1"]);
    assert.deepEqual(await ids({ idPrefix: "w" }), ["w1", "w2"]);
    assert.deepEqual(await ids({ createdFrom: rig.clock.now() }), ["w1", "w2"]);
  });

  test("8.1 a code workflow has a handle, a DAG a controller, and each says so of the other", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [waits] });
    await rig.engine.startWorkflow(waits, undefined, { instanceId: "code" });
    await assert.rejects(
      rig.engine.getWorkflowController("code"),
      says("INSTANCE_STATE", '"code" is a code workflow', "getWorkflowHandle"),
    );
    const dag = await rig.engine.submitWorkflow(workflow("dag", task("t", "note", "x")), { instanceId: "dag" });
    await dag.result();
    await assert.rejects(rig.engine.queryWorkflowInstance("dag", "q"), says("INSTANCE_STATE", '"dag" is a DAG'));
    await assert.rejects(
      rig.engine.forkWorkflowInstance("dag", { fromTask: 0 }),
      says("INSTANCE_STATE", '"dag" is a DAG'),
    );
  });

  test("8.1 what is for DAGs only is refused for code, in words", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [waits] });
    await rig.engine.startWorkflow(waits, undefined, { instanceId: "w" });
    await assert.rejects(
      rig.engine.updateContext("w", { a: 1 }),
      says("INSTANCE_STATE", 'instance "w" is a code workflow: its tasks and data are its code\'s own', "fork it"),
    );
  });

  test("8.1 what is for code only is refused for a DAG, in words", async (t) => {
    const gate = new Gate();
    const wait = defineJob("wait", () => gate.opened);
    const rig = await CodeRig.start(t, { jobs: [wait] });
    const dag = await rig.engine.submitWorkflow(workflow("dag", task("t", "wait")), { instanceId: "d" });
    await assert.rejects(rig.engine.raiseEvent("d", "e"), says("INSTANCE_STATE", '"d"', "DAG"));
    await assert.rejects(rig.engine.updateWorkflowInstance("d", "u"), says("INSTANCE_STATE", '"d"', "DAG"));
    gate.open();
    await dag.result();
  });
});

describe("8.1 queries", () => {
  const counting = defineWorkflow("counting", async (ctx) => {
    let heard = 0;
    ctx.onQuery("heard", () => heard);
    ctx.onQuery("times", (n: number) => heard * n);
    ctx.onQuery("broken", () => {
      throw new Error("cannot say");
    });
    ctx.onQuery("slow", async () => await Promise.resolve(1));
    while ((await ctx.waitForEvent<string>("word")) !== "end") heard++;
    return heard;
  });

  test("8.1 are answered from the code's variables, with what the client asks", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [counting] });
    const handle = await rig.engine.startWorkflow(counting, undefined, { instanceId: "c" });
    assert.equal(await handle.query("heard"), 0);
    await handle.raiseEvent("word", "a");
    await handle.raiseEvent("word", "b");
    assert.equal(await handle.query("times", 10), 20);
    const before = await rig.eventTypes("c");
    await handle.query("heard");
    assert.deepEqual(await rig.eventTypes("c"), before);
  });

  test("8.1 also after a restart, after eviction and after the end", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [counting], idleMs: hourMs });
    const handle = await rig.engine.startWorkflow(counting, undefined, { instanceId: "c" });
    await handle.raiseEvent("word", "a");
    await rig.restart();
    assert.equal(await rig.engine.queryWorkflowInstance("c", "heard"), 1);
    await rig.clock.advance(2 * hourMs);
    assert.equal(rig.engine.health.instancesInMemory, 0);
    assert.equal(await rig.engine.queryWorkflowInstance("c", "heard"), 1);
    await rig.engine.raiseEvent("c", "word", "end");
    await rig.engine.awaitWorkflowInstance("c");
    assert.equal(await rig.engine.queryWorkflowInstance("c", "heard"), 1);
    await rig.restart();
    assert.equal(await rig.engine.queryWorkflowInstance("c", "times", 3), 3);
    assert.equal((await rig.engine.getWorkflowInstanceStatus("c")).status, "Success");
  });

  test("8.1 one that nobody answers, or that throws, is told in words", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [counting, waits] });
    const handle = await rig.engine.startWorkflow(counting, undefined, { instanceId: "c" });
    await assert.rejects(
      handle.query("herd"),
      says(
        "HANDLER_UNKNOWN",
        'workflow "counting" answers no query "herd"',
        'it answers "heard", "times", "broken", "slow"',
      ),
    );
    await assert.rejects(
      handle.query("broken"),
      says("HANDLER_FAILED", 'query "broken" of instance "c" threw: cannot say'),
    );
    await assert.rejects(handle.query("slow"), says("HANDLER_FAILED", "its handler is async", "answers at once"));
    const silent = await rig.engine.startWorkflow(waits, undefined);
    await assert.rejects(silent.query("x"), says("HANDLER_UNKNOWN", "it answers none"));
    assert.equal(await handle.query("heard"), 0);
  });

  test("8.1 one that takes a step is refused, and the instance goes on unharmed", async (t) => {
    const pushy = defineWorkflow("pushy", async (ctx) => {
      ctx.onQuery("work", () => void ctx.run("note", "never"));
      ctx.onQuery("chance", () => ctx.random());
      ctx.onUpdate("picky", { validate: () => void ctx.run("note", "never"), handler: () => "let in" });
      return await ctx.waitForEvent("go");
    });
    const rig = await CodeRig.start(t, { workflows: [pushy] });
    const handle = await rig.engine.startWorkflow(pushy, undefined);
    const mayOnlyLook = says("WORKFLOW_NOT_DURABLE", "query", "update", "it may only look");
    await assert.rejects(handle.query("work"), mayOnlyLook);
    await assert.rejects(handle.query("chance"), mayOnlyLook);
    await assert.rejects(handle.update("picky"), mayOnlyLook);
    assert.equal((await handle.getStatus()).attention, undefined);
    await handle.raiseEvent("go", 1);
    assert.equal(await handle.result(), 1);
    assert.deepEqual(rig.calls, []);
  });
});

describe("8.1 updates", () => {
  const account = defineWorkflow("account", async (ctx, start: number) => {
    let balance = start;
    ctx.onQuery("balance", () => balance);
    ctx.onUpdate("deposit", {
      input: z.number().positive(),
      handler: async (amount) => {
        await ctx.run("note", `deposit ${amount}`);
        return (balance += amount);
      },
    });
    ctx.onUpdate("withdraw", {
      validate: (amount: number) => {
        if (amount > balance) throw new Error(`only ${balance} left`);
      },
      handler: (amount) => (balance -= amount),
    });
    ctx.onUpdate("break", async () => {
      await ctx.run("refuse", "that");
    });
    ctx.onUpdate("slow", () => ctx.waitForEvent("answer"));
    await ctx.waitForEvent("close");
    return balance;
  });

  test("8.1 change things, may take steps, and are answered when that is durable", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [account] });
    const handle = await rig.engine.startWorkflow(account, 10, { instanceId: "a" });
    assert.equal(await handle.update("deposit", 5), 15);
    assert.equal(await handle.update("withdraw", 3), 12);
    assert.equal(await handle.query("balance"), 12);
    assert.deepEqual(rig.calls, ["deposit 5"]);
    await rig.restart();
    assert.equal(await rig.engine.updateWorkflowInstance("a", "withdraw", 2), 10);
    await rig.engine.raiseEvent("a", "close");
    assert.equal(await rig.engine.awaitWorkflowInstance("a"), 10);
  });

  test("8.1 are checked before anything is written", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [account] });
    const handle = await rig.engine.startWorkflow(account, 10, { instanceId: "a" });
    const before = await rig.eventTypes("a");
    await assert.rejects(
      handle.update("withdraw", 11),
      says("INPUT_INVALID", 'update "withdraw" was not let in: only 10 left'),
    );
    await assert.rejects(
      handle.update("deposit", -1),
      says("INPUT_INVALID", 'the input of update "deposit" does not fit its schema'),
    );
    await assert.rejects(
      handle.update("steal"),
      says("HANDLER_UNKNOWN", 'answers no update "steal"; it answers "deposit", "withdraw", "break", "slow"'),
    );
    assert.deepEqual(await rig.eventTypes("a"), before);
  });

  test("8.1 one that fails tells so, and the instance goes on", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [account] });
    const handle = await rig.engine.startWorkflow(account, 10);
    await assert.rejects(handle.update("break"), (error) => {
      assert.ok(error instanceof UpdateFailed);
      assert.ok(hasCode(error, "HANDLER_FAILED"));
      assert.equal(error.failure.type, "StepFailed");
      assert.equal(error.message, 'update "break" failed: activity "refuse" failed: no that here');
      return true;
    });
    assert.equal(await handle.update("deposit", 1), 11);
  });

  test("8.1 the same update id is the same update, also after a restart", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [account] });
    const handle = await rig.engine.startWorkflow(account, 10, { instanceId: "a" });
    assert.equal(await handle.update("withdraw", 10, { updateId: "u" }), 0);
    assert.equal(await handle.update("withdraw", 10, { updateId: "u" }), 0);
    await rig.restart();
    assert.equal(await rig.engine.updateWorkflowInstance("a", "withdraw", 10, { updateId: "u" }), 0);
    assert.equal(await rig.engine.queryWorkflowInstance("a", "balance"), 0);
  });

  test("8.1 the same update id from two clients at once is done once, and both are answered", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [account] });
    const handle = await rig.engine.startWorkflow(account, 10);
    const twice = [handle.update("deposit", 5, { updateId: "u" }), handle.update("deposit", 5, { updateId: "u" })];
    assert.deepEqual(await Promise.all(twice), [15, 15]);
    assert.deepEqual(rig.calls, ["deposit 5"]);
  });

  test("8.1 one of an ended instance is refused; one that the end overtakes hears of it", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [account] });
    const handle = await rig.engine.startWorkflow(account, 10, { instanceId: "a" });
    const slow = assert.rejects(
      handle.update("slow"),
      says("INSTANCE_STATE", 'instance "a" ended in Success before it answered'),
    );
    await rig.settle();
    await handle.raiseEvent("close");
    await slow;
    await assert.rejects(
      handle.update("deposit", 1),
      says("INSTANCE_STATE", 'cannot update instance "a": it is Success'),
    );
  });

  test("8.1 one that continue-as-new overtakes hears of it", async (t) => {
    const renewing = defineWorkflow("renewing", async (ctx, round: number): Promise<string> => {
      ctx.onUpdate("slow", () => ctx.waitForEvent("never"));
      await ctx.waitForEvent("renew");
      return round === 2 ? "end" : await ctx.continueAsNew(2);
    });
    const rig = await CodeRig.start(t, { workflows: [renewing] });
    const handle = await rig.engine.startWorkflow(renewing, 1, { instanceId: "r" });
    const slow = assert.rejects(
      handle.update("slow"),
      says("INSTANCE_STATE", 'instance "r" began anew before it answered'),
    );
    await rig.settle();
    await handle.raiseEvent("renew");
    await slow;
    await handle.raiseEvent("renew");
    assert.equal(await handle.result(), "end");
  });

  /** An entity that begins anew after so many updates. */
  const entity = defineWorkflow("entity", async (ctx, { n, perGeneration }: { n: number; perGeneration: number }) => {
    let total = n;
    let seen = 0;
    const isFull = Promise.withResolvers<void>();
    ctx.onQuery("total", () => total);
    ctx.onUpdate("add", (more: number) => {
      total += more;
      if (++seen === perGeneration) isFull.resolve();
      return total;
    });
    await ctx.race([isFull.promise, ctx.waitForEvent("anew")]);
    return await ctx.continueAsNew({ n: total, perGeneration });
  });

  for (const perGeneration of [1, 10, 30]) {
    test(`8.1 that meet continue-as-new are answered by the next generation: ${perGeneration} in each`, async (t) => {
      const rig = await CodeRig.start(t, { workflows: [entity] });
      const handle = await rig.engine.startWorkflow(entity, { n: 0, perGeneration }, { instanceId: "e" });
      for (let batch = 1; batch <= 3; batch++) {
        const answers = await Promise.all(Array.from({ length: 50 }, () => handle.update("add", 1)));
        const from = (batch - 1) * 50;
        assert.deepEqual(
          answers.toSorted((a, b) => (a as number) - (b as number)),
          Array.from({ length: 50 }, (_, n) => from + n + 1),
        );
      }
      assert.equal(await handle.query("total"), 150);
      assert.equal((await handle.getStatus()).generation, 1 + 150 / perGeneration);
    });
  }

  test("8.1 so are queries", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [entity] });
    const handle = await rig.engine.startWorkflow(entity, { n: 7, perGeneration: 1 }, { instanceId: "e" });
    const answers: Promise<unknown>[] = [];
    for (let n = 0; n < 50; n++) {
      void handle.raiseEvent("anew");
      answers.push(handle.query("total"));
    }
    assert.deepEqual(new Set(await Promise.all(answers)), new Set([7]));
    assert.ok((await handle.getStatus()).generation > 2);
  });

  test("8.1 but code that begins anew without end refuses them", async (t) => {
    const restless = defineWorkflow("restless", (ctx) => ctx.continueAsNew());
    const rig = await CodeRig.start(t, { workflows: [restless] });
    const handle = await rig.engine.startWorkflow(restless, undefined, { instanceId: "r" });
    for (const ask of [() => handle.query("total"), () => handle.update("add", 1)]) {
      await assert.rejects(ask(), says("INSTANCE_STATE", "it begins anew again and again"));
    }
    await handle.terminate();
  });

  test("8.1 one that is answered right before continue-as-new is heard all the same", async (t) => {
    const renewing = defineWorkflow("renewing", async (ctx, round: number): Promise<string> => {
      const asked = new Promise<void>((resolve) => {
        ctx.onUpdate("renew", () => {
          resolve();
          return `round ${round} is over`;
        });
      });
      await ctx.race([asked, ctx.sleep(hourMs)]);
      return round === 2 ? "end" : await ctx.continueAsNew(2);
    });
    const rig = await CodeRig.start(t, { workflows: [renewing] });
    const handle = await rig.engine.startWorkflow(renewing, 1);
    assert.equal(await handle.update("renew"), "round 1 is over");
    assert.equal(await handle.update("renew"), "round 2 is over");
    assert.equal(await handle.result(), "end");
  });

  test("8.1 a large answer is there for the whole of the next generation, and goes with it", async (t) => {
    const renewing = defineWorkflow("renewing", async (ctx, round: number): Promise<string> => {
      ctx.onUpdate("large", () => `${round}`.repeat(10_000));
      await ctx.waitForEvent("renew");
      return round === 3 ? "end" : await ctx.continueAsNew(round + 1);
    });
    const rig = await CodeRig.start(t, { workflows: [renewing] });
    await rig.engine.startWorkflow(renewing, 1, { instanceId: "r" });
    const ask = (): Promise<string> => rig.engine.updateWorkflowInstance("r", "large", undefined, { updateId: "u" });
    assert.equal(await ask(), "1".repeat(10_000));
    await rig.engine.raiseEvent("r", "renew");
    await rig.restart();
    assert.equal(await ask(), "1".repeat(10_000), "it is the same update");
    await rig.engine.raiseEvent("r", "renew");
    assert.equal(await ask(), "3".repeat(10_000), "nobody knows of the first any more");
  });

  test("8.1 one that arrives while the instance is paused is answered when it is resumed", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [account] });
    const handle = await rig.engine.startWorkflow(account, 10);
    await handle.pause();
    const answer = handle.update("deposit", 5);
    await rig.settle();
    assert.equal(await handle.query("balance"), 10);
    await handle.resume();
    assert.equal(await answer, 15);
  });
});

describe("5.2 pause and resume", () => {
  test("5.2 a code workflow is Paused at once: running activities finish, and nothing follows from them", async (t) => {
    const gate = new Gate();
    const wait = defineJob("wait", () => gate.opened);
    const chain = defineWorkflow("chain", async (ctx) => {
      await ctx.run(wait);
      return await ctx.run("note", "after");
    });
    const rig = await CodeRig.start(t, { workflows: [chain], jobs: [wait] });
    const handle = await rig.engine.startWorkflow(chain, undefined, { instanceId: "c" });
    await rig.clock.advance(1000);
    await handle.pause();
    const paused = await handle.getStatus();
    assert.deepEqual([paused.status, paused.pausing], ["Paused", false]);
    gate.open();
    await rig.settle();
    assert.equal((await handle.getStatus()).tasks[0]?.status, "Success");
    assert.deepEqual(rig.calls, []);
    await rig.restart();
    await rig.settle();
    assert.deepEqual(rig.calls, []);
    await rig.engine.resumeWorkflowInstance("c");
    assert.equal(await rig.engine.awaitWorkflowInstance("c"), "after");
  });

  test("5.2 timers and retry waits that come due stay until resume", async (t) => {
    let attempts = 0;
    const flaky = defineJob("flaky", () => {
      if (attempts++ === 0) throw new Error("not yet");
    });
    const both = defineWorkflow("both", async (ctx) => {
      await ctx.all([
        ctx.sleep(60_000),
        ctx.run(flaky, undefined, { retryCount: 1, retryPolicy: { initialMs: 60_000 } }),
      ]);
      return ctx.now();
    });
    const rig = await CodeRig.start(t, { workflows: [both], jobs: [flaky] });
    const handle = await rig.engine.startWorkflow(both, undefined);
    await rig.settle();
    await handle.pause();
    await rig.clock.advance(hourMs);
    assert.equal(attempts, 1);
    assert.equal((await handle.getStatus()).status, "Paused");
    await handle.resume();
    assert.equal(await handle.result(), rig.clock.now());
    assert.equal(attempts, 2);
  });

  test("5.2 events that come while it is paused are seen at resume, in order and at that time", async (t) => {
    const two = defineWorkflow("two", async (ctx) => [
      [await ctx.waitForEvent("e"), ctx.now()],
      [await ctx.waitForEvent("e"), ctx.now()],
    ]);
    const rig = await CodeRig.start(t, { workflows: [two] });
    const handle = await rig.engine.startWorkflow(two, undefined, { instanceId: "t" });
    await handle.pause();
    await handle.raiseEvent("e", 1);
    await rig.clock.advance(5000);
    await handle.raiseEvent("e", 2);
    await rig.clock.advance(5000);
    await handle.resume();
    const now = rig.clock.now();
    assert.deepEqual(await handle.result(), [
      [1, now],
      [2, now],
    ]);
    await rig.restart();
    assert.deepEqual(await rig.engine.awaitWorkflowInstance("t"), [
      [1, now],
      [2, now],
    ]);
  });

  test("5.2 an instance timeout keeps counting while it is paused", async (t) => {
    const timed = defineWorkflow("timed", { timeoutSeconds: 60 }, (ctx) => ctx.waitForEvent("never"));
    const rig = await CodeRig.start(t, { workflows: [timed] });
    const handle = await rig.engine.startWorkflow(timed, undefined, { instanceId: "t" });
    await handle.pause();
    await assert.rejects(
      rig.clock.until(handle.result()),
      says("WORKFLOW_FAILED", "the instance did not end within its timeout of 60 s"),
    );
  });

  test("5.2 an operation that the state does not allow is refused with the state", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [waits] });
    const handle = await rig.engine.startWorkflow(waits, undefined, { instanceId: "w" });
    const cannot = (what: string, status: string) =>
      says("INSTANCE_STATE", `cannot ${what} instance "w": it is ${status}`);
    await assert.rejects(handle.resume(), cannot("resume", "Running"));
    await assert.rejects(rig.engine.retryWorkflowInstance("w"), cannot("retry", "Running"));
    await handle.pause();
    await assert.rejects(handle.pause(), cannot("pause", "Paused"));
    await handle.resume();
    await handle.raiseEvent("go");
    await handle.result();
    await assert.rejects(handle.pause(), cannot("pause", "Success"));
    await assert.rejects(handle.resume(), cannot("resume", "Success"));
    await assert.rejects(handle.cancel(), cannot("cancel", "Success"));
    await assert.rejects(handle.terminate(), cannot("terminate", "Success"));
    await assert.rejects(handle.raiseEvent("go"), cannot("raise an event for", "Success"));
    await assert.rejects(rig.engine.retryWorkflowInstance("w"), cannot("retry", "Success"));
  });
});

describe("8.1 cooperative cancel", () => {
  test("8.1 waits reject, onCancel and then undo run durably, and the instance ends Terminated", async (t) => {
    const polite = defineWorkflow("polite", async (ctx) => {
      await ctx.run("note", "book", { undo: async () => void (await ctx.run("note", "undo book")) });
      ctx.onCancel(async () => void (await ctx.run("note", `canceled: ${ctx.cancelReason}`)));
      await ctx.sleep(hourMs);
    });
    const rig = await CodeRig.start(t, { workflows: [polite] });
    const handle = await rig.engine.startWorkflow(polite, undefined, { instanceId: "p" });
    await rig.settle();
    await handle.cancel("changed my mind");
    await assert.rejects(handle.result(), says("WORKFLOW_TERMINATED", 'instance "p" was terminated: changed my mind'));
    assert.deepEqual(rig.calls, ["book", "canceled: changed my mind", "undo book"]);
    assert.equal((await handle.getStatus()).status, "Terminated");
  });

  test("8.1 goes on after a restart, and asking twice is asking once", async (t) => {
    const gate = new Gate();
    const slow = defineJob("slow", async (_: undefined, ctx) => {
      await Promise.race([
        gate.opened,
        new Promise((_resolve, reject) => ctx.signal.addEventListener("abort", reject)),
      ]);
    });
    const polite = defineWorkflow("polite", async (ctx) => {
      ctx.undo(async () => void (await ctx.run("note", "undone")));
      ctx.onCancel(() => ctx.run(slow));
      await ctx.waitForEvent("never");
    });
    const rig = await CodeRig.start(t, { workflows: [polite], jobs: [slow] });
    const handle = await rig.engine.startWorkflow(polite, undefined, { instanceId: "p" });
    await handle.cancel("first");
    await handle.cancel("second");
    await rig.restart();
    gate.open();
    await assert.rejects(rig.engine.awaitWorkflowInstance("p"), says("WORKFLOW_TERMINATED", "first"));
    assert.deepEqual(rig.calls, ["undone"]);
  });

  test("8.1 the code may catch it and end as it likes", async (t) => {
    const stubborn = defineWorkflow("stubborn", async (ctx) => {
      try {
        await ctx.waitForEvent("never");
      } catch (error) {
        assert.ok(error instanceof WorkflowCanceled);
        return { kept: error.reason, and: await ctx.run("note", "tidied") };
      }
      return undefined;
    });
    const rig = await CodeRig.start(t, { workflows: [stubborn] });
    const handle = await rig.engine.startWorkflow(stubborn, undefined);
    await handle.cancel("please");
    assert.deepEqual(await handle.result(), { kept: "please", and: "tidied" });
  });

  test("8.1 a running activity gets the signal", async (t) => {
    const reasons: unknown[] = [];
    const endless = defineJob("endless", (_: undefined, ctx) => {
      ctx.signal.addEventListener("abort", () => reasons.push(ctx.taskId));
      return new Promise<never>(() => undefined);
    });
    const calls = defineWorkflow("calls", (ctx) => ctx.run(endless));
    const rig = await CodeRig.start(t, { workflows: [calls], jobs: [endless] });
    const handle = await rig.engine.startWorkflow(calls, undefined, { instanceId: "c" });
    await rig.settle();
    await handle.cancel();
    await assert.rejects(handle.result(), says("WORKFLOW_TERMINATED", "canceled by user"));
    assert.deepEqual(reasons, ["c::0"]);
  });

  test("8.1 of a paused instance resumes it: what came meanwhile is seen, and what follows from it is called off", async (t) => {
    const gate = new Gate();
    const book = defineJob("book", async () => {
      await gate.opened;
      return "booked";
    });
    const polite = defineWorkflow("polite", async (ctx) => {
      await ctx.run(book, undefined, { undo: async () => void (await ctx.run("note", "undo book")) });
      await ctx.run("note", "never seen through");
      await ctx.run("note", "never");
    });
    const rig = await CodeRig.start(t, { workflows: [polite], jobs: [book] });
    const handle = await rig.engine.startWorkflow(polite, undefined, { instanceId: "p" });
    await rig.clock.advance(1000);
    await handle.pause();
    gate.open();
    await rig.settle();
    await handle.cancel("enough");
    await assert.rejects(handle.result(), says("WORKFLOW_TERMINATED", "enough"));
    assert.deepEqual(rig.calls.slice(-1), ["undo book"]);
    assert.equal(rig.calls.includes("never"), false);
    assert.deepEqual(
      (await handle.getStatus()).tasks.map(({ name, status }) => `${name} ${status}`),
      ["book Success", "note Stopped", "note Success"],
    );
  });

  test("8.1 branches that nobody waits for any more do not end the process", async () => {
    const program = fileURLToPath(new URL("./children/lone-branches.ts", import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, [program]);
    assert.deepEqual(stdout.split("\n"), ["WORKFLOW_TERMINATED", "thrown in a branch", ""]);
  });

  test("8.1 while it is undoing after a failure, cancel does not stop that", async (t) => {
    const gate = new Gate();
    const slow = defineJob("slow", () => gate.opened);
    const undoing = defineWorkflow("undoing", async (ctx) => {
      ctx.undo(async () => void (await ctx.run("note", "undone")));
      ctx.undo(() => ctx.run(slow));
      await ctx.run("refuse", "it");
    });
    const rig = await CodeRig.start(t, { workflows: [undoing], jobs: [slow] });
    const handle = await rig.engine.startWorkflow(undoing, undefined);
    await rig.settle();
    await handle.cancel("too late");
    await rig.settle();
    gate.open();
    await assert.rejects(handle.result(), says("WORKFLOW_FAILED", /failed: activity "refuse" failed: no it here$/));
    assert.deepEqual(rig.calls, ["it", "undone"]);
  });

  test("8.1 a cancel while a saga is being undone is kept, also over a restart, and heeded after that", async (t) => {
    const gate = new Gate();
    const slow = defineJob("slow", () => gate.opened);
    const booking = defineWorkflow("booking", async (ctx) => {
      await ctx.run("note", "outer", { undo: async () => void (await ctx.run("note", "undo outer")) });
      ctx.onCancel(async () => void (await ctx.run("note", `canceled: ${ctx.cancelReason}`)));
      await ctx
        .saga(async (own) => {
          own.undo(async () => void (await own.run("note", "undo inner")));
          own.undo(() => own.run(slow));
          await own.run("refuse", "it");
        })
        .catch(async (error: unknown) => {
          await ctx.run("note", `went on after ${(error as Error).name}`);
          throw error;
        });
    });
    const rig = await CodeRig.start(t, { workflows: [booking], jobs: [slow] });
    await rig.engine.startWorkflow(booking, undefined, { instanceId: "b" });
    await rig.settle();
    await rig.engine.cancelWorkflowInstance("b", "enough");
    assert.deepEqual((await rig.eventTypes("b")).slice(-1), ["CancelRequested"], "it is durable, and stops nothing");
    await rig.restart();
    gate.open();
    await assert.rejects(rig.engine.awaitWorkflowInstance("b"), says("WORKFLOW_TERMINATED", "enough"));
    const ways = ["canceled: enough", "undo outer"];
    assert.deepEqual(rig.calls, ["outer", "it", "undo inner", "went on after WorkflowCanceled", ...ways]);
  });

  test("8.1 a cancel that was not heeded goes on to the next generation", async (t) => {
    const gate = new Gate();
    const slow = defineJob("slow", () => gate.opened);
    const anew = defineWorkflow("anew", async (ctx, first: boolean) => {
      if (!first) return await ctx.waitForEvent("never");
      const saga = ctx.saga(async (own) => {
        own.undo(() => own.run(slow));
        await own.run("refuse", "it");
      });
      return await ctx.race([saga, ctx.waitForEvent("on").then(() => ctx.continueAsNew(false))]);
    });
    const rig = await CodeRig.start(t, { workflows: [anew], jobs: [slow] });
    const handle = await rig.engine.startWorkflow(anew, true, { instanceId: "a" });
    await rig.settle();
    await handle.cancel("enough");
    await handle.raiseEvent("on");
    await assert.rejects(handle.result(), says("WORKFLOW_TERMINATED", "enough"));
    gate.open();
  });
});

describe("5.2 terminate", () => {
  test("5.2 running activities are aborted, the reason is stored, and no code of it runs on", async (t) => {
    const aborted: string[] = [];
    const endless = defineJob("endless", (_: undefined, ctx) => {
      ctx.signal.addEventListener("abort", () => aborted.push(ctx.taskId));
      return new Promise<never>(() => undefined);
    });
    const ends: string[] = [];
    const calls = defineWorkflow("calls", async (ctx) => {
      ctx.undo(() => void ends.push("undo"));
      ctx.onCancel(() => void ends.push("onCancel"));
      try {
        await ctx.run(endless);
      } finally {
        ends.push("finally");
      }
    });
    const rig = await CodeRig.start(t, { workflows: [calls], jobs: [endless] });
    const handle = await rig.engine.startWorkflow(calls, undefined, { instanceId: "c" });
    await rig.settle();
    await handle.terminate("enough");
    await assert.rejects(handle.result(), says("WORKFLOW_TERMINATED", 'instance "c" was terminated: enough'));
    assert.deepEqual(aborted, ["c::0"]);
    await rig.settle();
    assert.deepEqual(ends, []);
    const view = await handle.getStatus();
    assert.deepEqual([view.status, view.reason, view.tasks[0]?.status], ["Terminated", "enough", "Stopped"]);
  });

  test("3.10 retry of an ended one runs it from the beginning, under a new generation", async (t) => {
    let isBroken = true;
    const fragile = defineJob("fragile", (n: number) => {
      if (isBroken) throw new Error("broken");
      return n;
    });
    const two = defineWorkflow("two", async (ctx, n: number) => {
      await ctx.run("note", `run ${ctx.generation}`);
      return await ctx.run(fragile, n);
    });
    const rig = await CodeRig.start(t, { workflows: [two], jobs: [fragile] });
    const handle = await rig.engine.startWorkflow(two, 7, { instanceId: "t" });
    await assert.rejects(handle.result(), says("WORKFLOW_FAILED", "broken"));
    isBroken = false;
    await rig.engine.retryWorkflowInstance("t");
    assert.equal(await handle.result(), 7);
    assert.deepEqual(rig.calls, ["run 1", "run 2"]);
    assert.equal((await handle.getStatus()).generation, 2);
  });
});

describe("8.1 purge", () => {
  const inner = defineWorkflow("inner", (ctx) => ctx.run("note", "inner"));
  const middle = defineWorkflow("middle", (ctx) => ctx.callChild(inner));
  const outer = defineWorkflow("outer", async (ctx) => {
    ctx.startChild(inner, undefined, { instanceId: "apart" });
    return await ctx.callChild(middle);
  });

  test("8.1 is recursive where wanted, and refuses what has not ended", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [inner, middle, outer, waits] });
    const handle = await rig.engine.startWorkflow(outer, undefined, { instanceId: "o" });
    await handle.result();
    await rig.engine.awaitWorkflowInstance("apart");
    const ids = async (): Promise<string[]> =>
      (await rig.engine.listWorkflowInstances()).map(({ id }) => id).toSorted();
    assert.deepEqual(await ids(), ["apart", "o", "o/1", "o/1/0"]);
    assert.equal(await rig.engine.purgeWorkflowInstances({ instanceId: "o", recursive: true }), 4);
    assert.deepEqual(await ids(), []);
    await rig.engine.startWorkflow(waits, undefined, { instanceId: "w" });
    await assert.rejects(
      rig.engine.purgeWorkflowInstances({ instanceId: "w", recursive: true }),
      says("INSTANCE_STATE", 'cannot purge instance "w": it is Running; terminate it first'),
    );
  });

  const borrower = defineWorkflow("borrower", async (ctx, id: string) => {
    ctx.startChild(inner, undefined, { instanceId: "left", whenParentEnds: "leave" });
    await ctx.callChild(inner, undefined, { instanceId: id }).catch(() => undefined);
    return await ctx.callChild(inner, undefined, { instanceId: "own" });
  });

  test("8.1 an instance that has an id which the code chose for a child is none of its children", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [inner, waits, borrower] });
    await (await rig.engine.startWorkflow(inner, undefined, { instanceId: "other" })).result();
    await (await rig.engine.startWorkflow(borrower, "other", { instanceId: "b" })).result();
    await rig.engine.awaitWorkflowInstance("left");
    const gone: string[] = [];
    await rig.engine.purgeWorkflowInstances({ instanceId: "b", recursive: true, onPurged: (id) => gone.push(id) });
    assert.deepEqual(gone, ["own", "b"]);
    await rig.engine.startWorkflow(waits, undefined, { instanceId: "active" });
    await (await rig.engine.startWorkflow(borrower, "active", { instanceId: "b" })).result();
    assert.equal(await rig.engine.purgeWorkflowInstances({ instanceId: "b", recursive: true }), 2);
    const left = (await rig.engine.listWorkflowInstances()).map(({ id, status }) => `${id} ${status}`);
    assert.deepEqual(left.toSorted(), ["active Running", "left Success", "other Success"]);
  });

  test("8.1 without it the children stay", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [inner, middle] });
    await (await rig.engine.startWorkflow(middle, undefined, { instanceId: "m" })).result();
    assert.equal(await rig.engine.purgeWorkflowInstances({ instanceId: "m" }), 1);
    assert.deepEqual(
      (await rig.engine.listWorkflowInstances()).map(({ id }) => id),
      ["m/0"],
    );
  });
});

describe("8.1 fork", () => {
  const steps = defineWorkflow("steps", async (ctx, from: string) => {
    const first = await ctx.run("note", `${from} 1`);
    const word = await ctx.waitForEvent<string>("word");
    const second = await ctx.run("note", `${from} 2 ${word}`);
    return [first, second, await ctx.run("note", `${from} 3`)];
  });

  test("8.1 a new instance goes on from one of the tasks, with what had happened before it", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [steps] });
    const handle = await rig.engine.startWorkflow(steps, "x", { instanceId: "s" });
    await handle.raiseEvent("word", "hello");
    await handle.result();
    const before = await rig.eventTypes("s");
    rig.calls.length = 0;
    const fork = await rig.engine.forkWorkflowInstance("s", { fromTask: 1, instanceId: "f" });
    assert.deepEqual(await fork.result(), ["x 1", "x 2 hello", "x 3"]);
    assert.deepEqual(rig.calls, ["x 2 hello", "x 3"]);
    assert.deepEqual(await rig.eventTypes("s"), before);
    assert.equal(rig.calls.length, 2);
    await rig.restart();
    assert.deepEqual(await rig.engine.awaitWorkflowInstance("f"), ["x 1", "x 2 hello", "x 3"]);
  });

  test("8.1 from the first, and of one that failed with code that is right now", async (t) => {
    const broken = defineWorkflow("job", async (ctx) => {
      await ctx.run("note", "one");
      await ctx.run("refuse", "two");
      return "never";
    });
    const rig = await CodeRig.start(t, { workflows: [broken] });
    const failed = await rig.engine.startWorkflow(broken, undefined, { instanceId: "b" });
    await assert.rejects(failed.result(), says("WORKFLOW_FAILED", "no two here"));
    const right = defineWorkflow("job", async (ctx) => {
      await ctx.run("note", "one");
      return await ctx.run("note", "two");
    });
    await rig.restart({ workflows: [right] });
    rig.calls.length = 0;
    const fork = await rig.engine.forkWorkflowInstance("b", { fromTask: 1 });
    assert.equal(await fork.result(), "two");
    const anew = await rig.engine.forkWorkflowInstance("b", { fromTask: 0 });
    assert.equal(await anew.result(), "two");
    assert.deepEqual(rig.calls, ["two", "one", "two"]);
  });

  test("8.1 large values come along, and what was under way is begun anew: activities, timers and children", async (t) => {
    const gate = new Gate();
    const slow = defineJob("slow", async (_: undefined, ctx) => {
      await gate.opened;
      return ctx.instanceId;
    });
    const big = defineJob("big", () => "x".repeat(50_000));
    const child = defineWorkflow("child", (ctx) => ctx.run(slow));
    const mixed = defineWorkflow("mixed", async (ctx) => {
      const text = await ctx.run(big);
      const [own, below] = await ctx.all([ctx.run(slow), ctx.callChild(child), ctx.sleep(hourMs)]);
      const last = await ctx.run("note", "last");
      return { length: text.length, own, below, last };
    });
    const rig = await CodeRig.start(t, { workflows: [mixed, child], jobs: [slow, big] });
    await rig.engine.startWorkflow(mixed, undefined, { instanceId: "m" });
    await rig.settle();
    // The child is the third task, and was asked for in the same breath as the second.
    const fork = await rig.engine.forkWorkflowInstance("m", { fromTask: 2, instanceId: "f" });
    gate.open();
    assert.deepEqual(await rig.clock.until(fork.result()), { length: 50_000, own: "f", below: "f/2", last: "last" });
    assert.deepEqual(await rig.clock.until(rig.engine.awaitWorkflowInstance("m")), {
      length: 50_000,
      own: "m",
      below: "m/2",
      last: "last",
    });
  });

  test("8.1 from a task that is not there is refused", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [echo] });
    await (await rig.engine.startWorkflow(echo, 1, { instanceId: "e" })).result();
    await assert.rejects(
      rig.engine.forkWorkflowInstance("e", { fromTask: 0 }),
      says("TASK_UNKNOWN", 'instance "e" has no task number 0'),
    );
  });
});

describe("8.1 signal-with-start", () => {
  const cart = defineWorkflow("cart", async (ctx, owner: string) => {
    const items: string[] = [];
    for (let item = ""; item !== "pay"; item = await ctx.waitForEvent<string>("item"))
      if (item !== "") items.push(item);
    return { owner, items };
  });

  test("8.1 starts one that has the event from its beginning, or raises it for the one that is there", async (t) => {
    const rig = await CodeRig.start(t, { workflows: [cart] });
    const add = (data: string) =>
      rig.engine.signalWithStart(cart, { instanceId: "cart", input: "ann", event: { name: "item", data } });
    await Promise.all([add("a"), add("b"), add("c")]);
    const handle = await add("pay");
    const { owner, items } = await handle.result();
    assert.equal(owner, "ann");
    assert.deepEqual(items.toSorted(), ["a", "b", "c"]);
    assert.deepEqual(await rig.eventTypes("cart").then((types) => types.slice(0, 3)), [
      "InstanceCreated",
      "InstanceStarted",
      "EventRaised",
    ]);
    const again = await add("pay");
    assert.deepEqual(await again.result(), { owner: "ann", items: [] });
    assert.equal((await again.getStatus()).generation, 2);
  });
});
