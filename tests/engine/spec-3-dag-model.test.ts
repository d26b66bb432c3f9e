/** Spec §3.1–§3.9: the DAG model, as the engine runs it. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { valid } from "../../src/dag.ts";
import {
  defineJob,
  defineWorkflow,
  type Engine,
  type FailurePolicy,
  TaskBuilder,
  Workflow,
  WorkflowBuilder,
  WorkflowFailed,
} from "../../src/index.ts";
import {
  aborted,
  Gate,
  says,
  startEngine,
  statuses,
  task,
  taskOf,
  untilStatus,
  workflow,
  untilInstance,
} from "./rig.ts";
import { until } from "../support/until.ts";

const echo = defineJob("echo", (params: unknown) => params ?? "done");
const fail = defineJob("fail", () => {
  throw new Error("no such table");
});
const see = defineJob("see", (_: unknown, ctx) => ({ context: ctx.context, outputs: ctx.outputs }));

/** Runs it to its end, however it ends. */
async function ended(engine: Engine, definition: Workflow, params?: unknown): Promise<Record<string, string>> {
  const run = await engine.submitWorkflow(definition, { params });
  await run.result().catch((error: unknown) => assert.ok(error instanceof WorkflowFailed, String(error)));
  const view = await run.getStatus();
  return { "": view.status, ...(await statuses(run)) };
}

describe("3.1 files of PowerJob and TIS", () => {
  const file = {
    nodes: [
      { nodeId: 11, nodeType: 1, jobId: 7, nodeName: "load", nodeParams: '{"a":1}', status: 5, result: "old" },
      { nodeId: 12, jobId: 8, nodeName: "load", nodeParams: "plain text", instanceId: 99 },
    ],
    edges: [{ from: 11, to: 12 }],
    unknownField: { kept: true },
  };

  test("3.1 such a file loads and runs: jobId finds the job, run-time fields are ignored, names become unique", async (t) => {
    const seven = defineJob("seven", { jobId: 7 }, (params: unknown) => params);
    const eight = defineJob("8", (params: unknown) => params);
    const engine = await startEngine(t, { jobs: [seven, eight] });
    const loaded = Workflow.fromJSON(file, { name: "from a file" });
    const run = await engine.submitWorkflow(loaded);
    assert.deepEqual(await run.result(), { load: { a: 1 }, "load#12": "plain text" });
    assert.deepEqual(
      (await run.getStatus()).tasks.map(({ nodeId }) => nodeId),
      [11, 12],
    );
  });

  test("3.1 fields that Heddle does not know survive a round trip, and heddle/dag takes the same object", () => {
    const spec = Workflow.fromJSON(file, { name: "from a file" }).toJSON();
    assert.deepEqual((spec as unknown as Record<string, unknown>)["unknownField"], { kept: true });
    assert.equal(valid(spec), true);
  });
});

describe("3.4 validation", () => {
  const bad: readonly [string, unknown, ReturnType<typeof says>][] = [
    ["no nodes", { name: "w", nodes: [] }, says("WORKFLOW_EMPTY", '"w"')],
    [
      "duplicate node ids",
      { name: "w", nodes: [{ nodeId: 1 }, { nodeId: 1 }] },
      says("WORKFLOW_INVALID", '"w"', "nodes[1]", "nodeId"),
    ],
    [
      "edges to unknown nodes",
      { name: "w", nodes: [{ nodeId: 1 }], edges: [{ from: 1, to: 2 }] },
      says("WORKFLOW_INVALID", '"w"', "1 → 2", "no node 2"),
    ],
    [
      "a cycle that no root reaches",
      {
        name: "w",
        nodes: [{ nodeId: 1 }, { nodeId: 2 }, { nodeId: 3 }],
        edges: [
          { from: 2, to: 3 },
          { from: 3, to: 2 },
        ],
      },
      says("WORKFLOW_CYCLE", "2 → 3 → 2"),
    ],
    [
      "a self loop",
      { name: "w", nodes: [{ nodeId: 1, nodeName: "a" }], edges: [{ from: 1, to: 1 }] },
      says("DEPENDENCY_SELF", '"a"'),
    ],
  ];
  for (const [what, spec, expected] of bad) {
    test(`3.4 refuses ${what}`, () => assert.throws(() => Workflow.fromJSON(spec), expected));
  }
});

