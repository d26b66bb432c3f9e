/** Spec §2: defining DAG workflows in code. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { z } from "zod";
import {
  defineJob,
  type LiveTask,
  Task,
  TaskBuilder,
  Workflow,
  WorkflowBuilder,
  type WorkflowController,
} from "../../src/index.ts";
import { sqlite } from "../../src/sqlite.ts";
import { Gate, says, startEngine, statuses, task, taskOf, workflow, untilInstance } from "./rig.ts";
import { temporaryFile } from "../support/temporary-folder.ts";

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const extract = defineJob("extract", { input: z.object({ table: z.string() }) }, ({ table }) => ({
  rows: table.length,
}));
const echo = defineJob("echo", (params: unknown) => params ?? "done");

describe("2.1 WorkflowBuilder", () => {
  test("2.1 takes every setting, and the workflow shows it", () => {
    const nightly = new WorkflowBuilder()
      .withName("nightly")
      .withDomain("market-data")
      .withTask(task("a", "echo").build())
      .withMaxConcurrentTasks(3)
      .withTimeout(60)
      .withContext({ day: 1 })
      .withFailurePolicy("continue")
      .withMaxInstances(2, "skip")
      .build();
    assert.match(nightly.id, uuid);
    assert.equal(nightly.name, "nightly");
    assert.equal(nightly.domain, "market-data");
    assert.equal(nightly.maxConcurrentTasks, 3);
    assert.equal(nightly.timeoutSeconds, 60);
    assert.deepEqual(nightly.context, { day: 1 });
    assert.equal(nightly.failurePolicy, "continue");
    assert.deepEqual(nightly.maxInstances, { max: 2, policy: "skip" });
  });

  test("2.1 withContext and withTimeout are in force when it runs", async (t) => {
    const see = defineJob("see", (_: unknown, ctx) => ctx.context);
    const never = defineJob("never", () => new Promise<never>(() => undefined));
    const engine = await startEngine(t, { jobs: [see, never] });
    const seen = await engine.submitWorkflow(
      new WorkflowBuilder().withName("w").withContext({ a: 1, b: 1 }).withTask(task("t", "see")).build(),
      { params: { b: 2 } },
    );
    assert.deepEqual(await seen.result(), { t: { a: 1, b: 2 } });
    const slow = await engine.submitWorkflow(
      new WorkflowBuilder().withName("slow").withTimeout(0.02).withTask(task("t", "never")).build(),
    );
    await assert.rejects(slow.result(), says("WORKFLOW_FAILED", slow.instanceId, "timeout of 0.02 s"));
    assert.deepEqual(await statuses(slow), { t: "Stopped" });
  });
});

describe("2.2 TaskBuilder", () => {
  test("2.2 takes every setting, and the task shows it", () => {
    const built = new TaskBuilder("orders")
      .withJobFunction(extract, { table: "orders" })
      .withTimeout(60)
      .withRetryCount(3)
      .withRetryPolicy({ initialMs: 5, factor: 3, maxMs: 50, jitter: 0.5, nonRetryable: ["BadData"] })
      .withDependency("a", { when: true })
      .withDependencies(["b", "c"])
      .withDomain("market-data")
      .withSkipWhenFailed()
      .withEnabled(false)
      .build();
    assert.ok(built instanceof Task);
    assert.match(built.id, uuid);
    assert.equal(built.name, "orders");
    assert.equal(built.jobName, "extract");
    assert.deepEqual(built.params, { table: "orders" });
    assert.equal(built.timeoutSeconds, 60);
    assert.equal(built.retryCount, 3);
    assert.deepEqual(built.retryPolicy, {
      initialMs: 5,
      factor: 3,
      maxMs: 50,
      jitter: 0.5,
      nonRetryable: ["BadData"],
    });
    assert.deepEqual(built.dependencies, [{ name: "a", when: "true" }, { name: "b" }, { name: "c" }]);
    assert.equal(built.domain, "market-data");
    assert.equal(built.skipWhenFailed, true);
    assert.equal(built.enabled, false);
  });

  test("2.2 the defaults: 30 s for built tasks, an hour for those from a file, no retry", () => {
    const built = task("t", "echo").build();
    assert.equal(built.timeoutSeconds, 30);
    assert.equal(built.retryCount, 0);
    const loaded = Workflow.fromJSON({ nodes: [{ nodeId: 1, jobName: "echo", nodeName: "t" }] }).task("t");
    assert.equal(loaded?.timeoutSeconds, 3600);
  });

  test("2.2 withDecision and withNestedWorkflow make other kinds of task", () => {
    const inner = workflow("inner", task("t", "echo"));
    assert.equal(new TaskBuilder("d").withDecision("context.a > 1").build().kind, "decision");
    assert.equal(new TaskBuilder("n").withNestedWorkflow(inner).build().nestedWorkflow, inner);
    assert.equal(new TaskBuilder("n").withNestedWorkflow("inner").build().nestedWorkflow, "inner");
  });
});

describe("2.3 WorkflowBuilder.build()", () => {
  test("2.3 call order does not matter; dependencies are names and become ids", () => {
    const last = new TaskBuilder("last").withDependency("first").withJobFunction("echo").build();
    const first = task("first", "echo").build();
    const built = new WorkflowBuilder().withTask(last).withTask(first).withName("w").build();
    assert.deepEqual([...built.tasks.keys()], [last.id, first.id]);
    assert.deepEqual(built.dependencies.get(last.id), [first.id]);
    assert.deepEqual(built.dependencies.get(first.id), []);
  });

  const refused: readonly [string, () => Workflow, ReturnType<typeof says>][] = [
    [
      "duplicate names",
      () => workflow("w", task("a", "echo"), task("a", "echo")),
      says("TASK_DUPLICATE", '"w"', '"a"'),
    ],
    [
      "an unknown dependency, with a guess",
      () => workflow("w", task("orders", "echo"), task("join", "echo").withDependency("order")),
      says("DEPENDENCY_UNKNOWN", '"w"', '"join"', '"order"', 'did you mean "orders"'),
    ],
    [
      "a self dependency",
      () => workflow("w", task("a", "echo").withDependency("a")),
      says("DEPENDENCY_SELF", '"w"', '"a"'),
    ],
    [
      "a cycle, which it names",
      () =>
        workflow(
          "w",
          task("a", "echo").withDependency("c"),
          task("b", "echo").withDependency("a"),
          task("c", "echo").withDependency("b"),
        ),
      says("WORKFLOW_CYCLE", '"w"', "a → b → c → a"),
    ],
    ["an empty workflow", () => workflow("w"), says("WORKFLOW_EMPTY", '"w"')],
    ["a workflow without a name", () => workflow("", task("a", "echo")), says("WORKFLOW_INVALID", "name")],
  ];
  for (const [what, build, expected] of refused) {
    test(`2.3 rejects ${what}`, () => assert.throws(build, expected));
  }
});

describe("2.4 TaskBuilder.build()", () => {
  const refused: readonly [string, () => Task, ReturnType<typeof says>][] = [
    ["a timeout of 0", () => task("t", "echo").withTimeout(0).build(), says("TASK_INVALID", '"t"', "timeout", "0")],
    ["a negative timeout", () => task("t", "echo").withTimeout(-1).build(), says("TASK_INVALID", "timeout", "-1")],
    [
      "a timeout that is no number",
      () => task("t", "echo").withTimeout(Number.NaN).build(),
      says("TASK_INVALID", "timeout", "NaN"),
    ],
    [
      "an endless timeout",
      () => task("t", "echo").withTimeout(Number.POSITIVE_INFINITY).build(),
      says("TASK_INVALID", "timeout"),
    ],
    [
      "a negative retry count",
      () => task("t", "echo").withRetryCount(-1).build(),
      says("TASK_INVALID", '"t"', "retry count", "-1"),
    ],
    [
      "half a retry",
      () => task("t", "echo").withRetryCount(0.5).build(),
      says("TASK_INVALID", '"t"', "retry count", "0.5"),
    ],
    [
      "params that do not fit the job's schema",
      () => new TaskBuilder("t").withJobFunction(extract, { table: 5 } as unknown as { table: string }).build(),
      says("PARAMS_INVALID", '"t"', '"extract"', "table"),
    ],
    ["no work at all", () => new TaskBuilder("t").build(), says("TASK_INVALID", '"t"', "nothing to do")],
    [
      "two kinds of work",
      () => task("t", "echo").withDecision("true").build(),
      says("TASK_INVALID", '"t"', "only one"),
    ],
  ];
  for (const [what, build, expected] of refused) {
    test(`2.4 rejects ${what}`, () => assert.throws(build, expected));
  }
});

describe("2.5 definitions", () => {
  test("2.5 before submit, updateParams and addSubTask edit the definition", async (t) => {
    const engine = await startEngine(t, { jobs: [extract, echo] });
    const orders = new TaskBuilder("orders").withJobFunction(extract, { table: "x" }).build();
    const definition = workflow("w", orders, task("join", "echo").withDependency("orders"));
    assert.equal(orders.status, "Pending");
    orders.updateParams({ table: "customers" });
    assert.throws(
      () => orders.updateParams({ table: 1 } as unknown as { table: string }),
      says("PARAMS_INVALID", '"orders"', "table"),
    );
    const extra = task("extra", "echo", "more").build();
    definition.addSubTask(extra, "orders");
    const join = definition.task("join");
    assert.ok(join);
    assert.deepEqual(definition.dependencies.get(extra.id), [orders.id]);
    assert.deepEqual(definition.dependencies.get(join.id)?.toSorted(), [orders.id, extra.id].toSorted());
    assert.throws(
      () => definition.addSubTask(task("more", "echo").build(), "order"),
      says("TASK_UNKNOWN", '"more"', '"order"', 'did you mean "orders"'),
    );
    assert.throws(
      () => definition.addSubTask(task("extra", "echo").build(), "orders"),
      says("TASK_DUPLICATE", '"w"', '"extra"'),
    );
    definition.validate();
    const run = await engine.submitWorkflow(definition);
    assert.deepEqual(await run.result(), { orders: { rows: 9 }, extra: "more", join: "done" });
  });
});

describe("2.5 controller.workflow, the live one", () => {
  /** `first` waits for the gate, `second` for `first`. */
  async function startedRun(
    t: Parameters<typeof startEngine>[0],
    storage = sqlite(":memory:"),
  ): Promise<{ gate: Gate; run: WorkflowController; engine: Awaited<ReturnType<typeof startEngine>> }> {
    const gate = new Gate();
    const wait = defineJob("wait", () => gate.opened);
    const engine = await startEngine(t, { jobs: [wait, extract, echo], storage });
    const run = await engine.submitWorkflow(
      workflow(
        "w",
        task("first", "wait"),
        task("second", "extract", { table: "x" }).withDependency("first"),
        task("third", "echo").withDependency("second"),
      ),
    );
    await untilInstance(engine, run.instanceId, (view) => taskOf(view, "first").status === "Running");
    return { gate, run, engine };
  }

  function live(run: WorkflowController, name: string): LiveTask {
    const found = run.workflow.task(name);
    assert.ok(found);
    return found;
  }

  test("2.5 status is current", async (t) => {
    const { gate, run } = await startedRun(t);
    assert.equal(run.workflow.name, "w");
    assert.equal(live(run, "first").status, "Running");
    assert.equal(live(run, "second").status, "Pending");
    gate.open();
    await run.result();
    assert.equal(live(run, "first").status, "Success");
    assert.equal(live(run, "second").status, "Success");
    assert.deepEqual(live(run, "second").params, { table: "x" });
    assert.equal(live(run, "second").jobName, "extract");
  });

  test("2.5 updateParams works on Pending tasks and is type-checked", async (t) => {
    const { gate, run } = await startedRun(t);
    await live(run, "second").updateParams({ table: "four" });
    assert.deepEqual(live(run, "second").params, { table: "four" });
    await assert.rejects(live(run, "second").updateParams({ table: 4 }), says("PARAMS_INVALID", '"second"', "table"));
    await assert.rejects(
      live(run, "first").updateParams({}),
      says("TASK_STATE", '"first"', run.instanceId, "Running", "Pending"),
    );
    gate.open();
    assert.deepEqual((await run.result())["second"], { rows: 4 });
    await assert.rejects(live(run, "second").updateParams({ table: "x" }), says("INSTANCE_STATE", "Success"));
  });

  test("2.5 updateParams(undefined) gives the job no params, as in a definition", async (t) => {
    const { gate, run } = await startedRun(t);
    await live(run, "third").updateParams({ given: true });
    await live(run, "third").updateParams(undefined);
    gate.open();
    assert.equal((await run.result())["third"], "done");
  });

  test("2.5 addSubTask joins the run and refuses an unknown parent or a duplicate name", async (t) => {
    const { gate, run } = await startedRun(t);
    await run.workflow.addSubTask(task("extra", "echo", "more").build(), "first");
    assert.equal(live(run, "extra").status, "Pending");
    assert.deepEqual(run.workflow.dependencies.get(live(run, "extra").id), [live(run, "first").id]);
    await assert.rejects(
      run.workflow.addSubTask(task("other", "echo").build(), "frist"),
      says("TASK_UNKNOWN", '"frist"', run.instanceId, 'did you mean "first"'),
    );
    await assert.rejects(
      run.workflow.addSubTask(task("extra", "echo").build(), "first"),
      says("SUBTASK_INVALID", '"extra"'),
    );
    await assert.rejects(
      run.workflow.addSubTask(task("other", "no-such-job").build(), "first"),
      says("JOB_MISSING", '"no-such-job"', '"other"'),
    );
    await assert.rejects(
      run.workflow.addSubTask(task("other", "echo").withDomain("no-such-domain").build(), "first"),
      says("DOMAIN_UNKNOWN", '"no-such-domain"', '"other"'),
    );
    gate.open();
    assert.equal((await run.result())["extra"], "more");
    assert.ok(run.workflow.tasks.size === 4);
  });

  test("2.5 live changes are durable", async (t) => {
    const file = temporaryFile(t);
    const { run, engine } = await startedRun(t, sqlite(file));
    await live(run, "second").updateParams({ table: "four" });
    await run.workflow.addSubTask(task("extra", "echo", "more").build(), "second");
    await engine.stop();

    const wait = defineJob("wait", () => "let through");
    const after = await startEngine(t, { jobs: [wait, extract, echo], storage: sqlite(file) });
    assert.deepEqual(await after.awaitWorkflowInstance(run.instanceId), {
      first: "let through",
      second: { rows: 4 },
      extra: "more",
      third: "done",
    });
  });
});

