/**
 * What a demanding or careless user throws at the engine. Each is refused or fails with a code and a sentence that says
 * what and where; and the engine works on.
 */
import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { z } from "zod";
import {
  defineJob,
  defineWorkflow,
  Engine,
  type EngineOptions,
  type InstanceStatus,
  type JobFunction,
  type SubmitOptions,
  type Task,
  TaskBuilder,
  Workflow,
  WorkflowBuilder,
  WorkflowFailed,
} from "../../src/index.ts";
import { sqlite } from "../../src/sqlite.ts";
import {
  Gate,
  newEngine,
  readsWell,
  says,
  startEngine,
  stillWorks,
  task,
  taskOf,
  workflow,
  untilInstance,
} from "./rig.ts";
import { temporaryFile } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";

const echo = defineJob("echo", (params: unknown) => params ?? "done");

/** Values of no use, as text would have them in a test's name. */
const nonsense: readonly [string, unknown][] = [
  ["undefined", undefined],
  ["null", null],
  ["a number", 5],
  ["a text", "text"],
  ["a list", []],
  ["a function", () => 1],
];

describe("definitions that cannot be", () => {
  test("are refused before anything is stored, and the engine works on", async (t) => {
    const engine = await startEngine(t, { jobs: [echo] });
    assert.throws(() => workflow("w"), says("WORKFLOW_EMPTY", '"w"'));
    assert.throws(() => workflow("w", task("a", "echo"), task("a", "echo")), says("TASK_DUPLICATE", '"a"'));
    assert.throws(() => workflow("w", task("a", "echo").withDependency("b")), says("DEPENDENCY_UNKNOWN", '"a"', '"b"'));
    assert.throws(
      () => workflow("w", task("a", "echo").withDependency("b"), task("b", "echo").withDependency("a")),
      says("WORKFLOW_CYCLE", "a → b → a"),
    );
    assert.deepEqual(await engine.listWorkflowInstances(), []);
    await stillWorks(engine);
  });

  test("a long cycle is named without flooding the terminal", () => {
    const names = Array.from({ length: 1000 }, (_, i) => `task-${i}`);
    const tasks = names.map((name, i) => task(name, "echo").withDependency(names[(i + 999) % 1000] ?? ""));
    assert.throws(() => workflow("w", ...tasks), says("WORKFLOW_CYCLE", "task-0 → task-1", "more", "→ task-0"));
  });

  test("a workflow edited into a cycle is refused, and stays as it was", () => {
    const definition = workflow("w", task("a", "echo"), task("b", "echo").withDependency("a"));
    const before = JSON.stringify(definition);
    assert.throws(
      () => definition.addSubTask(task("c", "echo").withDependency("b").build(), "a"),
      says("WORKFLOW_CYCLE", '"w"', "→"),
    );
    assert.equal(JSON.stringify(definition), before);
  });

  for (const [what, value] of nonsense) {
    test(`submitWorkflow(${what}) is refused`, async (t) => {
      const engine = await startEngine(t, { jobs: [echo] });
      await assert.rejects(engine.submitWorkflow(value as Workflow), says("WORKFLOW_INVALID", "WorkflowBuilder"));
      await stillWorks(engine);
    });

    test(`withTask(${what}) is refused`, () => {
      assert.throws(
        () =>
          new WorkflowBuilder()
            .withName("w")
            .withTask(value as Task)
            .build(),
        says("WORKFLOW_INVALID", '"w"', "withTask"),
      );
    });

    test(`Workflow.fromJSON(${what}) is refused`, () => {
      assert.throws(() => Workflow.fromJSON(value), says("WORKFLOW_INVALID", "nodes"));
    });
  }

  test("dependencies that are no list are refused, before a text is taken letter by letter", () => {
    for (const [, value] of nonsense) {
      if (Array.isArray(value)) continue;
      assert.throws(
        () => task("t", "echo").withDependencies(value as string[]),
        says("TASK_INVALID", '"t"', "dependencies"),
      );
    }
    assert.deepEqual(
      task("t", "echo")
        .withDependencies(new Set(["a", "b"]))
        .withDependency("c", null as never)
        .build().dependencies,
      [{ name: "a" }, { name: "b" }, { name: "c" }],
    );
  });

  test("a builder that was not built is refused with the way out", async (t) => {
    const engine = await startEngine(t, { jobs: [echo] });
    const builder = new WorkflowBuilder().withName("w").withTask(task("t", "echo"));
    await assert.rejects(
      engine.submitWorkflow(builder as unknown as Workflow),
      says("WORKFLOW_INVALID", "WorkflowBuilder.build()"),
    );
  });
});

