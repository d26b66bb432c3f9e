/** Spec §3.13, §12.1, §13.1: everything that waits is counted and listed, with its reason. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { defineJob, defineWorkflow, Engine, type QueuedTask, TaskBuilder, WorkflowBuilder } from "../../src/index.ts";
import { memoryStore, TestClock } from "../../src/testing.ts";
import { startEngine, task, untilInstance } from "./rig.ts";
import { LogBook } from "../../src/testing/log-book.rig.ts";
import { until } from "../support/until.ts";

/** Jobs that end when the test says so, and stop when they are told to. */
class HeldJobs {
  readonly #open: (() => void)[] = [];

  readonly hold = defineJob(
    "hold",
    (_, { signal }) =>
      new Promise<void>((resolve, reject) => {
        this.#open.push(resolve);
        signal.addEventListener("abort", () => reject(signal.reason as Error));
      }),
  );
  readonly fail = defineJob("fail", () => {
    throw new Error("no");
  });

  get all() {
    return [this.hold, this.fail];
  }

  release(count: number): void {
    for (const open of this.#open.splice(0, count)) open();
  }
}

function wide(name: string, count: number, job = "hold"): WorkflowBuilder {
  const builder = new WorkflowBuilder().withName(name);
  for (let number = 0; number < count; number++) builder.withTask(task(`t${number}`, job));
  return builder;
}

/** Looks at every instance, which is what the engine's own count must not do. */
async function naiveCount(engine: Engine): Promise<number> {
  let count = 0;
  for (const { id } of await engine.listWorkflowInstances({ status: ["Ready", "Running", "Paused"], limit: 1000 })) {
    const { status, tasks } = await engine.getWorkflowInstanceStatus(id);
    count += status === "Ready" ? 1 : tasks.filter(({ wait }) => wait !== undefined).length;
  }
  return count;
}

/** `task: reason`, in the order of the alphabet. */
const reasonsOf = (tasks: readonly QueuedTask[]): string[] =>
  tasks.map(({ taskName = "", wait }) => `${taskName}: ${wait?.reason}`).sort(inOrder);

const inOrder = (a: string, b: string): number => (a < b ? -1 : 1);

describe("the waiting queue", () => {
  test("has 95 of 100 tables at a limit of 5", async (t) => {
    const jobs = new HeldJobs();
    const engine = await startEngine(t, { jobs: jobs.all, poolSize: 10 });
    await engine.submitWorkflow(wide("tables", 100).build());
    await until(() => engine.health.runningTasks === 5);
    assert.equal(engine.health.waitingTasks, 95);
    const waiting = await engine.listQueuedTasks({ state: "waiting" });
    assert.equal(waiting.length, 95);
    assert.deepEqual(new Set(waiting.map(({ wait }) => wait?.reason)), new Set(["instance-limit"]));
    assert.match(waiting[0]?.wait?.text ?? "", /a place among the instance's 5 concurrent tasks/);
    assert.equal((await engine.listQueuedTasks({ state: "waiting", limit: 7 })).length, 7);
    assert.equal((await engine.listQueuedTasks({ state: "running" })).length, 5);
  });

  test("says for what each waits", async (t) => {
    const jobs = new HeldJobs();
    const clock = new TestClock();
    const domains = { small: { size: 1, priority: 1 } };
    const engine = await startEngine(t, { jobs: jobs.all, clock, poolSize: 3, domains });
    const dag = new WorkflowBuilder()
      .withName("w")
      .withMaxConcurrentTasks(4)
      .withTask(new TaskBuilder("retried").withJobFunction("fail").withRetryCount(1))
      .withTask(new TaskBuilder("in-domain").withJobFunction("hold").withDomain("small"))
      .withTask(new TaskBuilder("domain-full").withJobFunction("hold").withDomain("small"))
      .withTask(task("first", "hold"))
      .withTask(task("second", "hold"))
      .withTask(task("above", "hold"));
    const { instanceId } = await engine.submitWorkflow(dag.build());
    const one = new WorkflowBuilder().withName("one").withMaxInstances(1, "queue").withTask(task("a", "hold")).build();
    await engine.submitWorkflow(one);
    await engine.submitWorkflow(one);
    await untilInstance(engine, instanceId, ({ tasks }) => tasks[0]?.retryAt !== undefined);
    await until(() => engine.health.runningTasks === 3);
    const waiting = await engine.listQueuedTasks({ state: "waiting" });
    assert.deepEqual(reasonsOf(waiting), [
      ": workflow-limit",
      "a: slot",
      "above: instance-limit",
      "domain-full: domain",
      "retried: retry",
    ]);
    assert.equal(waiting.find(({ wait }) => wait?.reason === "retry")?.retryAt, clock.now() + 1000);
    assert.equal(engine.health.waitingTasks, 5);
    await engine.pauseWorkflowInstance(instanceId);
    const paused = (await engine.listQueuedTasks({ state: "waiting" })).filter(({ wait }) => wait?.reason === "paused");
    assert.deepEqual(reasonsOf(paused), ["above: paused", "domain-full: paused", "retried: paused"]);
  });

  test("has what waits in instances that a restart did not bring into memory", async (t) => {
    const [storage, clock, jobs] = [memoryStore(), new TestClock(), new HeldJobs()];
    const options = { storage, clock, jobs: jobs.all, logger: new LogBook() };
    const code = defineWorkflow("code", (ctx) => ctx.run(jobs.fail, undefined, { retryCount: 1 }));
    const first = new Engine({ ...options, workflows: [code] });
    await first.start();
    const builder = new WorkflowBuilder().withName("w");
    for (const name of ["a", "b"]) builder.withTask(new TaskBuilder(name).withJobFunction("fail").withRetryCount(1));
    await first.submitWorkflow(builder.build());
    await first.startWorkflow(code);
    await until(() => first.health.waitingTasks === 3);
    await clock.until(first.stop());
    const second = await startEngine(t, { ...options, workflows: [code] });
    assert.deepEqual([second.health.instancesInMemory, second.health.waitingTasks], [0, 3]);
    const waiting = await second.listQueuedTasks({ state: "waiting" });
    assert.deepEqual(reasonsOf(waiting), ["a: retry", "b: retry", "fail: retry"]);
    assert.equal(second.health.waitingTasks, 3);
  });

  test("follows sub-tasks that join a paused instance, also after a restart", async (t) => {
    const [storage, clock, jobs] = [memoryStore(), new TestClock(), new HeldJobs()];
    const parent = defineJob("parent", async (_, ctx) => {
      ctx.generateSubTask(task("s1", "hold").build());
      await (jobs.hold.fn as (params: undefined, context: unknown) => unknown)(undefined, ctx);
    });
    const options = { storage, clock, jobs: [...jobs.all, parent], logger: new LogBook() };
    const first = new Engine(options);
    await first.start();
    const { instanceId } = await first.submitWorkflow(
      new WorkflowBuilder().withName("w").withTask(task("p", "parent")).build(),
    );
    await until(() => first.health.runningTasks === 1);
    await first.pauseWorkflowInstance(instanceId);
    jobs.release(1);
    await until(() => first.health.waitingTasks === 1);
    await first.addSubTask(instanceId, task("s2", "hold").build(), "p");
    assert.equal(first.health.waitingTasks, 2);
    await clock.until(first.stop());
    const second = await startEngine(t, options);
    assert.deepEqual([second.health.instancesInMemory, second.health.waitingTasks], [0, 2]);
  });

  test("is empty when all has ended", async (t) => {
    const jobs = new HeldJobs();
    const engine = await startEngine(t, { jobs: jobs.all });
    const { instanceId } = await engine.submitWorkflow(wide("w", 8).build());
    await until(() => engine.health.waitingTasks === 3);
    await engine.terminateWorkflowInstance(instanceId);
    assert.equal(engine.health.waitingTasks, 0);
    assert.deepEqual(await engine.listQueuedTasks({ state: "waiting" }), []);
  });

  test("refuses what it cannot be asked", async (t) => {
    const engine = await startEngine(t);
    await assert.rejects(engine.listQueuedTasks({ limit: 0 }), { code: "OPTION_INVALID" });
    await assert.rejects(engine.listQueuedTasks({ state: "idle" as never }), { code: "OPTION_INVALID" });
  });
});

type Deed =
  | { readonly kind: "submit"; readonly tasks: number; readonly limit: number; readonly job: "hold" | "fail" }
  | { readonly kind: "pause" | "resume" | "terminate" | "retry"; readonly pick: number }
  | { readonly kind: "release"; readonly count: number }
  | { readonly kind: "advance"; readonly ms: number }
  | { readonly kind: "restart" };

const pick = fc.nat(20);
const deed: fc.Arbitrary<Deed> = fc.oneof(
  fc.record({
    kind: fc.constant("submit" as const),
    tasks: fc.integer({ min: 1, max: 6 }),
    limit: fc.integer({ min: 1, max: 4 }),
    job: fc.constantFrom("hold" as const, "fail" as const),
  }),
  fc.record({ kind: fc.constantFrom("pause", "resume", "terminate", "retry"), pick }),
  fc.record({ kind: fc.constant("release" as const), count: fc.integer({ min: 1, max: 5 }) }),
  fc.record({ kind: fc.constant("advance" as const), ms: fc.constantFrom(200, 1000, 2000) }),
  fc.constant({ kind: "restart" as const }),
);

class Model {
  readonly #storage = memoryStore();
  readonly #clock = new TestClock();
  readonly #jobs = new HeldJobs();
  readonly #ids: string[] = [];
  #engine: Engine | undefined;

  /** Hardly anything may stay in memory, so that the count of those that left it matters. */
  async start(): Promise<Engine> {
    const { all: jobs } = this.#jobs;
    this.#engine = new Engine({
      storage: this.#storage,
      clock: this.#clock,
      jobs,
      poolSize: 3,
      idleMax: 1,
      logger: new LogBook(),
    });
    await this.#engine.start();
    return this.#engine;
  }

