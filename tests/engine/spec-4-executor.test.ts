/** Spec §4.1–§4.2: the executor, its pools and their order. */
import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { defineJob, type Engine, type EngineOptions, TaskBuilder, WorkflowBuilder } from "../../src/index.ts";
import { sqlite } from "../../src/sqlite.ts";
import { TestClock } from "../../src/testing.ts";
import { aborted, Gate, newEngine, says, startEngine, statuses, task, workflow, untilInstance } from "./rig.ts";
import { temporaryFile } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";

const echo = defineJob("echo", (params: unknown) => params ?? "done");

/** Jobs that run untilInstance the gate opens, and how many do. */
class Holding {
  readonly gate = new Gate();
  readonly names: string[] = [];
  running = 0;
  readonly job = defineJob("hold", async (_: unknown, ctx) => {
    this.running++;
    this.names.push(ctx.taskName);
    await Promise.race([this.gate.opened, aborted(ctx.signal)]);
    this.running--;
    return ctx.taskName;
  });
}

async function holdingEngine(
  t: TestContext,
  options: Partial<EngineOptions> = {},
): Promise<{ engine: Engine; holding: Holding }> {
  const holding = new Holding();
  const engine = await startEngine(t, { jobs: [holding.job, echo], poolSizeMax: 20, ...options });
  return { engine, holding };
}

/** Submits single tasks that hold a slot each. */
function hold(engine: Engine, count: number, domain?: string): Promise<unknown>[] {
  return Array.from({ length: count }, (_, i) => {
    const builder = task(`${domain ?? "default"}-${i}`, "hold");
    if (domain !== undefined) builder.withDomain(domain);
    return engine.executor.submitTask(builder.build());
  });
}

describe("4.1 setPoolSize", () => {
  test("4.1 the pool has 10 slots by default", async (t) => {
    const { engine, holding } = await holdingEngine(t);
    assert.equal(engine.executor.poolSize, 10);
    const all = hold(engine, 12);
    await until(() => holding.running === 10);
    assert.deepEqual(engine.executor.getDomainPoolStatus("default"), { running: 10, size: 10 });
    assert.equal(engine.health.waitingTasks, 2);
    holding.gate.open();
    await Promise.all(all);
    assert.deepEqual(engine.executor.getDomainPoolStatus("default"), { running: 0, size: 10 });
  });

  const bad: readonly [unknown, string][] = [
    [0, "0"],
    [-1, "-1"],
    [1.5, "1.5"],
    ["a", '"a"'],
    [10 ** 9, "1000000000"],
    [Number.NaN, "NaN"],
    [undefined, "undefined"],
    [null, "null"],
    [21, "21"],
  ];
  for (const [size, shown] of bad) {
    test(`4.1 setPoolSize(${typeof size === "string" ? `"${size}"` : String(size)}) is refused and changes nothing`, async (t) => {
      const { engine } = await holdingEngine(t);
      assert.throws(
        () => engine.executor.setPoolSize(size as number),
        says("POOL_SIZE_INVALID", shown, "from 1 to 20"),
      );
      assert.equal(engine.executor.poolSize, 10);
    });
  }

  test("4.1 the ceiling is max(10, 2 × cores) unless configured", async (t) => {
    const engine = await startEngine(t);
    engine.executor.setPoolSize(10);
    assert.throws(() => engine.executor.setPoolSize(100_000), says("POOL_SIZE_INVALID", "100000"));
    assert.throws(() => newEngine({ poolSize: 30, poolSizeMax: 20 }), says("POOL_SIZE_INVALID", "30", "20"));
  });

  test("4.1 below the sum of the domains it is refused", async (t) => {
    const { engine } = await holdingEngine(t, { domains: { a: { size: 3 }, b: { size: 4 } } });
    assert.throws(() => engine.executor.setPoolSize(6), says("POOL_SIZE_INVALID", "6", "sum of the domains is 7"));
    engine.executor.setPoolSize(7);
    assert.deepEqual(engine.executor.getDomainPoolStatus("default"), { running: 0, size: 0 });
  });

  test("4.1 growing and shrinking while tasks run: nothing is killed, nothing starts untilInstance it fits", async (t) => {
    const { engine, holding } = await holdingEngine(t);
    const all = hold(engine, 20);
    await until(() => holding.running === 10);
    engine.executor.setPoolSize(15);
    await until(() => holding.running === 15);
    engine.executor.setPoolSize(2);
    assert.equal(holding.running, 15);
    assert.deepEqual(engine.executor.getDomainPoolStatus("default"), { running: 15, size: 2 });
    holding.gate.open();
    assert.equal((await Promise.all(all)).length, 20);
    assert.deepEqual(engine.executor.getDomainPoolStatus("default"), { running: 0, size: 2 });
  });
});