test("3.5 nothing runs before its predecessors are finished", async (t) => {
  const order: string[] = [];
  const note = defineJob("note", (_: unknown, ctx) => void order.push(ctx.taskName));
  const engine = await startEngine(t, { jobs: [note] });
  const run = await engine.submitWorkflow(
    workflow(
      "diamond",
      task("end", "note").withDependencies(["left", "right"]),
      task("left", "note").withDependency("start"),
      task("right", "note").withDependency("start"),
      task("start", "note"),
    ),
  );
  await run.result();
  assert.equal(order[0], "start");
  assert.equal(order[3], "end");
});

describe("3.6 disabled nodes", () => {
  test("3.6 are passed over once their predecessors are finished, through any chain", async (t) => {
    const gate = new Gate();
    const wait = defineJob("wait", () => gate.opened);
    const engine = await startEngine(t, { jobs: [wait, echo] });
    const run = await engine.submitWorkflow(
      workflow(
        "w",
        task("first", "wait"),
        task("off1", "echo").withDependency("first").withEnabled(false),
        task("off2", "echo").withDependency("off1").withEnabled(false),
        task("last", "echo").withDependency("off2"),
      ),
    );
    await untilInstance(engine, run.instanceId, (view) => taskOf(view, "first").status === "Running");
    assert.equal((await statuses(run))["off1"], "Pending");
    gate.open();
    await run.result();
    assert.deepEqual(await statuses(run), { first: "Success", off1: "Skipped", off2: "Skipped", last: "Success" });
  });

  test("3.6 a graph of only disabled or decision nodes ends in Success", async (t) => {
    const engine = await startEngine(t);
    const definition = workflow(
      "w",
      task("off", "echo").withEnabled(false),
      new TaskBuilder("d").withDecision("true").withDependency("off"),
    );
    await assert.rejects(engine.submitWorkflow(definition), says("JOB_MISSING", '"off"', '"echo"'));
    engine.registerJobFunction("echo", echo.fn);
    assert.deepEqual(await ended(engine, definition), { "": "Success", off: "Skipped", d: "Success" });
  });
});

describe("3.7 decisions", () => {
  const rows = defineJob("rows", () => ({ rows: 7 }));
  const branches = (expression: string): Workflow =>
    workflow(
      "w",
      task("rows", "rows"),
      new TaskBuilder("d").withDecision(expression).withDependency("rows"),
      task("yes", "echo").withDependency("d", { when: true }),
      task("no", "echo").withDependency("d", { when: false }),
      task("behind-no", "echo").withDependency("no"),
      task("join", "echo").withDependencies(["yes", "behind-no"]),
    );

  test("3.7 an expression over context and outputs chooses; a join waits only for its live arms", async (t) => {
    const engine = await startEngine(t, { jobs: [rows, echo] });
    const taken = { "": "Success", rows: "Success", d: "Success", join: "Success" };
    const canceled = "Canceled (branch)";
    assert.deepEqual(await ended(engine, branches("outputs.rows.rows > context.limit"), { limit: 5 }), {
      ...taken,
      yes: "Success",
      no: canceled,
      "behind-no": canceled,
    });
    assert.deepEqual(await ended(engine, branches("0")), {
      ...taken,
      yes: canceled,
      no: "Success",
      "behind-no": "Success",
    });
  });

  test("3.7 texts choose by equality, with a default", async (t) => {
    const engine = await startEngine(t, { jobs: [echo] });
    const definition = workflow(
      "w",
      new TaskBuilder("d").withDecision("context.region"),
      task("eu", "echo").withDependency("d", { when: "eu" }),
      task("other", "echo").withDependency("d", { when: "default" }),
    );
    assert.equal((await ended(engine, definition, { region: "eu" }))["eu"], "Success");
    assert.equal((await ended(engine, definition, { region: "us" }))["other"], "Success");
    assert.equal((await ended(engine, definition, { region: "us" }))["eu"], "Canceled (branch)");
  });

  test("3.7 a result that takes no edge, another type or an error fails the node, saying why", async (t) => {
    const engine = await startEngine(t, { jobs: [rows, echo] });
    const texts = (expression: string): Workflow =>
      workflow(
        "w",
        new TaskBuilder("d").withDecision(expression),
        task("a", "echo").withDependency("d", { when: "a" }),
      );
    const failure = async (expression: string): Promise<string> => {
      const run = await engine.submitWorkflow(texts(expression));
      const error = await run.result().catch((error: unknown) => error);
      assert.ok(error instanceof WorkflowFailed);
      const [failed] = error.failedTasks;
      assert.equal(failed?.failure?.type, "DECISION_INVALID");
      return failed.failure.message;
    };
    assert.match(await failure('"b"'), /"b".*none of its edges.*"a"/);
    assert.match(await failure("[1]"), /a list/);
    assert.match(await failure("context.missing > 1"), /missing/);
  });

  test("3.7 an expression that cannot be read is refused at submit", async (t) => {
    const engine = await startEngine(t, { jobs: [echo] });
    await assert.rejects(
      engine.submitWorkflow(workflow("w", new TaskBuilder("d").withDecision("1 +"))),
      says("DECISION_INVALID", '"d"', '"w"', "1 +"),
    );
  });

  test("3.7 an edge disabled in the definition is off from the start", async (t) => {
    const engine = await startEngine(t, { jobs: [echo] });
    const definition = Workflow.fromJSON({
      name: "w",
      nodes: [
        { nodeId: 1, nodeName: "a", jobName: "echo" },
        { nodeId: 2, nodeName: "b", jobName: "echo" },
        { nodeId: 3, nodeName: "c", jobName: "echo" },
      ],
      edges: [
        { from: 1, to: 2, enable: false },
        { from: 2, to: 3 },
      ],
    });
    assert.deepEqual(await ended(engine, definition), {
      "": "Success",
      a: "Success",
      b: "Canceled (branch)",
      c: "Canceled (branch)",
    });
  });
});

