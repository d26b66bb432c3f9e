/** Spec §8.7: how many activities of an instance, and how many instances of a code workflow, run at a time. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type CodeWorkflow, defineJob, defineWorkflow, Engine, type WorkflowContext } from "../../src/index.ts";
import { memoryStore, TestClock } from "../../src/testing.ts";
import { newEngine, startEngine, untilStatus } from "./rig.ts";
import { LogBook } from "../../src/testing/log-book.rig.ts";
import { until } from "../support/until.ts";

/** Counts how many of it run, and ends when it is told to. */
class Held {
  running = 0;
  most = 0;
  readonly #open: (() => void)[] = [];

  readonly job = defineJob("held", async (n: number, { signal }) => {
    this.most = Math.max(this.most, ++this.running);
    try {
      await new Promise<void>((resolve, reject) => {
        this.#open.push(resolve);
        signal.addEventListener("abort", () => reject(signal.reason as Error));
      });
    } finally {
      this.running--;
    }
    return n;
  });

  release(count = Infinity): void {
    for (const open of this.#open.splice(0, Math.min(count, this.#open.length))) open();
  }
}

const ten = (held: Held) => (ctx: WorkflowContext) =>
  ctx.all(Array.from({ length: 10 }, (_, n) => ctx.run(held.job, n)));

describe("8.7 activities at a time", () => {
  /** None is released before so many run: a loaded machine starts them a few at a time. */
  async function mostOf(held: Held, engine: Engine, workflow: CodeWorkflow, expected: number): Promise<number> {
    const handle = await engine.startWorkflow(workflow, undefined);
    const { instanceId } = handle;
    const result = handle.result();
    await until(() => held.running >= expected);
    for (let status = ""; status !== "Success"; { status } = await engine.getWorkflowInstanceStatus(instanceId)) {
      held.release();
      await new Promise(setImmediate);
    }
    assert.deepEqual(await result, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    return held.most;
  }

  test("are those of the workflow, else those of the engine, else as many as there are slots", async (t) => {
    for (const [own, ofEngine, expected] of [
      [3, 2, 3],
      [undefined, 2, 2],
      [0, 2, 10],
      [undefined, 0, 10],
    ] as const) {
      const held = new Held();
      const options = own === undefined ? {} : { maxConcurrentActivities: own };
      const fanOut = defineWorkflow("fan-out", options, ten(held));
      const engine = await startEngine(t, {
        jobs: [held.job],
        workflows: [fanOut],
        maxConcurrentActivities: ofEngine,
      });
      assert.equal(await mostOf(held, engine, fanOut as never, expected), expected);
    }
  });

  test("hold through a restart, and what waits is counted", async (t) => {
    const [storage, clock, held] = [memoryStore(), new TestClock(), new Held()];
    const fanOut = defineWorkflow("fan-out", { maxConcurrentActivities: 4 }, ten(held));
    const options = { storage, clock, jobs: [held.job], workflows: [fanOut], logger: new LogBook() };
    const first = new Engine(options);
    await first.start();
    const { instanceId } = await first.startWorkflow(fanOut, undefined);
    await until(() => held.running === 4);
    assert.equal(first.health.waitingTasks, 6);
    held.release(1);
    await until(() => first.health.waitingTasks === 5);
    await clock.until(first.stop());
    const second = await startEngine(t, options);
    await until(() => held.running === 4);
    assert.equal(second.health.waitingTasks, 5);
    const [waiting] = await second.listQueuedTasks({ state: "waiting" });
    assert.deepEqual([waiting?.wait?.reason, waiting?.taskName], ["instance-limit", "held"]);
    const result = second.awaitWorkflowInstance(instanceId);
    for (let round = 0; round < 20; round++) {
      held.release();
      await clock.advance(1);
    }
    assert.deepEqual(await result, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert.equal(held.most, 4);
  });
});

describe("8.7 instances at a time", () => {
  const greeting = (policy?: "queue" | "skip" | "fail") => {
    const seen: string[] = [];
    const workflow = defineWorkflow(
      "one-by-one",
      { maxInstances: policy === undefined ? { max: 1 } : { max: 1, policy } },
      async (ctx, name: string) => {
        seen.push(name);
        ctx.onQuery("name", () => name);
        return await ctx.waitForEvent<string>("go");
      },
    );
    return { seen, workflow };
  };

  test("above the maximum wait their turn, keep what is said to them, and start in order", async (t) => {
    const { seen, workflow } = greeting();
    const engine = await startEngine(t, { workflows: [workflow] });
    const ids = ["a", "b", "c"];
    for (const instanceId of ids) await engine.startWorkflow(workflow, instanceId, { instanceId });
    await until(() => seen.length === 1);
    assert.equal(engine.health.waitingTasks, 2);
    const [waiting] = await engine.listQueuedTasks({ state: "waiting" });
    assert.deepEqual([waiting?.wait?.reason, waiting?.instanceId], ["workflow-limit", "b"]);
    await engine.raiseEvent("b", "go", "early");
    await engine.raiseEvent("a", "go", "one");
    assert.deepEqual(await engine.awaitWorkflowInstance("a"), "one");
    assert.deepEqual(await engine.awaitWorkflowInstance("b"), "early");
    await untilStatus(engine, "c", "Running");
    assert.deepEqual(seen, ids);
    assert.equal(engine.health.waitingTasks, 0);
    await engine.cancelWorkflowInstance("c");
  });

  test("that wait are let in after a restart, with the events they were sent", async (t) => {
    const [storage, clock, { seen, workflow }] = [memoryStore(), new TestClock(), greeting()];
    const options = { storage, clock, workflows: [workflow], logger: new LogBook() };
    const first = new Engine(options);
    await first.start();
    await first.startWorkflow(workflow, "a", { instanceId: "a" });
    await first.signalWithStart(workflow, { instanceId: "b", input: "b", event: { name: "go", data: "kept" } });
    await clock.until(first.stop());
    const second = await startEngine(t, options);
    assert.equal(second.health.waitingTasks, 1);
    await second.terminateWorkflowInstance("a");
    assert.equal(await second.awaitWorkflowInstance("b"), "kept");
    assert.equal(seen.at(-1), "b");
  });

  test("are skipped or fail as the policy says", async (t) => {
    for (const [policy, status] of [
      ["skip", "Terminated"],
      ["fail", "Failed"],
    ] as const) {
      const { workflow } = greeting(policy);
      const engine = await startEngine(t, { workflows: [workflow] });
      await engine.startWorkflow(workflow, "a", { instanceId: "a" });
      await engine.startWorkflow(workflow, "b", { instanceId: "b" });
      const view = await engine.getWorkflowInstanceStatus("b");
      assert.deepEqual([view.status, view.reason], [status, "too many instances(2>1)"]);
    }
  });

  test("that wait end at once when they are canceled, and can be paused before they start", async (t) => {
    const { seen, workflow } = greeting();
    const engine = await startEngine(t, { workflows: [workflow] });
    for (const instanceId of ["a", "b", "c"]) await engine.startWorkflow(workflow, instanceId, { instanceId });
    await engine.cancelWorkflowInstance("b", "not needed");
    assert.equal((await engine.getWorkflowInstanceStatus("b")).status, "Terminated");
    await engine.pauseWorkflowInstance("c");
    await engine.terminateWorkflowInstance("a");
    await untilStatus(engine, "c", "Paused");
    await engine.raiseEvent("c", "go", "late");
    await engine.resumeWorkflowInstance("c");
    assert.equal(await engine.awaitWorkflowInstance("c"), "late");
    assert.deepEqual(seen, ["a", "c"]);
  });

  test("that wait answer queries and updates when they have started, or say why they cannot", async (t) => {
    const workflow = defineWorkflow("answering", { maxInstances: { max: 1 } }, async (ctx) => {
      let sum = 0;
      ctx.onQuery("sum", () => sum);
      ctx.onUpdate("add", async (n: number) => (sum += n));
      await ctx.waitForEvent("go");
    });
    const engine = await startEngine(t, { workflows: [workflow] });
    const run = async (instanceId: string) => await engine.startWorkflow(workflow, undefined, { instanceId });
    const [first, second, third] = [await run("first"), await run("second"), await run("third")];
    const answers = Promise.all([second.update("add", 3), second.update("add", 4)]);
    const asked = second.query("sum");
    const refused = assert.rejects(third.update("add", 1), { code: "INSTANCE_STATE" });
    assert.equal((await second.getStatus()).status, "Ready");
    await engine.pauseWorkflowInstance("second");
    await first.raiseEvent("go");
    await third.terminate("not needed");
    await refused;
    await engine.resumeWorkflowInstance("second");
    assert.deepEqual(await answers, [3, 7]);
    assert.equal(typeof (await asked), "number");
    await second.raiseEvent("go");
    await second.result();
  });

  test("limits that cannot be are refused", () => {
    const run = async (): Promise<void> => undefined;
    for (const maxInstances of [{ max: 0 }, { max: 1.5 }, { max: 1, policy: "wait" }, 3, { max: 1, polcy: "skip" }]) {
      assert.throws(() => defineWorkflow("w", { maxInstances: maxInstances as never }, run), {
        code: "WORKFLOW_INVALID",
      });
    }
    for (const maxConcurrentActivities of [-1, 1.5, "5"]) {
      const options = { maxConcurrentActivities: maxConcurrentActivities as number };
      assert.throws(() => defineWorkflow("w", options, run), { code: "WORKFLOW_INVALID" });
      assert.throws(() => newEngine(options), { code: "OPTION_INVALID" });
    }
  });
});