describe("4.1 domains", () => {
  test("4.1 sizes are reservations of the pool; the rest is default", async (t) => {
    const { engine, holding } = await holdingEngine(t, { domains: { a: { size: 3, priority: 1 } } });
    assert.deepEqual(engine.executor.getDomainPoolStatus("a"), { running: 0, size: 3 });
    assert.deepEqual(engine.executor.getDomainPoolStatus("default"), { running: 0, size: 7 });
    const all = [...hold(engine, 5, "a"), ...hold(engine, 9)];
    await until(() => holding.running === 10);
    assert.deepEqual(engine.executor.getDomainPoolStatus("a"), { running: 3, size: 3 });
    assert.deepEqual(engine.executor.getDomainPoolStatus("default"), { running: 7, size: 7 });
    holding.gate.open();
    await Promise.all(all);
  });

  test("4.1 setDomainPoolSize: unknown domain, bad sizes, and a sum above the pool are refused", async (t) => {
    const { engine } = await holdingEngine(t, { domains: { a: { size: 3 }, b: { size: 4 } } });
    const { executor } = engine;
    assert.throws(() => executor.setDomainPoolSize("c", 1), says("DOMAIN_UNKNOWN", '"c"', '"a"', '"b"'));
    assert.throws(() => executor.setDomainPoolSize("a", 7), says("POOL_SIZE_INVALID", '"a"', "7", "from 1 to 6", "10"));
    for (const size of [0, -1, 1.5]) {
      assert.throws(() => executor.setDomainPoolSize("a", size), says("POOL_SIZE_INVALID", '"a"', String(size)));
    }
    await executor.setDomainPoolSize("a", 6);
    assert.deepEqual(executor.getDomainPoolStatus("a"), { running: 0, size: 6 });
    assert.deepEqual(executor.getDomainPoolStatus("default"), { running: 0, size: 0 });
    assert.throws(() => executor.getDomainPoolStatus("c"), says("DOMAIN_UNKNOWN", '"c"'));
  });

  test("4.1 a domain that is declared while the engine runs is there after a restart", async (t) => {
    const file = temporaryFile(t);
    const open = (domains: EngineOptions["domains"] = {}): Promise<Engine> =>
      startEngine(t, { jobs: [echo], storage: sqlite(file), domains });
    const first = await open({ a: { size: 2 } });
    const definition = workflow("w", task("t", "echo").withDomain("late"));
    await assert.rejects(first.submitWorkflow(definition), says("DOMAIN_UNKNOWN", '"late"'));
    await first.executor.declareDomain("late", { size: 3, priority: 4 });
    await (await first.submitWorkflow(definition)).result();
    await first.executor.declareDomain("late", { size: 4 });
    await first.executor.declareDomain("a", { size: 1 });
    await first.executor.setDomainPoolSize("late", 5);
    for (const size of [0, 10, 1.5]) {
      await assert.rejects(first.executor.declareDomain("b", { size }), says("POOL_SIZE_INVALID", String(size)));
    }
    await assert.rejects(first.executor.declareDomain("", { size: 1 }), says("OPTION_INVALID"));
    await assert.rejects(first.executor.declareDomain("b", { size: 1, priority: 0.5 }), says("OPTION_INVALID", "0.5"));
    await assert.rejects(first.executor.declareDomain("b", { sise: 1 } as never), says("OPTION_INVALID", "size"));
    await first.stop();

    const second = await open({ a: { size: 2 } });
    const sizes = (engine: Engine): unknown =>
      engine.listDomains().map(({ domain, size, priority }) => [domain, size, priority]);
    assert.deepEqual(sizes(second), [
      ["late", 5, 4],
      ["default", 3, 0],
      ["a", 2, 0],
    ]);
    await second.stop();
    const third = await open({ a: { size: 6 } });
    assert.deepEqual(sizes(third), [
      ["default", 4, 0],
      ["a", 6, 0],
    ]);
    await third.stop();
    await assert.rejects(newEngine().executor.declareDomain("b", { size: 1 }), says("ENGINE_STATE"));
  });

  test("4.1 a domain grows and shrinks while its tasks run", async (t) => {
    const { engine, holding } = await holdingEngine(t, { domains: { a: { size: 2 } } });
    const all = hold(engine, 6, "a");
    await until(() => holding.running === 2);
    await engine.executor.setDomainPoolSize("a", 4);
    await until(() => holding.running === 4);
    await engine.executor.setDomainPoolSize("a", 1);
    assert.equal(holding.running, 4);
    holding.gate.open();
    await Promise.all(all);
  });

  test("4.1 declarations that do not fit are refused when the engine is made", () => {
    assert.throws(() => newEngine({ domains: { a: { size: 11 } } }), says("POOL_SIZE_INVALID", '"a"', "11"));
    assert.throws(
      () => newEngine({ domains: { a: { size: 6 }, b: { size: 5 } } }),
      says("POOL_SIZE_INVALID", '"b"', "5", "from 1 to 4"),
    );
    assert.throws(
      () => newEngine({ domains: { a: { size: 10 }, b: { size: 1 } } }),
      says("POOL_SIZE_INVALID", "no slots", '"b"', "10"),
    );
    assert.throws(
      () => newEngine({ domains: { a: { size: 1, priority: "high" as unknown as number } } }),
      says("OPTION_INVALID", '"a"', "priority", '"high"'),
    );
  });

  test("4.1 an unknown domain is refused at submit", async (t) => {
    const { engine } = await holdingEngine(t, { domains: { a: { size: 1 } } });
    await assert.rejects(
      engine.submitWorkflow(new WorkflowBuilder().withName("w").withDomain("x").withTask(task("t", "echo")).build()),
      says("DOMAIN_UNKNOWN", '"w"', '"x"'),
    );
    await assert.rejects(
      engine.submitWorkflow(workflow("w", task("t", "echo").withDomain("x"))),
      says("DOMAIN_UNKNOWN", '"t"', '"w"', '"x"'),
    );
    await assert.rejects(
      engine.executor.submitTask(task("t", "echo").withDomain("x").build()),
      says("DOMAIN_UNKNOWN", '"x"'),
    );
  });

  test("4.1 a workflow's tasks run in its domain, or in their own", async (t) => {
    const { engine, holding } = await holdingEngine(t, { domains: { a: { size: 2 }, b: { size: 2 } } });
    const run = await engine.submitWorkflow(
      new WorkflowBuilder()
        .withName("w")
        .withDomain("a")
        .withTask(task("in-a", "hold"))
        .withTask(task("in-b", "hold").withDomain("b"))
        .build(),
    );
    await until(() => holding.running === 2);
    assert.equal(engine.executor.getDomainPoolStatus("a").running, 1);
    assert.equal(engine.executor.getDomainPoolStatus("b").running, 1);
    holding.gate.open();
    await run.result();
  });
});