describe("2.6 serialisation", () => {
  const inner = workflow("inner", task("t", "echo"));
  const everything = new WorkflowBuilder()
    .withName("everything")
    .withDomain("d")
    .withMaxConcurrentTasks(3)
    .withTimeout(60)
    .withContext({ nested: { list: [1, null, "x"] } })
    .withFailurePolicy("continue")
    .withMaxInstances(2, "fail")
    .withTask(
      task("a", "echo", { deep: { list: [1, 2] } })
        .withTimeout(1.5)
        .withRetryCount(2),
    )
    .withTask(new TaskBuilder("d").withDecision('context.x == "a"').withDependency("a"))
    .withTask(task("yes", "echo").withDependency("d", { when: true }).withSkipWhenFailed())
    .withTask(task("no", "echo").withDependency("d", { when: false }).withEnabled(false).withDomain("e"))
    .withTask(new TaskBuilder("n").withNestedWorkflow(inner).withDependencies(["yes", "no"]))
    .build();

  test("2.6 a definition goes to plain JSON and back with nothing lost", () => {
    const text = JSON.stringify(everything);
    const back = Workflow.fromJSON(JSON.parse(text));
    assert.deepEqual(back.toJSON(), everything.toJSON());
    assert.deepEqual(JSON.parse(JSON.stringify(back)), JSON.parse(text));
    assert.equal(back.id, everything.id);
    assert.equal(back.version, everything.version);
    assert.deepEqual([...back.tasks.keys()], [...everything.tasks.keys()]);
    assert.deepEqual(back.dependencies, everything.dependencies);
  });

  test("2.6 it is in the dag-spec format", () => {
    const { nodes, edges } = everything.toJSON();
    assert.deepEqual(
      nodes.map(({ nodeId, nodeName, nodeType }) => [nodeId, nodeName, nodeType]),
      [
        [1, "a", 1],
        [2, "d", 2],
        [3, "yes", 1],
        [4, "no", 1],
        [5, "n", 3],
      ],
    );
    assert.deepEqual(edges?.[1], { from: 2, to: 3, property: "true" });
    assert.equal(nodes[0]?.nodeParams, '{"deep":{"list":[1,2]}}');
  });

  test("2.6 a definition that was read back runs, and so does what it nests", async (t) => {
    const engine = await startEngine(t, { jobs: [echo], workflows: [inner] });
    const outer = workflow("outer", new TaskBuilder("n").withNestedWorkflow("inner"));
    const run = await engine.submitWorkflow(Workflow.fromJSON(JSON.parse(JSON.stringify(outer))));
    assert.deepEqual(await run.result(), { n: { t: "done" } });
  });

  test("2.6 a nested workflow that was an object travels with its parent", async (t) => {
    const engine = await startEngine(t, { jobs: [echo], workflows: [inner] });
    const outer = workflow("outer", new TaskBuilder("n").withNestedWorkflow(inner));
    const run = await engine.submitWorkflow(Workflow.fromJSON(JSON.parse(JSON.stringify(outer))));
    assert.deepEqual(await run.result(), { n: { t: "done" } });

    const elsewhere = await startEngine(t, { jobs: [echo] });
    const moved = await elsewhere.submitWorkflow(Workflow.fromJSON(JSON.parse(JSON.stringify(outer))));
    assert.deepEqual(await moved.result(), { n: { t: "done" } });
  });

  test("2.6 submitting stores one version per content; a running DAG keeps its version", async (t) => {
    const file = temporaryFile(t);
    const gate = new Gate();
    const wait = defineJob("wait", () => gate.opened);
    const engine = await startEngine(t, { jobs: [echo, wait], storage: sqlite(file) });
    const old = workflow("w", task("first", "wait"), task("second", "echo", "old").withDependency("first"));
    const same = workflow("w", task("first", "wait"), task("second", "echo", "old").withDependency("first"));
    const changed = workflow("w", task("first", "wait"), task("second", "echo", "new").withDependency("first"));
    const runs = [
      await engine.submitWorkflow(old),
      await engine.submitWorkflow(same),
      await engine.submitWorkflow(changed),
    ];
    const versions = await Promise.all(runs.map(async (run) => (await run.getStatus()).workflowVersion));
    assert.equal(versions[0], versions[1]);
    assert.notEqual(versions[0], versions[2]);
    await engine.stop();

    const after = await startEngine(t, {
      jobs: [echo, defineJob("wait", () => "let through")],
      storage: sqlite(file),
    });
    const outputs = await Promise.all(runs.map((run) => after.awaitWorkflowInstance(run.instanceId)));
    assert.deepEqual(
      outputs.map(({ second }) => second),
      ["old", "old", "new"],
    );
  });
});