describe("params and jobs", () => {
  test("params that do not fit are refused when the job is known, and fail the task when only its name is", async (t) => {
    const strict = defineJob("strict", { input: z.object({ n: z.number() }) }, ({ n }) => n);
    const engine = await startEngine(t, { jobs: [strict] });
    assert.throws(
      () => new TaskBuilder("t").withJobFunction(strict, { n: "1" } as unknown as { n: number }).build(),
      says("PARAMS_INVALID", '"t"', '"strict"', "n:"),
    );
    const run = await engine.submitWorkflow(workflow("w", task("t", "strict", { n: "1" })));
    await assert.rejects(run.result(), says("WORKFLOW_FAILED", '"t"', '"strict"', "n:"));
    await stillWorks(engine);
  });

  test("params that are no JSON are refused where they are given", () => {
    assert.throws(
      () => task("t", "echo", { a: [1n] }).build(),
      says("VALUE_NOT_SERIALIZABLE", '"t"', "BigInt", "a[0]"),
    );
    const circle: Record<string, unknown> = {};
    circle["self"] = circle;
    assert.throws(() => task("t", "echo", circle).build(), says("VALUE_NOT_SERIALIZABLE", '"t"', "circle", "self"));
    assert.throws(() => task("t", "echo", () => 1).build(), says("VALUE_NOT_SERIALIZABLE", '"t"', "function"));
  });

  test("an unknown job is refused at submit, with a guess and the names that are known", async (t) => {
    const engine = await startEngine(t, { jobs: [echo] });
    await assert.rejects(
      engine.submitWorkflow(workflow("nightly", task("orders", "ehco"))),
      says("JOB_MISSING", '"orders"', '"nightly"', '"ehco"', 'did you mean "echo"', "registered: echo"),
    );
    assert.deepEqual(await engine.listWorkflowInstances(), []);
    await stillWorks(engine);
  });
});