describe("4.1 submitTask", () => {
  test("4.1 gives the output, or the job's error", async (t) => {
    const fail = defineJob("fail", () => {
      throw new TypeError("wrong kind");
    });
    const never = defineJob("never", () => new Promise<never>(() => undefined));
    const engine = await startEngine(t, { jobs: [echo, fail, never] });
    assert.deepEqual(await engine.executor.submitTask(task("t", "echo", { a: [1] }).build()), { a: [1] });
    assert.equal(await engine.executor.submitTask(task("t", "echo").build()), "done");
    await assert.rejects(engine.executor.submitTask(task("t", "fail").build()), {
      name: "TypeError",
      message: "wrong kind",
    });
    await assert.rejects(
      engine.executor.submitTask(task("slow", "never").withTimeout(0.01).build()),
      says("TASK_TIMEOUT", '"slow"', "0.01 s"),
    );
  });

  test("4.1 an incomplete task is refused", async (t) => {
    const engine = await startEngine(t, { jobs: [echo] });
    const { executor } = engine;
    await assert.rejects(
      executor.submitTask(new TaskBuilder("d").withDecision("true").build()),
      says("TASK_INVALID", '"d"', "job"),
    );
    await assert.rejects(
      executor.submitTask(task("t", "ehco").build()),
      says("JOB_MISSING", '"t"', '"ehco"', 'did you mean "echo"'),
    );
    await assert.rejects(
      executor.submitTask(undefined as unknown as ReturnType<TaskBuilder["build"]>),
      says("TASK_INVALID", "TaskBuilder"),
    );
    await assert.rejects(
      executor.submitTask(task("t", "echo") as unknown as ReturnType<TaskBuilder["build"]>),
      says("TASK_INVALID", "build()"),
    );
  });

  test("4.1 a task outside of a workflow cannot generate sub-tasks, and says so", async (t) => {
    const parent = defineJob("parent", (_: unknown, ctx) => ctx.generateSubTask(task("s", "echo").build()));
    const engine = await startEngine(t, { jobs: [echo, parent] });
    await assert.rejects(engine.executor.submitTask(task("p", "parent").build()), says("SUBTASK_INVALID", '"p"'));
  });

  test("4.1 the queue holds 10,000; one more is refused, and the engine's own dispatch is not", async (t) => {
    const { engine, holding } = await holdingEngine(t, { domains: { a: { size: 1 } } });
    const first = hold(engine, 1, "a");
    await until(() => holding.running === 1);
    const waiting = hold(engine, 10_000, "a");
    assert.equal(engine.health.waitingTasks, 10_000);
    await assert.rejects(engine.executor.submitTask(task("t", "echo").build()), says("QUEUE_FULL", "10000"));
    const run = await engine.submitWorkflow(workflow("w", task("t", "echo")));
    assert.deepEqual(await run.result(), { t: "done" });
    holding.gate.open();
    await Promise.all([...first, ...waiting]);
    assert.equal(await engine.executor.submitTask(task("t", "echo").build()), "done");
  });

  test("4.1 before start and after stop it is an error", async () => {
    const engine = newEngine({ jobs: [echo] });
    await assert.rejects(engine.executor.submitTask(task("t", "echo").build()), says("ENGINE_STATE", "start()"));
    await engine.start();
    await engine.stop();
    await assert.rejects(engine.executor.submitTask(task("t", "echo").build()), says("EXECUTOR_SHUT_DOWN"));
  });
});