  async stop(): Promise<void> {
    if (this.#engine !== undefined) await this.#clock.until(this.#engine.stop());
  }

  async carryOut(did: Deed): Promise<void> {
    const engine = this.#engine as Engine;
    if (did.kind === "submit") return await this.#submit(did);
    if (did.kind === "release") return this.#jobs.release(did.count);
    if (did.kind === "advance") return await this.#clock.advance(did.ms);
    if (did.kind === "restart") {
      await this.stop();
      await this.start();
      return;
    }
    const id = this.#ids[did.pick % Math.max(1, this.#ids.length)];
    if (id === undefined) return;
    // Most of the time the state does not allow it, which is as good.
    await engine[`${did.kind}WorkflowInstance`](id).catch(() => undefined);
  }

  async #submit({ tasks, limit, job }: Extract<Deed, { kind: "submit" }>): Promise<void> {
    const builder = new WorkflowBuilder().withName(`w-${tasks}-${limit}-${job}`).withMaxConcurrentTasks(limit);
    builder.withFailurePolicy("continue");
    if (limit === 1) builder.withMaxInstances(1, "queue");
    for (let number = 0; number < tasks; number++) {
      const one = new TaskBuilder(`t${number}`).withJobFunction(job).withRetryCount(1).withTimeout(1_000_000);
      builder.withTask(number === 2 ? one.withDependency("t0") : one);
    }
    const { instanceId } = await (this.#engine as Engine).submitWorkflow(builder.build());
    this.#ids.push(instanceId);
  }

  /**
   * Nothing here waits for real time, so all is quiet after some turns of the event loop. The count is read before anything
   * brings instances into memory, which would put it right.
   */
  async check(): Promise<void> {
    const engine = this.#engine as Engine;
    for (let turns = 0; turns < 100; turns++) await new Promise(setImmediate);
    const count = engine.health.waitingTasks;
    const listed = (await engine.listQueuedTasks({ state: "waiting" })).length;
    const naive = await naiveCount(engine);
    assert.deepEqual({ count, listed }, { count: naive, listed: naive });
  }
}

test("the count of what waits is that of a look at every instance, through pauses, ends and restarts", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(deed, { maxLength: 14 }), async (deeds) => {
      const model = new Model();
      await model.start();
      try {
        for (const each of deeds) {
          await model.carryOut(each);
          await model.check();
        }
      } finally {
        await model.stop();
      }
    }),
    { numRuns: 60 },
  );
});