describe("jobs that misbehave", () => {
  /** Runs the function as a job and gives the failure that history keeps. */
  async function failureOf(t: TestContext, fn: JobFunction<unknown, unknown>, timeout = 30) {
    const engine = await startEngine(t, { jobs: [defineJob("bad", fn)] });
    const run = await engine.submitWorkflow(workflow("w", task("t", "bad").withTimeout(timeout)));
    const error = await run.result().catch((error: unknown) => error);
    assert.ok(error instanceof WorkflowFailed, String(error));
    says("WORKFLOW_FAILED", run.instanceId, '"t"')(error);
    const failure = taskOf(await run.getStatus(), "t").failure;
    assert.ok(failure);
    readsWell(failure.message);
    await stillWorks(engine);
    return failure;
  }

  const thrown: readonly [string, unknown, string, string][] = [
    ["a string", "went wrong entirely", "Error", "went wrong entirely"],
    ["a number", 17, "Error", "the job threw 17"],
    ["an object", { message: "an object with a message", name: "Odd" }, "Odd", "an object with a message"],
    ["a plain object", { table: "orders", why: "missing" }, "Error", "table: 'orders'"],
    ["undefined", undefined, "Error", "the job threw undefined"],
    ["null", null, "Error", "the job threw null"],
    ["an empty string", "", "Error", "the job threw ''"],
    ["an error without a message", new RangeError(), "RangeError", "RangeError without a message"],
    ["a class of its own", new (class QuotaError extends Error {})("used up entirely"), "Error", "used up entirely"],
  ];
  for (const [what, value, type, message] of thrown) {
    test(`one that throws ${what}`, async (t) => {
      const failure = await failureOf(t, () => {
        throw value;
      });
      assert.equal(failure.type, type);
      assert.ok(failure.message.includes(message), failure.message);
    });
  }

  test("one that throws something that cannot even be looked at", async (t) => {
    const failure = await failureOf(t, () => {
      throw new Proxy(new Error("do not look"), {
        get() {
          throw new Error("I said do not look");
        },
      });
    });
    assert.match(failure.message, /cannot be read/);
  });

  test("workflow code that throws what cannot be looked at fails", async (t) => {
    const trap = (): never => {
      throw new Error("I said do not look");
    };
    const { proxy: revoked, revoke } = Proxy.revocable({}, {});
    revoke();
    const hostile = new Proxy({}, { get: trap, has: trap, getPrototypeOf: trap });
    const several = new AggregateError([hostile], "both");
    for (const [name, thrown] of Object.entries({ hostile, revoked, several })) {
      const throwing = defineWorkflow(name, async (ctx) => {
        await ctx.sleep(1);
        throw thrown as Error;
      });
      const engine = await startEngine(t, { workflows: [throwing] });
      await assert.rejects((await engine.startWorkflow(throwing)).result(), WorkflowFailed, name);
    }
  });

  test("one that returns a BigInt", async (t) => {
    const failure = await failureOf(t, () => 5n);
    assert.equal(failure.type, "VALUE_NOT_SERIALIZABLE");
    assert.match(failure.message, /output of task "t".*BigInt/);
  });

  test("one that returns a BigInt deep inside", async (t) => {
    const failure = await failureOf(t, () => ({ rows: [{ id: 1 }, { id: 2n }] }));
    assert.match(failure.message, /BigInt at rows\[1\]\.id/);
  });

  test("one that returns a circle", async (t) => {
    const failure = await failureOf(t, () => {
      const parent: Record<string, unknown> = {};
      parent["child"] = { parent };
      return parent;
    });
    assert.equal(failure.type, "VALUE_NOT_SERIALIZABLE");
    assert.match(failure.message, /circle at child\.parent/);
  });

  test("one that returns a function, or a symbol", async (t) => {
    assert.match((await failureOf(t, () => () => 1)).message, /function/);
    assert.match((await failureOf(t, () => Symbol("x"))).message, /symbol/);
  });

  test("one that returns a value whose toJSON throws", async (t) => {
    const failure = await failureOf(t, () => ({
      at: {
        toJSON() {
          throw new Error("not today");
        },
      },
    }));
    assert.match(failure.message, /toJSON at at threw Error: not today/);
  });

  test("one that never settles is timed out, and its slot comes back", async (t) => {
    const failure = await failureOf(t, () => new Promise(() => undefined), 0.02);
    assert.equal(failure.type, "TASK_TIMEOUT");
  });

  test("one that settles twice: the first counts", async (t) => {
    const engine = await startEngine(t);
    engine.registerJobFunction("twice", (): unknown => ({
      // oxlint-disable-next-line unicorn/no-thenable -- a promise of somebody else's making is what this is about
      then(resolve: (value: string) => void, reject: (error: Error) => void) {
        resolve("first");
        resolve("second");
        reject(new Error("third"));
      },
    }));
    const run = await engine.submitWorkflow(workflow("w", task("t", "twice")));
    assert.deepEqual(await run.result(), { t: "first" });
    await stillWorks(engine);
  });

  test("one whose promise throws when it is asked", async (t) => {
    const failure = await failureOf(t, () => ({
      // oxlint-disable-next-line unicorn/no-thenable -- a promise of somebody else's making is what this is about
      get then(): never {
        throw new Error("no promise today");
      },
    }));
    assert.match(failure.message, /no promise today/);
  });

  test("one that goes on after its end: what it says is not heard, and nothing breaks", async (t) => {
    const late = new Gate();
    const engine = await startEngine(t);
    engine.registerJobFunction("chatty", (_: unknown, ctx) => {
      void late.opened.then(() => {
        ctx.patchContext({ late: true });
        ctx.generateSubTask(task("late", "chatty").build());
      });
      return "done";
    });
    const run = await engine.submitWorkflow(workflow("w", task("t", "chatty")));
    await run.result();
    late.open();
    await stillWorks(engine);
    assert.deepEqual((await engine.getWorkflowInstanceBreakpoint(run.instanceId)).context, {});
    assert.equal((await run.getStatus()).tasks.length, 1);
  });

  test("one that changes the context or the outputs it sees changes nothing for others", async (t) => {
    const engine = await startEngine(t, { jobs: [echo] });
    engine.registerJobFunction("meddle", (_: unknown, ctx) => {
      (ctx.context as Record<string, unknown>)["a"] = "changed";
      (ctx.outputs["first"] as Record<string, unknown>)["b"] = "changed";
    });
    engine.registerJobFunction("look", (_: unknown, ctx) => [ctx.context, ctx.outputs]);
    const run = await engine.submitWorkflow(
      workflow(
        "w",
        task("first", "echo", { b: 1 }),
        task("meddle", "meddle").withDependency("first"),
        task("look", "look").withDependencies(["first", "meddle"]),
      ),
      { params: { a: 1 } },
    );
    assert.deepEqual((await run.result())["look"], [{ a: 1 }, { first: { b: 1 } }]);
  });

  const calls: readonly [string, JobFunction<unknown, unknown>, string, RegExp][] = [
    ["patchContext(null)", (_, ctx) => ctx.patchContext(null as never), "OPTION_INVALID", /patchContext.*"t"/],
    ["patchContext of a list", (_, ctx) => ctx.patchContext([] as never), "OPTION_INVALID", /patchContext.*"t"/],
    ["patchContext of a BigInt", (_, ctx) => ctx.patchContext({ k: 1n }), "VALUE_NOT_SERIALIZABLE", /"k".*BigInt/],
    ["generateSubTask(null)", (_, ctx) => ctx.generateSubTask(null as never), "SUBTASK_INVALID", /"t".*TaskBuilder/],
    [
      "generateSubTask of a builder",
      (_, ctx) => ctx.generateSubTask(task("s", "bad") as never),
      "SUBTASK_INVALID",
      /"t".*TaskBuilder/,
    ],
    [
      "a sub-task that depends on nobody",
      (_, ctx) => ctx.generateSubTask(task("s", "bad").withDependency("nobody").build()),
      "SUBTASK_INVALID",
      /"s".*"nobody"/,
    ],
    [
      "a sub-task that waits with a condition",
      (_, ctx) => ctx.generateSubTask(task("s", "bad").withDependency("t", { when: true }).build()),
      "SUBTASK_INVALID",
      /"s".*condition/,
    ],
  ];
  for (const [what, fn, type, message] of calls) {
    test(`one that calls ${what}`, async (t) => {
      const failure = await failureOf(t, fn);
      assert.equal(failure.type, type);
      assert.match(failure.message, message);
    });
  }
});