describe("4.1 shutdown", () => {
  test("4.1 aborts what runs, empties the queue, and a second call is an error", async (t) => {
    const { engine, holding } = await holdingEngine(t);
    const all = hold(engine, 12);
    const ends = Promise.allSettled(all);
    await until(() => holding.running === 10);
    await engine.executor.shutdown();
    assert.equal(holding.running, 0);
    for (const end of await ends) {
      assert.ok(end.status === "rejected");
      says("EXECUTOR_SHUT_DOWN", "shut down")(end.reason);
    }
    assert.equal(engine.health.runningTasks, 0);
    assert.equal(engine.health.waitingTasks, 0);
    await assert.rejects(engine.executor.shutdown(), says("EXECUTOR_SHUT_DOWN", "already"));
    await assert.rejects(engine.executor.submitTask(task("t", "echo").build()), says("EXECUTOR_SHUT_DOWN"));
    await engine.stop();
  });

  test("4.1 durable tasks come back at the next start", async (t) => {
    const file = temporaryFile(t);
    const { engine, holding } = await holdingEngine(t, { storage: sqlite(file) });
    const run = await engine.submitWorkflow(workflow("w", task("a", "hold"), task("b", "echo").withDependency("a")));
    await until(() => holding.running === 1);
    await engine.executor.shutdown();
    const later = await engine.submitWorkflow(workflow("w2", task("a", "echo")));
    assert.equal((await later.getStatus()).status, "Running");
    await engine.stop();

    const after = await startEngine(t, {
      storage: sqlite(file),
      jobs: [echo, defineJob("hold", (_: unknown, ctx) => `attempt ${ctx.attempt}`)],
    });
    assert.deepEqual(await after.awaitWorkflowInstance(run.instanceId), { a: "attempt 1", b: "done" });
    assert.deepEqual(await after.awaitWorkflowInstance(later.instanceId), { a: "done" });
  });
});