describe("3.8 nested workflows", () => {
  test("3.8 a child begins with the parent's context; its own is merged back on success", async (t) => {
    const patch = defineJob("patch", (_: unknown, ctx) => {
      ctx.patchContext({ fromChild: ctx.context["fromParent"], gone: null });
      return "patched";
    });
    const engine = await startEngine(t, { jobs: [patch, see] });
    const inner = workflow("inner", task("p", "patch"));
    const middle = workflow("middle", new TaskBuilder("n").withNestedWorkflow(inner));
    const outer = workflow(
      "outer",
      new TaskBuilder("n").withNestedWorkflow(middle),
      task("see", "see").withDependency("n"),
    );
    const run = await engine.submitWorkflow(outer, { params: { fromParent: 5, gone: 1 } });
    assert.deepEqual(await run.result(), {
      n: { n: { p: "patched" } },
      see: { context: { fromParent: 5, fromChild: 5 }, outputs: { n: { n: { p: "patched" } } } },
    });
    const child = taskOf(await run.getStatus(), "n").childInstanceId;
    assert.ok(child);
    assert.equal((await engine.getWorkflowInstanceStatus(child)).parentInstanceId, run.instanceId);
  });

  test("3.8 a child that fails fails its node, and says where", async (t) => {
    const engine = await startEngine(t, { jobs: [fail] });
    const outer = workflow("outer", new TaskBuilder("n").withNestedWorkflow(workflow("inner", task("t", "fail"))));
    const run = await engine.submitWorkflow(outer);
    await assert.rejects(run.result(), says("WORKFLOW_FAILED", '"n"', '"t"', "no such table"));
  });

  test("3.4 a workflow can be checked, and is not known afterwards", async (t) => {
    const own = defineWorkflow("own", () => Promise.resolve(1));
    const engine = await startEngine(t, { jobs: [echo], workflows: [own] });
    const checked = workflow("checked", task("a", "echo"));
    await engine.checkWorkflow(checked);
    await engine.checkWorkflow(own);
    assert.equal(engine.findWorkflow("checked"), undefined);
    const nests = (name: string, ...nested: string[]): Workflow =>
      Workflow.fromJSON(
        {
          nodes: nested.map((workflowName, nodeId) => ({ nodeId, nodeName: `n${nodeId}`, nodeType: 3, workflowName })),
        },
        { name },
      );
    await assert.rejects(engine.checkWorkflow(nests("x", "checked")), says("WORKFLOW_UNKNOWN", '"checked"'));
    const wrong: readonly [Workflow, Parameters<typeof says>][] = [
      [workflow("x", task("a", "nobody")), ["JOB_MISSING", '"nobody"']],
      [workflow("x", task("a", "echo").withDomain("far")), ["DOMAIN_UNKNOWN", '"far"']],
      [workflow("x", task("a", "nobody"), new TaskBuilder("b").withDecision("1 +")), ["DECISION_INVALID", '"b"']],
      [nests("x", "nobody", "x"), ["NESTING_TOO_DEEP", "x → x"]],
    ];
    for (const [given, error] of wrong) await assert.rejects(engine.checkWorkflow(given), says(...error));
    const other = defineWorkflow("own", () => Promise.resolve(2));
    await assert.rejects(engine.checkWorkflow(other), says("WORKFLOW_DUPLICATE", '"own"'));
    await assert.rejects(engine.checkWorkflow({} as Workflow), says("WORKFLOW_INVALID"));
  });

  test("3.8 a workflow never nests itself", async (t) => {
    const engine = await startEngine(t, { jobs: [echo] });
    const first = workflow("a", task("t", "echo"));
    await (await engine.submitWorkflow(first)).result();
    const again = workflow("a", new TaskBuilder("n").withNestedWorkflow("a"));
    await assert.rejects(engine.submitWorkflow(again), says("NESTING_TOO_DEEP", "a → a"));
    await assert.rejects(
      engine.submitWorkflow(workflow("w", new TaskBuilder("n").withNestedWorkflow("nobody"))),
      says("WORKFLOW_UNKNOWN", '"n"', '"nobody"'),
    );
  });
});

