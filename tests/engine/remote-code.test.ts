/** Spec §8.4: code workflows whose code only a worker has; decision 0039. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { defineJob, defineWorkflow, type WorkflowContext } from "../../src/index.ts";
import { until } from "../support/until.ts";
import { CodeWorker, startOwner } from "./code-worker.ts";

const double = defineJob("double", (n: number) => 2 * n);

const sum = defineWorkflow("sum", async (ctx: WorkflowContext, n: number) => {
  let total = 0;
  for (let i = 0; i < n; i++) total += await ctx.run(double, i);
  await ctx.sleep(10);
  const extra = await ctx.waitForEvent<number>("extra");
  return total + extra;
});

const counter = defineWorkflow("counter", async (ctx: WorkflowContext) => {
  let count = 0;
  ctx.onQuery("count", (add: number) => count + (add ?? 0));
  ctx.onUpdate("add", {
    validate: (n: number) => {
      if (n < 0) throw new Error("below zero");
    },
    handler: async (n: number) => {
      await ctx.run(double, n);
      count += n;
      return count;
    },
  });
  await ctx.waitForEvent("end");
  return count;
});

const begunAnew = defineWorkflow("begun-anew", async (ctx: WorkflowContext, round: number) => {
  const word = await ctx.waitForEvent<string>("word");
  if (round > 0) await ctx.continueAsNew(round - 1, { keepEvents: true });
  return word;
});

const parent = defineWorkflow("parent", async (ctx: WorkflowContext, n: number) => {
  const child = await (ctx.callChild("leaf", n) as Promise<number>);
  return child + 1;
});
const leaf = defineWorkflow("leaf", async (ctx: WorkflowContext, n: number) => await ctx.run(double, n));

function sagaOf(done: string[]): ReturnType<typeof defineWorkflow> {
  return defineWorkflow("saga", async (ctx: WorkflowContext) => {
    await ctx.run(double, 1, { undo: () => ctx.run("undo", 1) });
    done.push("waits");
    await ctx.waitForEvent("never");
  });
}

describe("code that only a worker has", () => {
  test("8.4 runs from the start to the result, with activities, timers and events", { timeout: 30_000 }, async (t) => {
    const engine = await startOwner(t, { jobs: [double] });
    await CodeWorker.start(t, engine, [sum]);
    await until(() => engine.findWorkflow("sum") !== undefined);
    const known = engine.findWorkflow("sum") as typeof sum;
    const handle = await engine.startWorkflow(known, 4);
    await engine.raiseEvent(handle.instanceId, "extra", 100);
    assert.equal(await handle.result(), 112);
  });

  test("8.4 an instance waits, visibly, for a worker with its code", { timeout: 30_000 }, async (t) => {
    const engine = await startOwner(t, { jobs: [double] });
    const first = await CodeWorker.start(t, engine, [sum]);
    await until(() => engine.findWorkflow("sum") !== undefined);
    await first.worker.stop();
    const handle = await engine.startWorkflow(engine.findWorkflow("sum") as typeof sum, 1);
    await until(async () => (await engine.getWorkflowInstanceStatus(handle.instanceId)).attention !== undefined);
    const { attention, waiting } = await engine.getWorkflowInstanceStatus(handle.instanceId);
    assert.match(attention ?? "", /workflow "sum" in version "1" is not registered.*no connected worker has it/);
    assert.match(JSON.stringify(waiting), /no connected worker has it/);
    await CodeWorker.start(t, engine, [sum]);
    await engine.raiseEvent(handle.instanceId, "extra", 1);
    assert.equal(await handle.result(), 1);
    assert.equal((await engine.getWorkflowInstanceStatus(handle.instanceId)).attention, undefined);
  });

  test("8.4 queries and updates are answered by the worker", { timeout: 30_000 }, async (t) => {
    const engine = await startOwner(t, { jobs: [double] });
    await CodeWorker.start(t, engine, [counter]);
    await until(() => engine.findWorkflow("counter") !== undefined);
    const { instanceId: id } = await engine.startWorkflow(engine.findWorkflow("counter") as typeof counter, undefined);
    assert.equal(await engine.queryWorkflowInstance(id, "count", 5), 5);
    assert.equal(await engine.updateWorkflowInstance(id, "add", 3), 3);
    assert.equal(await engine.updateWorkflowInstance(id, "add", 4, { updateId: "u" }), 7);
    assert.equal(await engine.updateWorkflowInstance(id, "add", 4, { updateId: "u" }), 7);
    await assert.rejects(engine.updateWorkflowInstance(id, "add", -1), {
      code: "INPUT_INVALID",
      message: /below zero/,
    });
    await assert.rejects(engine.queryWorkflowInstance(id, "other"), { code: "HANDLER_UNKNOWN" });
    assert.equal(await engine.queryWorkflowInstance(id, "count"), 7);
    await engine.raiseEvent(id, "end");
    const end = await engine.getWorkflowHandle(id);
    assert.equal(await end.result(), 7);
    assert.equal(await engine.queryWorkflowInstance(id, "count"), 7);
  });

  test("8.4 code begins anew with the events that came meanwhile", { timeout: 30_000 }, async (t) => {
    const engine = await startOwner(t);
    await CodeWorker.start(t, engine, [begunAnew]);
    await until(() => engine.findWorkflow("begun-anew") !== undefined);
    const handle = await engine.startWorkflow(engine.findWorkflow("begun-anew") as typeof begunAnew, 3);
    for (const word of ["a", "b", "c", "d"]) await engine.raiseEvent(handle.instanceId, "word", word);
    assert.equal(await handle.result(), "d");
  });

  test("8.4 a child runs whose workflow the server knows from workers only", { timeout: 30_000 }, async (t) => {
    const engine = await startOwner(t, { jobs: [double] });
    await CodeWorker.start(t, engine, [leaf]);
    await CodeWorker.start(t, engine, [parent]);
    await until(() => engine.findWorkflow("parent") !== undefined && engine.findWorkflow("leaf") !== undefined);
    const handle = await engine.startWorkflow(engine.findWorkflow("parent") as typeof parent, 4);
    assert.equal(await handle.result(), 9);
  });

  test("8.4 a cancel reaches the code, which compensates", { timeout: 30_000 }, async (t) => {
    const undone: number[] = [];
    const undo = defineJob("undo", (n: number) => void undone.push(n));
    const engine = await startOwner(t, { jobs: [double, undo] });
    const done: string[] = [];
    const saga = sagaOf(done);
    await CodeWorker.start(t, engine, [saga]);
    await until(() => engine.findWorkflow("saga") !== undefined);
    const handle = await engine.startWorkflow(engine.findWorkflow("saga") as typeof counter, undefined);
    await until(() => done.length === 1);
    await engine.cancelWorkflowInstance(handle.instanceId, "enough");
    await until(async () => (await engine.getWorkflowInstanceStatus(handle.instanceId)).status === "Terminated");
    assert.deepEqual(undone, [1]);
  });

  test(
    "8.4 another worker replays the code of one that is gone, and nothing runs twice",
    { timeout: 30_000 },
    async (t) => {
      const calls: number[] = [];
      const note = defineJob("double", (n: number) => {
        calls.push(n);
        return 2 * n;
      });
      const engine = await startOwner(t, { jobs: [note] });
      const first = await CodeWorker.start(t, engine, [sum]);
      await until(() => engine.findWorkflow("sum") !== undefined);
      const handle = await engine.startWorkflow(engine.findWorkflow("sum") as typeof sum, 3);
      await until(() => calls.length === 3);
      first.cut();
      await CodeWorker.start(t, engine, [sum], { runsMax: 0 });
      await engine.raiseEvent(handle.instanceId, "extra", 1);
      assert.equal(await handle.result(), 7);
      assert.deepEqual(calls, [0, 1, 2]);
    },
  );

  test("8.4 pause, resume and terminate do not wait for code", { timeout: 30_000 }, async (t) => {
    const engine = await startOwner(t, { jobs: [double] });
    const worker = await CodeWorker.start(t, engine, [sum]);
    await until(() => engine.findWorkflow("sum") !== undefined);
    worker.cut();
    const known = engine.findWorkflow("sum") as typeof sum;
    const [one, two] = [await engine.startWorkflow(known, 1), await engine.startWorkflow(known, 1)];
    await engine.pauseWorkflowInstance(one.instanceId);
    await engine.terminateWorkflowInstance(two.instanceId, "no more");
    assert.equal((await engine.getWorkflowInstanceStatus(one.instanceId)).status, "Paused");
    assert.equal((await engine.getWorkflowInstanceStatus(two.instanceId)).status, "Terminated");
    await engine.resumeWorkflowInstance(one.instanceId);
    await CodeWorker.start(t, engine, [sum]);
    await engine.raiseEvent(one.instanceId, "extra", 1);
    assert.equal(await one.result(), 1);
  });

  test(
    "8.4 code that no longer does what it did is stopped, and goes on with a worker that has the old code",
    { timeout: 30_000 },
    async (t) => {
      const engine = await startOwner(t, { jobs: [double] });
      const first = await CodeWorker.start(t, engine, [sum]);
      await until(() => engine.findWorkflow("sum") !== undefined);
      const handle = await engine.startWorkflow(engine.findWorkflow("sum") as typeof sum, 2);
      await until(async () => (await engine.getWorkflowInstanceStatus(handle.instanceId)).historyLength > 8);
      await first.worker.stop();
      const other = defineWorkflow("sum", async (ctx: WorkflowContext) => await ctx.sleep(5));
      const second = await CodeWorker.start(t, engine, [other]);
      await engine.raiseEvent(handle.instanceId, "extra", 1);
      await until(async () =>
        /does not do what it did/.test((await engine.getWorkflowInstanceStatus(handle.instanceId)).attention ?? ""),
      );
      await second.worker.stop();
      await CodeWorker.start(t, engine, [sum]);
      assert.equal(await handle.result(), 3);
    },
  );

  test("8.4 code that ends its workers again and again is quarantined, and resumed", { timeout: 60_000 }, async (t) => {
    const engine = await startOwner(t, { maxInterruptions: 1 });
    const workers: CodeWorker[] = [];
    let isPoison = true;
    const poison = defineWorkflow("poison", async (ctx: WorkflowContext) => {
      if (isPoison) for (const worker of workers) worker.cut();
      await ctx.sleep(1);
      return "survived";
    });
    workers.push(await CodeWorker.start(t, engine, [poison]));
    await until(() => engine.findWorkflow("poison") !== undefined);
    const handle = await engine.startWorkflow(engine.findWorkflow("poison") as typeof poison, undefined);
    workers.push(await CodeWorker.start(t, engine, [poison]));
    const isQuarantined = async (): Promise<boolean> => {
      const [found] = await engine.listWorkflowInstances({ limit: 1 });
      return found?.quarantined !== undefined && found.quarantined !== null;
    };
    await until(isQuarantined, { everyMs: 50 });
    const [found] = await engine.listWorkflowInstances({ limit: 1 });
    assert.match(found?.quarantined ?? "", /ended or blocked its worker 2 times at step 0/);
    isPoison = false;
    await CodeWorker.start(t, engine, [poison]);
    await engine.resumeWorkflowInstance(handle.instanceId);
    assert.equal(await handle.result(), "survived");
  });

  test(
    "8.4 an answer to another question is dropped, and steps that cannot be stop the code",
    { timeout: 30_000 },
    async (t) => {
      const engine = await startOwner(t);
      const worker = await CodeWorker.start(t, engine, [counter]);
      await until(() => engine.findWorkflow("counter") !== undefined);
      worker.change = (text) => {
        const message = JSON.parse(text) as { type: string; events: number; answer: { steps: unknown[] } };
        if (message.type !== "TurnAnswered") return [text];
        const late = { ...message, events: message.events + 1 };
        const wrong = { ...message, answer: { ...message.answer, steps: [{ type: "cancel-timer", timer: 7 }] } };
        return [JSON.stringify(late), JSON.stringify(wrong), text];
      };
      const handle = await engine.startWorkflow(engine.findWorkflow("counter") as typeof counter, undefined);
      await until(async () => (await handle.getStatus()).attention !== undefined);
      assert.match(
        (await handle.getStatus()).attention ?? "",
        /step 0, cancel-timer, is about timer 7, which was never set/,
      );
      worker.change = undefined;
      await engine.resumeWorkflowInstance(handle.instanceId);
      await engine.raiseEvent(handle.instanceId, "end");
      assert.equal(await handle.result(), 0);
    },
  );
});