describe("4.2 order", () => {
  /** Fills every slot, queues what `queue` submits, frees one slot at a time and tells the order of starts. */
  async function startOrder(
    t: TestContext,
    options: Partial<EngineOptions>,
    queue: (engine: Engine) => Promise<void> | void,
    count: number,
  ): Promise<string[]> {
    const order: string[] = [];
    const note = defineJob("note", (_: unknown, ctx) => void order.push(ctx.taskName));
    const blocker = new Holding();
    const engine = await startEngine(t, { jobs: [note, blocker.job], ...options });
    const blocked = hold(engine, options.poolSize ?? 1, "default");
    await until(() => blocker.running === blocked.length);
    await queue(engine);
    blocker.gate.open();
    await Promise.all(blocked);
    await until(() => order.length === count);
    return order;
  }

  test("4.2 higher domain priority first", async (t) => {
    const order: string[] = [];
    const note = defineJob("note", (_: unknown, ctx) => void order.push(ctx.taskName));
    const engine = await startEngine(t, {
      jobs: [note],
      poolSize: 3,
      domains: { low: { size: 1, priority: -1 }, high: { size: 1, priority: 10 } },
    });
    const submit = (name: string, domain?: string): Promise<unknown> => {
      const builder = task(name, "note");
      if (domain !== undefined) builder.withDomain(domain);
      return engine.executor.submitTask(builder.build());
    };
    await Promise.all([submit("low", "low"), submit("default"), submit("high", "high")]);
    assert.deepEqual(order, ["high", "default", "low"]);
  });

  test("4.2 more unfinished direct successors first, then first come first served", async (t) => {
    const order = await startOrder(
      t,
      { poolSize: 1 },
      async (engine) => {
        const tasks = (prefix: string) => [task(`${prefix}1`, "note"), task(`${prefix}2`, "note")];
        const run = await engine.submitWorkflow(
          workflow(
            "w",
            ...tasks("leaf"),
            task("hub", "note"),
            task("after1", "note").withDependency("hub"),
            task("after2", "note").withDependency("hub"),
            task("small-hub", "note"),
            task("after3", "note").withDependency("small-hub"),
          ),
        );
        await untilInstance(engine, run.instanceId, ({ tasks }) => tasks.length === 7);
        await until(() => engine.health.waitingTasks === 4);
      },
      7,
    );
    assert.deepEqual(order.slice(0, 4), ["hub", "small-hub", "leaf1", "leaf2"]);
  });

  test("4.2 first come first served among equals", async (t) => {
    const names = Array.from({ length: 20 }, (_, i) => `t${i}`);
    const order = await startOrder(
      t,
      { poolSize: 1 },
      (engine) => {
        for (const name of names) void engine.executor.submitTask(task(name, "note").build());
      },
      names.length,
    );
    assert.deepEqual(order, names);
  });

  test("4.2 a task that waits long overtakes its betters now and then: nobody starves", async (t) => {
    const clock = new TestClock();
    const order: string[] = [];
    let feeding = true;
    const engine = await startEngine(t, { jobs: [], poolSize: 1, clock });
    engine.registerJobFunction("note", (_: unknown, ctx) => {
      order.push(ctx.taskName);
      if (ctx.taskName === "poor") feeding = false;
    });
    const blocker = new Holding();
    engine.registerJobFunction("hold", blocker.job.fn);
    const blocked = hold(engine, 1);
    await until(() => blocker.running === 1);
    const rich = (i: number) =>
      workflow(
        `w${i}`,
        task(`rich${i}`, "note"),
        ...Array.from({ length: 3 }, (_, j) =>
          task(`a${i}.${j}`, "note").withDependency(`rich${i}`).withEnabled(false),
        ),
      );
    const runs = [await engine.submitWorkflow(workflow("w", task("poor", "note")))];
    await until(() => engine.health.waitingTasks === 1);
    await clock.advance(11_000);
    for (let i = 0; i < 12; i++) runs.push(await engine.submitWorkflow(rich(i)));
    await until(() => engine.health.waitingTasks === 13);
    blocker.gate.open();
    await Promise.all(blocked);
    await Promise.all(runs.map((run) => run.result()));
    assert.equal(feeding, false);
    assert.ok(order.indexOf("poor") > 0 && order.indexOf("poor") <= 4, order.join());
    assert.deepEqual(await statuses(runs[0]!), { poor: "Success" });
  });
});