describe("sizes", () => {
  test("a context over 10 MB and 1001 sub-tasks fail the task, and the earlier state is intact", async (t) => {
    const engine = await startEngine(t, { jobs: [echo] });
    engine.registerJobFunction("big", (_: unknown, ctx) => ctx.patchContext({ big: "x".repeat(10_485_760) }));
    engine.registerJobFunction("many", (_: unknown, ctx) => {
      for (let i = 0; i < 1001; i++) ctx.generateSubTask(task(`s${i}`, "echo").build());
    });
    const big = await engine.submitWorkflow(workflow("w", task("t", "big")), { params: { a: 1 } });
    await assert.rejects(big.result(), says("WORKFLOW_FAILED", '"t"', "10485760"));
    assert.deepEqual((await engine.getWorkflowInstanceBreakpoint(big.instanceId)).context, { a: 1 });
    const many = await engine.submitWorkflow(workflow("w", task("t", "many")));
    await assert.rejects(many.result(), says("WORKFLOW_FAILED", '"t"', "1001"));
    assert.equal((await many.getStatus()).tasks.length, 1);
    await stillWorks(engine);
  });

  test("a hundred patches that together pass the limit: the one that passes it fails", async (t) => {
    const engine = await startEngine(t);
    engine.registerJobFunction("add", (key: string, ctx) => ctx.patchContext({ [key]: "x".repeat(4_000_000) }));
    const run = await engine.submitWorkflow(
      workflow(
        "w",
        task("a", "add", "a"),
        task("b", "add", "b").withDependency("a"),
        task("c", "add", "c").withDependency("b"),
      ),
    );
    await assert.rejects(run.result(), says("WORKFLOW_FAILED", '"c"', "10485760"));
    const { context } = await engine.getWorkflowInstanceBreakpoint(run.instanceId);
    assert.deepEqual(Object.keys(context), ["a", "b"]);
  });
});