describe("3.9 failure policy", () => {
  test("3.9 skipWhenFailed lets successors go on, and the end shows it", async (t) => {
    const engine = await startEngine(t, { jobs: [fail, echo] });
    const run = await engine.submitWorkflow(
      workflow("w", task("a", "fail").withSkipWhenFailed(), task("b", "echo").withDependency("a")),
    );
    assert.deepEqual(await run.result(), { b: "done" });
    const view = await run.getStatus();
    assert.equal(view.status, "Success");
    assert.equal(view.withSkippedFailures, true);
    assert.equal(taskOf(view, "a").status, "Failed");
  });

  /** `bad` fails while `slow` runs; `waiting` has no place yet, `after` hangs on `bad`. */
  async function failing(t: Parameters<typeof startEngine>[0], policy: FailurePolicy | undefined) {
    const gate = new Gate();
    const stopped: string[] = [];
    const slow = defineJob("slow", async (_: unknown, ctx) => {
      await Promise.race([gate.opened, aborted(ctx.signal)]);
      if (ctx.signal.aborted) stopped.push(ctx.taskName);
      return "slow";
    });
    const engine = await startEngine(t, { jobs: [fail, echo, slow] });
    const builder = new WorkflowBuilder()
      .withName("w")
      .withMaxConcurrentTasks(2)
      .withTask(task("slow", "slow"))
      .withTask(task("bad", "fail"))
      .withTask(task("after", "echo").withDependency("bad"))
      .withTask(task("waiting", "echo").withDependency("slow"));
    if (policy !== undefined) builder.withFailurePolicy(policy);
    const run = await engine.submitWorkflow(builder.build());
    await untilInstance(engine, run.instanceId, (view) => taskOf(view, "bad").status === "Failed");
    return { engine, run, gate, stopped };
  }

  test("3.9 finish-running, the default: nothing new starts, what runs finishes", async (t) => {
    const { engine, run, gate } = await failing(t, undefined);
    gate.open();
    await untilStatus(engine, run.instanceId, "Failed");
    assert.deepEqual(await statuses(run), {
      slow: "Success",
      bad: "Failed",
      after: "Canceled (upstream-failed)",
      waiting: "Canceled (instance-ended)",
    });
    await assert.rejects(run.result(), says("WORKFLOW_FAILED", run.instanceId, '"bad"', "no such table"));
  });

  test("3.9 abort-running: what runs is told to stop", async (t) => {
    const { engine, run, stopped } = await failing(t, "abort-running");
    await untilStatus(engine, run.instanceId, "Failed");
    await until(() => stopped.length === 1);
    assert.deepEqual(await statuses(run), {
      slow: "Stopped",
      bad: "Failed",
      after: "Canceled (upstream-failed)",
      waiting: "Canceled (instance-ended)",
    });
  });

  test("3.9 continue: only what depends on the failed node is canceled", async (t) => {
    const { engine, run, gate } = await failing(t, "continue");
    gate.open();
    await untilStatus(engine, run.instanceId, "Failed");
    assert.deepEqual(await statuses(run), {
      slow: "Success",
      bad: "Failed",
      after: "Canceled (upstream-failed)",
      waiting: "Success",
    });
  });

  test("3.9 result() throws WorkflowFailed with the failed tasks", async (t) => {
    const engine = await startEngine(t, { jobs: [fail] });
    const run = await engine.submitWorkflow(workflow("w", task("a", "fail").withRetryCount(1)));
    const error = await run.result().catch((error: unknown) => error);
    assert.ok(error instanceof WorkflowFailed);
    assert.equal(error.instanceId, run.instanceId);
    assert.deepEqual(
      error.failedTasks.map(({ name, status, attempt, failure }) => [name, status, attempt, failure?.message]),
      [["a", "Failed", 2, "no such table"]],
    );
  });
});