describe("arguments", () => {
  const bad: readonly [string, (engine: Engine, id: string) => Promise<unknown> | (() => void), RegExp][] = [
    [
      "getWorkflowInstanceStatus(undefined)",
      (engine) => engine.getWorkflowInstanceStatus(undefined as never),
      /instance id.*undefined/,
    ],
    ["awaitWorkflowInstance('')", (engine) => engine.awaitWorkflowInstance(""), /instance id.*""/],
    ["resumeWorkflowInstance(5)", (engine) => engine.resumeWorkflowInstance(5 as never), /instance id.*5/],
    ["terminate(5)", (engine, id) => engine.terminateWorkflowInstance(id, 5 as never), /reason.*text.*5/],
    ["terminate({})", (engine, id) => engine.terminateWorkflowInstance(id, {} as never), /reason.*text.*object/],
    ["updateContext(null)", (engine, id) => engine.updateContext(id, null as never), /updateContext.*object.*null/],
    ["updateContext(text)", (engine, id) => engine.updateContext(id, "abc" as never), /updateContext.*object.*"abc"/],
    ["listWorkflowInstances(limit: -1)", (engine) => engine.listWorkflowInstances({ limit: -1 }), /limit.*-1/],
    [
      "listWorkflowInstances(status: a text)",
      (engine) => engine.listWorkflowInstances({ status: "Running" as unknown as InstanceStatus[] }),
      /status.*list.*"Running"/,
    ],
    [
      "listWorkflowInstances(status: unknown)",
      (engine) => engine.listWorkflowInstances({ status: ["Done" as InstanceStatus] }),
      /status.*"Terminated".*"Done"/,
    ],
    [
      "listWorkflowInstances(workflow: 5)",
      (engine) => engine.listWorkflowInstances({ workflow: 5 as never }),
      /workflow.*text.*5/,
    ],
    [
      "getWorkflowInstanceHistory(limit: 0)",
      (engine, id) => engine.getWorkflowInstanceHistory(id, { limit: 0 }),
      /limit.*0/,
    ],
    [
      "purgeWorkflowInstances()",
      (engine) => engine.purgeWorkflowInstances(undefined as never),
      /purge.*object.*undefined/,
    ],
    ["purgeWorkflowInstances({})", (engine) => engine.purgeWorkflowInstances({} as never), /instance id.*undefined/],
    [
      "purgeWorkflowInstances(status: Running)",
      (engine) => engine.purgeWorkflowInstances({ status: "Running" as never, endedBefore: 1 }),
      /status.*"Success".*"Running"/,
    ],
    [
      "purgeWorkflowInstances without a time",
      (engine) => engine.purgeWorkflowInstances({ status: "Success" } as never),
      /endedBefore.*undefined/,
    ],
  ];

  test("that are of no use are refused with OPTION_INVALID, and the instance is unharmed", async (t) => {
    const gate = new Gate();
    const engine = await startEngine(t, { jobs: [defineJob("wait", () => gate.opened)] });
    const run = await engine.submitWorkflow(workflow("w", task("t", "wait")));
    for (const [what, call, message] of bad) {
      await assert.rejects(async () => await call(engine, run.instanceId), says("OPTION_INVALID", message), what);
    }
    assert.throws(() => engine.subscribe(undefined as never), says("OPTION_INVALID", "subscribe"));
    gate.open();
    await run.result();
    await stillWorks(engine);
  });

  const badSubmits: readonly [string, unknown, RegExp][] = [
    ["an empty id", { instanceId: "" }, /instance id.*""/],
    ["an id that is a number", { instanceId: 5 }, /instance id.*5/],
    ["an id of 513 characters", { instanceId: "x".repeat(513) }, /512.*513/],
    ["half a task at once", { maxConcurrentTasks: 0.5 }, /maxConcurrentTasks.*0\.5/],
    ["no task at once", { maxConcurrentTasks: 0 }, /maxConcurrentTasks.*0/],
    ["null", null, /options.*object.*null/],
  ];
  for (const [what, options, message] of badSubmits) {
    test(`submitWorkflow with ${what} is refused`, async (t) => {
      const engine = await startEngine(t, { jobs: [echo] });
      await assert.rejects(
        engine.submitWorkflow(workflow("w", task("t", "echo")), options as SubmitOptions),
        says("OPTION_INVALID", message),
      );
      await stillWorks(engine);
    });
  }

  test("start parameters that are no JSON are refused, naming the key", async (t) => {
    const engine = await startEngine(t, { jobs: [echo] });
    await assert.rejects(
      engine.submitWorkflow(workflow("w", task("t", "echo")), { params: { day: { at: 1n } } }),
      says("VALUE_NOT_SERIALIZABLE", '"day"', "BigInt", "at"),
    );
    await stillWorks(engine);
  });

  const badOptions: readonly [string, unknown, RegExp][] = [
    ["nothing", undefined, /new Engine.*storage.*undefined/],
    ["no storage", {}, /"storage".*sqlite\(/],
    ["a file name for a storage", { storage: "./heddle.db" }, /"storage".*sqlite\(/],
    ["a misspelt option", { storage: sqlite(":memory:"), poolsize: 3 }, /"poolsize".*did you mean "poolSize"/],
    ["jobs that are no list", { storage: sqlite(":memory:"), jobs: echo }, /"jobs".*list.*object/],
    ["a job that is none", { storage: sqlite(":memory:"), jobs: [echo.fn] }, /"jobs".*defineJob.*function/],
    [
      "a workflow among the jobs",
      { storage: sqlite(":memory:"), jobs: [defineWorkflow("order", async () => 1)] },
      /"jobs" must hold jobs; "order" is a workflow: give it in workflows/,
    ],
    [
      "a workflow that is none",
      { storage: sqlite(":memory:"), workflows: [{}] },
      /"workflows".*WorkflowBuilder.*object/,
    ],
    ["a domain that is a number", { storage: sqlite(":memory:"), domains: { a: 3 } }, /"domains\.a".*size.*3/],
    ["a logger without methods", { storage: sqlite(":memory:"), logger: () => undefined }, /"logger".*debug/],
    ["a negative retention", { storage: sqlite(":memory:"), retentionMs: { Failed: -1 } }, /"retentionMs\.Failed"/],
    ["a watchdog of text", { storage: sqlite(":memory:"), watchdog: "yes" }, /"watchdog" must be true, false or \{/],
    ["a watchdog's misspelt limit", { storage: sqlite(":memory:"), watchdog: { endAfter: 1 } }, /mean "endAfterMs"/],
    [
      "a watchdog's tiny limit",
      { storage: sqlite(":memory:"), watchdog: { endAfterMs: 500 } },
      /"watchdog.endAfterMs"/,
    ],
    ["a watchdog's unknown format", { storage: sqlite(":memory:"), watchdog: { format: "xml" } }, /"json", "pino" or/],
    ["a negative grace", { storage: sqlite(":memory:"), stopGraceMs: -1 }, /"stopGraceMs"/],
    ["too many sub-tasks", { storage: sqlite(":memory:"), maxSubTasks: 10_001 }, /"maxSubTasks".*at most 10000/],
    ["a domain with a control character", { storage: sqlite(":memory:"), domains: { "a\u0000": { size: 1 } } }, /name/],
    ["half a sub-task", { storage: sqlite(":memory:"), maxSubTasks: 0.5 }, /"maxSubTasks".*whole number/],
    ["no idle time", { storage: sqlite(":memory:"), idleMs: 0 }, /"idleMs"/],
  ];
  for (const [what, options, message] of badOptions) {
    test(`new Engine with ${what} is refused`, () => {
      assert.throws(() => new Engine(options as EngineOptions), says("OPTION_INVALID", message));
    });
  }

  test("an option that is undefined is one that is not given", () => {
    const options = { poolSize: undefined, logger: undefined, retentionMs: undefined } as unknown as EngineOptions;
    assert.equal(newEngine({ ...options, storage: sqlite(":memory:") }).executor.poolSize, 10);
  });

  test("sqlite() without a file name is refused", () => {
    assert.throws(() => sqlite(""), says("OPTION_INVALID", "file name"));
    assert.throws(() => sqlite(undefined as never), says("OPTION_INVALID", "file name", "undefined"));
  });
});

describe("operations in the wrong state name the state", () => {
  test("on an instance that runs, is paused, or has ended", async (t) => {
    const gate = new Gate();
    const wait = defineJob("wait", () => gate.opened);
    const engine = await startEngine(t, { jobs: [wait, echo] });
    const run = await engine.submitWorkflow(
      workflow(
        "w",
        task("a", "wait"),
        new TaskBuilder("d").withDecision("true").withDependency("a"),
        task("b", "echo").withDependency("a"),
      ),
    );
    const id = run.instanceId;
    await untilInstance(engine, id, (view) => taskOf(view, "a").status === "Running");
    await assert.rejects(run.resume(), says("INSTANCE_STATE", "resume", id, "Running"));
    await assert.rejects(engine.retryWorkflowInstance(id), says("INSTANCE_STATE", "retry", "Running"));
    await assert.rejects(engine.rerunWorkflowInstance(id, "a"), says("INSTANCE_STATE", "re-run", "Running"));
    await assert.rejects(engine.succeedTask(id, "a", 1), says("INSTANCE_STATE", "succeeded", "Running"));
    await assert.rejects(engine.skipTask(id, "a"), says("INSTANCE_STATE", "skip", "Running"));
    await assert.rejects(engine.updateTaskParams(id, "a", {}), says("TASK_STATE", '"a"', id, "Running", "Pending"));
    await assert.rejects(engine.updateTaskParams(id, "d", {}), says("TASK_INVALID", '"d"', "no job"));
    await run.pause();
    gate.open();
    await untilInstance(engine, id, ({ status }) => status === "Paused");
    await assert.rejects(run.pause(), says("INSTANCE_STATE", "pause", id, "Paused"));
    await assert.rejects(engine.retryWorkflowInstance(id), says("INSTANCE_STATE", "retry", "Paused"));
    await run.resume();
    await run.result();
    await assert.rejects(run.pause(), says("INSTANCE_STATE", "pause", id, "Success"));
    await assert.rejects(run.terminate(), says("INSTANCE_STATE", "terminate", id, "Success"));
    await assert.rejects(
      run.workflow.addSubTask(task("s", "echo").build(), "a"),
      says("INSTANCE_STATE", id, "Success"),
    );
    await stillWorks(engine);
  });

  test("a sub-task for a parent whose successors may have started is refused", async (t) => {
    const gate = new Gate();
    const engine = await startEngine(t, { jobs: [echo, defineJob("wait", () => gate.opened)] });
    const run = await engine.submitWorkflow(workflow("w", task("a", "echo"), task("b", "wait").withDependency("a")));
    await untilInstance(engine, run.instanceId, (view) => taskOf(view, "b").status === "Running");
    await assert.rejects(
      run.workflow.addSubTask(task("s", "echo").build(), "a"),
      says("TASK_STATE", '"a"', run.instanceId, "Success"),
    );
    gate.open();
    await run.result();
  });
});

describe("weird names", () => {
  const names = [
    "__proto__",
    "constructor",
    "toString",
    "hasOwnProperty",
    "",
    " ",
    "名前 🚀 \u0000 \u2028",
    "\ud800",
    "a/b~1",
    "x".repeat(500),
    "'; DROP TABLE instance; --",
  ];

  test("as instance ids: taken as they are, found again after a restart", async (t) => {
    const file = temporaryFile(t);
    const engine = await startEngine(t, { storage: sqlite(file), jobs: [echo] });
    const used = names.filter((name) => name !== "");
    for (const instanceId of used) {
      const run = await engine.submitWorkflow(workflow("w", task("t", "echo", instanceId)), { instanceId });
      assert.deepEqual(await run.result(), { t: instanceId });
    }
    await engine.stop();
    const after = await startEngine(t, { storage: sqlite(file), jobs: [echo] });
    for (const instanceId of used) {
      assert.deepEqual(await after.awaitWorkflowInstance(instanceId), { t: instanceId });
    }
    assert.equal((await after.listWorkflowInstances()).length, used.length);
  });

  test("as task, workflow, job and domain names, context and output keys", async (t) => {
    const file = temporaryFile(t);
    const used = names.filter((name) => name.trim() !== "");
    const see = (params: unknown, ctx: { context: unknown; outputs: unknown }) => [params, ctx.context, ctx.outputs];
    const jobs = used.map((name) => defineJob(name.replaceAll("@", ""), see));
    // Names of domains are the only ones that must be printable.
    const domainOf = (name: string): string => name.replaceAll(/[\p{Cc}\u2028\u2029\u202e]/gu, "");
    const domains = Object.fromEntries(used.map((name) => [domainOf(name), { size: 1 }]));
    const options = { jobs, domains, poolSize: 30, poolSizeMax: 30 };
    const engine = await startEngine(t, { storage: sqlite(file), ...options });
    const keyed = (value: unknown): Record<string, unknown> => Object.fromEntries(used.map((name) => [name, value]));
    for (const name of used) {
      const definition = new WorkflowBuilder()
        .withName(name)
        .withDomain(domainOf(name))
        .withContext(keyed("from the definition"))
        .withTask(task(name, name, keyed(1)))
        .withTask(task("after", name).withDependency(name))
        .build();
      const again = Workflow.fromJSON(JSON.parse(JSON.stringify(definition)));
      assert.equal(again.version, definition.version);
      const run = await engine.submitWorkflow(again, { params: { [name]: "from the start" } });
      const context = { ...keyed("from the definition"), ...Object.fromEntries([[name, "from the start"]]) };
      const outputs = await run.result();
      assert.deepEqual(
        outputs,
        Object.fromEntries([
          [name, [keyed(1), context, {}]],
          ["after", [null, context, Object.fromEntries([[name, [keyed(1), context, {}]]])]],
        ]),
      );
      assert.ok(Object.hasOwn(outputs, name));
    }
    assert.equal(({} as Record<string, unknown>)["a"], undefined);
    await engine.stop();
    const after = await startEngine(t, { storage: sqlite(file), ...options });
    for (const { id, workflow: name } of await after.listWorkflowInstances()) {
      assert.ok(Object.hasOwn(await after.awaitWorkflowInstance(id), name));
    }
  });

  test("patches and updates of such context keys", async (t) => {
    const gate = new Gate();
    const engine = await startEngine(t);
    engine.registerJobFunction("patch", async (_: unknown, ctx) => {
      ctx.patchContext(JSON.parse('{"__proto__": {"polluted": true}, "constructor": 1}') as Record<string, unknown>);
      await gate.opened;
    });
    engine.registerJobFunction("look", (_: unknown, ctx) => ctx.context);
    const run = await engine.submitWorkflow(workflow("w", task("p", "patch"), task("l", "look").withDependency("p")));
    await engine.updateContext(
      run.instanceId,
      JSON.parse('{"toString": 5, "__proto__": 1}') as Record<string, unknown>,
    );
    gate.open();
    const { l } = await run.result();
    assert.equal(JSON.stringify(l), '{"toString":5,"__proto__":{"polluted":true},"constructor":1}');
    await engine.submitWorkflow(workflow("d", new TaskBuilder("d").withDecision('context["constructor"] == 1')), {
      params: { constructor: 1 },
    });
    await until(() => engine.health.unfinishedInstances === 0);
    assert.equal(({} as { polluted?: boolean }).polluted, undefined);
  });

  test("empty and blank names are refused where they are given", () => {
    for (const name of ["", " ", "\n"]) {
      assert.throws(() => task(name, "echo").build(), says("TASK_INVALID", "name"));
      assert.throws(() => workflow(name, task("t", "echo")), says("WORKFLOW_INVALID", "name"));
      assert.throws(() => defineJob(name, () => 1), says("JOB_INVALID", "name"));
      assert.throws(() => task("t", name).build(), says("TASK_INVALID", '"t"', "job name"));
      assert.throws(() => task("t", "echo").withDependency(name).build(), says("TASK_INVALID", '"t"', "dependency"));
    }
  });
});
