/** Spec §3.10–§3.13: going on with ended instances, sub-tasks, context, concurrency. */
import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { z } from "zod";
import { defineJob, type Engine, TaskBuilder, WorkflowBuilder, WorkflowTerminated } from "../../src/index.ts";
import { sqlite } from "../../src/sqlite.ts";
import {
  newEngine,
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
import { temporaryFile } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";

const echo = defineJob("echo", (params: unknown) => params ?? "done");
const see = defineJob("see", (_: unknown, ctx) => ctx.context);
const bytesMax = 10_485_760;

/** A job that fails untilInstance it is mended, and counts its calls by task. */
function breakable(): { job: ReturnType<typeof defineJob>; calls: string[]; mend: () => void } {
  const calls: string[] = [];
  let broken = true;
  const job = defineJob("work", (params: { breaks?: boolean } | undefined, ctx) => {
    calls.push(ctx.taskName);
    if (broken && params?.breaks) throw new Error("broken");
    return ctx.taskName;
  });
  return { job, calls, mend: () => void (broken = false) };
}

/** a → b → c, and `side` beside them; b fails. */
const chain = workflow(
  "chain",
  task("a", "work"),
  task("b", "work", { breaks: true }).withDependency("a"),
  task("c", "work").withDependency("b"),
  task("side", "work").withDependency("a").withEnabled(false),
);

async function failedChain(t: TestContext): Promise<{ engine: Engine; id: string } & ReturnType<typeof breakable>> {
  const parts = breakable();
  const engine = await startEngine(t, { jobs: [parts.job, echo] });
  const run = await engine.submitWorkflow(chain);
  await assert.rejects(run.result(), says("WORKFLOW_FAILED"));
  assert.deepEqual(parts.calls, ["a", "b"]);
  parts.calls.length = 0;
  return { engine, id: run.instanceId, ...parts };
}

describe("3.10 going on with an ended instance", () => {
  test("3.10 retry runs what failed or was kept from running; what succeeded stays", async (t) => {
    const { engine, id, calls, mend } = await failedChain(t);
    mend();
    await engine.retryWorkflowInstance(id);
    assert.deepEqual(await engine.awaitWorkflowInstance(id), { a: "a", b: "b", c: "c" });
    assert.deepEqual(calls, ["b", "c"]);
  });

  test("3.10 a retry that fails again ends in Failed again, and can be retried", async (t) => {
    const { engine, id, calls, mend } = await failedChain(t);
    await engine.retryWorkflowInstance(id);
    await assert.rejects(engine.awaitWorkflowInstance(id), says("WORKFLOW_FAILED", '"b"'));
    mend();
    await engine.retryWorkflowInstance(id);
    await engine.awaitWorkflowInstance(id);
    assert.deepEqual(calls, ["b", "b", "c"]);
  });

  test("3.10 retry is refused for what has not ended, and where nothing failed", async (t) => {
    const gate = new Gate();
    const wait = defineJob("wait", () => gate.opened);
    const engine = await startEngine(t, { jobs: [wait] });
    const run = await engine.submitWorkflow(workflow("w", task("t", "wait")));
    await assert.rejects(
      engine.retryWorkflowInstance(run.instanceId),
      says("INSTANCE_STATE", "retry", run.instanceId, "Running"),
    );
    gate.open();
    await run.result();
    await assert.rejects(
      engine.retryWorkflowInstance(run.instanceId),
      says("INSTANCE_STATE", "retry", run.instanceId, "Success"),
    );
  });

  test("3.10 a terminated instance can be retried: what was stopped or canceled runs", async (t) => {
    let isFirst = true;
    const wait = defineJob("wait", () => {
      if (!isFirst) return "second time";
      isFirst = false;
      return new Promise<never>(() => undefined);
    });
    const engine = await startEngine(t, { jobs: [wait, echo] });
    const run = await engine.submitWorkflow(workflow("w", task("a", "wait"), task("b", "echo").withDependency("a")));
    await untilInstance(engine, run.instanceId, (view) => taskOf(view, "a").status === "Running");
    await run.terminate("changed my mind");
    await assert.rejects(run.result(), WorkflowTerminated);
    assert.deepEqual(await statuses(run), { a: "Stopped", b: "Canceled (instance-ended)" });
    await engine.retryWorkflowInstance(run.instanceId);
    assert.deepEqual(await run.result(), { a: "second time", b: "done" });
  });

  test("3.10 re-run from any node, with edited input", async (t) => {
    const engine = await startEngine(t, { jobs: [echo, breakable().job] });
    const run = await engine.submitWorkflow(
      workflow(
        "w",
        task("a", "echo", 1),
        task("b", "echo", 2).withDependency("a"),
        task("c", "work").withDependency("b"),
      ),
    );
    await run.result();
    await engine.rerunWorkflowInstance(run.instanceId, "b", { params: 3 });
    assert.deepEqual(await run.result(), { a: 1, b: 3, c: "c" });
    const view = await run.getStatus();
    assert.equal(taskOf(view, "a").attempt, 1);
    assert.equal(taskOf(view, "b").attempt, 2);
    await assert.rejects(
      engine.rerunWorkflowInstance(run.instanceId, "bb"),
      says("TASK_UNKNOWN", '"bb"', run.instanceId),
    );
  });

  test("3.10 re-run checks edited input against the job's schema", async (t) => {
    const strict = defineJob("strict", { input: z.object({ n: z.number() }) }, ({ n }) => n);
    const engine = await startEngine(t, { jobs: [strict] });
    const run = await engine.submitWorkflow(workflow("w", task("t", "strict", { n: 1 })));
    await run.result();
    await assert.rejects(
      engine.rerunWorkflowInstance(run.instanceId, "t", { params: { n: "x" } }),
      says("PARAMS_INVALID", '"t"', "n"),
    );
    assert.deepEqual(await run.result(), { t: 1 });
  });

  test("3.10 a failed node can be marked as succeeded, with a result; the instance goes on by itself", async (t) => {
    const { engine, id, calls } = await failedChain(t);
    await engine.succeedTask(id, "b", { by: "hand" });
    assert.deepEqual(await engine.awaitWorkflowInstance(id), { a: "a", b: { by: "hand" }, c: "c" });
    assert.deepEqual(calls, ["c"]);
    await assert.rejects(engine.succeedTask(id, "b"), says("TASK_STATE", '"b"', id, "Success"));
  });

  test("3.10 a failed node can be skipped", async (t) => {
    const { engine, id, calls } = await failedChain(t);
    await engine.skipTask(id, "b");
    assert.deepEqual(await engine.awaitWorkflowInstance(id), { a: "a", c: "c" });
    assert.deepEqual(calls, ["c"]);
    assert.equal(taskOf(await engine.getWorkflowInstanceStatus(id), "b").status, "Skipped");
    await assert.rejects(engine.skipTask(id, "a"), says("TASK_STATE", '"a"', id, "Success"));
    await assert.rejects(engine.skipTask(id, "x"), says("TASK_UNKNOWN", '"x"', id));
    await assert.rejects(engine.skipTask("nobody", "x"), says("INSTANCE_UNKNOWN", '"nobody"'));
  });

  test("3.10 all of these survive a restart", async (t) => {
    const file = temporaryFile(t);
    const { job } = breakable();
    const before = await startEngine(t, { jobs: [job], storage: sqlite(file) });
    const run = await before.submitWorkflow(chain);
    await assert.rejects(run.result());
    await before.stop();
    const { job: mended, mend, calls } = breakable();
    mend();
    const engine = await startEngine(t, { jobs: [mended], storage: sqlite(file) });
    await engine.retryWorkflowInstance(run.instanceId);
    assert.deepEqual(await engine.awaitWorkflowInstance(run.instanceId), { a: "a", b: "b", c: "c" });
    assert.deepEqual(calls, ["b", "c"]);
  });
});

describe("3.10 a maximum of concurrent instances", () => {
  async function limited(t: TestContext, policy: "queue" | "skip" | "fail" | undefined) {
    const gate = new Gate();
    const wait = defineJob("wait", () => gate.opened);
    const engine = await startEngine(t, { jobs: [wait] });
    const builder = new WorkflowBuilder().withName("w").withTask(task("t", "wait"));
    const definition = (
      policy === undefined ? builder.withMaxInstances(1) : builder.withMaxInstances(1, policy)
    ).build();
    const first = await engine.submitWorkflow(definition);
    const second = await engine.submitWorkflow(definition);
    return { gate, engine, first, second };
  }

  test("3.10 queue, the default: one above it is Ready and starts when a place is free", async (t) => {
    const { gate, engine, first, second } = await limited(t, undefined);
    assert.equal((await second.getStatus()).status, "Ready");
    assert.equal((await first.getStatus()).status, "Running");
    gate.open();
    await first.result();
    await second.result();
    assert.equal((await engine.getWorkflowInstanceStatus(second.instanceId)).status, "Success");
  });

  test("3.10 skip: it is not run, and says why", async (t) => {
    const { gate, second } = await limited(t, "skip");
    const view = await second.getStatus();
    assert.equal(view.status, "Terminated");
    assert.match(view.reason ?? "", /too many instances/);
    gate.open();
  });

  test("3.10 fail: it fails, and says why", async (t) => {
    const { gate, second } = await limited(t, "fail");
    await assert.rejects(second.result(), says("WORKFLOW_FAILED", second.instanceId, "too many instances"));
    gate.open();
  });

  test("3.10 a waiting one can be terminated", async (t) => {
    const { gate, engine, first, second } = await limited(t, "queue");
    await second.terminate("no longer wanted");
    assert.equal((await second.getStatus()).status, "Terminated");
    gate.open();
    await first.result();
    assert.equal(engine.health.unfinishedInstances, 0);
  });
});

describe("3.11 sub-tasks", () => {
  test("3.11 join the DAG, wait for their parent, and hold up what is downstream; they may generate more", async (t) => {
    const order: string[] = [];
    const parent = defineJob("parent", (_: unknown, ctx) => {
      for (const name of ["s1", "s2"]) ctx.generateSubTask(task(name, "shard").build());
      order.push(ctx.taskName);
      return "parent";
    });
    const shard = defineJob("shard", (_: unknown, ctx) => {
      order.push(ctx.taskName);
      if (ctx.taskName === "s1") ctx.generateSubTask(task("s1.1", "shard").build());
      return { of: ctx.taskName, sees: Object.keys(ctx.outputs) };
    });
    const join = defineJob("join", (_: unknown, ctx) => {
      order.push(ctx.taskName);
      return Object.keys(ctx.outputs).toSorted();
    });
    const engine = await startEngine(t, { jobs: [parent, shard, join] });
    const run = await engine.submitWorkflow(
      workflow("w", task("p", "parent"), task("join", "join").withDependency("p")),
    );
    const outputs = await run.result();
    assert.deepEqual(outputs["join"], ["p", "s1", "s1.1", "s2"]);
    assert.deepEqual(outputs["s1"], { of: "s1", sees: ["p"] });
    assert.equal(order[0], "p");
    assert.equal(order.at(-1), "join");
    assert.equal(taskOf(await run.getStatus(), "s1.1").parentTask, "s1");
  });

  test("3.11 a failed attempt's sub-tasks are discarded", async (t) => {
    const parent = defineJob("parent", (_: unknown, ctx) => {
      ctx.generateSubTask(task(`from-attempt-${ctx.attempt}`, "echo").build());
      if (ctx.attempt === 1) throw new Error("first attempt");
      return "ok";
    });
    const engine = await startEngine(t, { jobs: [parent, echo] });
    const run = await engine.submitWorkflow(workflow("w", task("p", "parent").withRetryCount(1)));
    assert.deepEqual(await run.result(), { p: "ok", "from-attempt-2": "done" });
  });

  test("3.11 1000 sub-tasks are taken, the 1001st is refused with a clear error", async (t) => {
    const caught: unknown[] = [];
    const parent = defineJob("parent", ({ count }: { count: number }, ctx) => {
      for (let i = 0; i < count; i++) {
        try {
          ctx.generateSubTask(task(`s${i}`, "echo").build());
        } catch (error) {
          caught.push(error);
          throw error;
        }
      }
      return count;
    });
    const engine = await startEngine(t, { jobs: [parent, echo] });
    const all = await engine.submitWorkflow(workflow("w", task("p", "parent", { count: 1000 })), {
      maxConcurrentTasks: 100,
    });
    assert.equal(Object.keys(await all.result()).length, 1001);
    const tooMany = await engine.submitWorkflow(workflow("w", task("p", "parent", { count: 1001 })));
    await assert.rejects(tooMany.result(), says("WORKFLOW_FAILED", '"p"', "at most 1000", '"s1000"', "1001"));
    says("SUBTASK_LIMIT", '"p"', "1000", "1001")(caught[0]);
    assert.equal((await tooMany.getStatus()).tasks.length, 1);
  });

  test("3.11 the limit is configurable, and holds for addSubTask too", async (t) => {
    const gate = new Gate();
    const wait = defineJob("wait", () => gate.opened);
    const engine = await startEngine(t, { jobs: [wait, echo], maxSubTasks: 1 });
    const run = await engine.submitWorkflow(workflow("w", task("p", "wait")));
    await run.workflow.addSubTask(task("s1", "echo").build(), "p");
    await assert.rejects(
      run.workflow.addSubTask(task("s2", "echo").build(), "p"),
      says("SUBTASK_LIMIT", '"p"', "2", "at most 1"),
    );
    gate.open();
    await run.result();
  });

  test("3.11 names are unique within the instance", async (t) => {
    const parent = defineJob("parent", (_: unknown, ctx) => ctx.generateSubTask(task("other", "echo").build()));
    const twice = defineJob("twice", (_: unknown, ctx) => {
      for (let i = 0; i < 2; i++) ctx.generateSubTask(task("same", "echo").build());
    });
    const engine = await startEngine(t, { jobs: [parent, twice, echo] });
    const run = await engine.submitWorkflow(workflow("w", task("p", "parent"), task("other", "echo")));
    await assert.rejects(run.result(), says("WORKFLOW_FAILED", '"p"', '"other"'));
    const doubled = await engine.submitWorkflow(workflow("w2", task("p", "twice")));
    await assert.rejects(doubled.result(), says("WORKFLOW_FAILED", '"p"', '"same"'));
  });

  test("3.11 a sub-task may be a decision or a whole workflow that the engine knows", async (t) => {
    const inner = workflow("inner", task("t", "echo"));
    const parent = defineJob("parent", (_: unknown, ctx) => {
      ctx.generateSubTask(new TaskBuilder("d").withDecision("true").build());
      ctx.generateSubTask(new TaskBuilder("by-name").withNestedWorkflow("inner").build());
      ctx.generateSubTask(new TaskBuilder("by-object").withNestedWorkflow(inner).build());
    });
    const engine = await startEngine(t, { jobs: [parent, echo], workflows: [inner] });
    const run = await engine.submitWorkflow(workflow("w", task("p", "parent")));
    const outputs = await run.result();
    assert.deepEqual(outputs["by-name"], { t: "done" });
    assert.deepEqual(outputs["by-object"], { t: "done" });
  });

  test("3.11 a sub-task that could never run fails its parent's attempt, saying why", async (t) => {
    const kinds: Record<string, TaskBuilder> = {
      job: new TaskBuilder("s").withJobFunction("no-such-job"),
      domain: task("s", "echo").withDomain("no-such-domain"),
      decision: new TaskBuilder("s").withDecision("1 +"),
      "workflow-name": new TaskBuilder("s").withNestedWorkflow("no-such-workflow"),
      "workflow-object": new TaskBuilder("s").withNestedWorkflow(workflow("not-known-here", task("t", "echo"))),
    };
    const parent = defineJob("parent", (kind: string, ctx) =>
      ctx.generateSubTask((kinds[kind] as TaskBuilder).build()),
    );
    const engine = await startEngine(t, { jobs: [parent, echo] });
    const reason = async (kind: string): Promise<void> => {
      const run = await engine.submitWorkflow(workflow("w", task("p", "parent", kind)));
      const said = { job: "no-such-job", domain: "no-such-domain", decision: "1 +" }[kind];
      await assert.rejects(
        run.result(),
        says("WORKFLOW_FAILED", '"p"', '"s"', said ?? /no-such-workflow|not-known-here/),
      );
    };
    for (const kind of Object.keys(kinds)) await reason(kind);
  });

  test("3.11 sub-tasks come before what is downstream, and after siblings of their parent", async (t) => {
    const order: string[] = [];
    const note = defineJob("note", async (params: { generates?: boolean } | undefined, ctx) => {
      order.push(ctx.taskName);
      if (params?.generates) ctx.generateSubTask(task("sub", "note").build());
    });
    const engine = await startEngine(t, { jobs: [note] });
    const run = await engine.submitWorkflow(
      workflow(
        "w",
        task("p", "note", { generates: true }),
        task("sibling", "note"),
        task("sibling-2", "note"),
        task("after-sibling", "note").withDependency("sibling"),
      ),
      { maxConcurrentTasks: 1 },
    );
    await run.result();
    assert.ok(order.indexOf("sibling-2") < order.indexOf("sub"), order.join());
    assert.ok(order.indexOf("sub") < order.indexOf("after-sibling"), order.join());
  });
});

describe("3.12 context", () => {
  test("3.12 start parameters become the context; a non-object becomes initParams", async (t) => {
    const engine = await startEngine(t, { jobs: [see] });
    const of = async (params: unknown): Promise<unknown> => {
      const run = await engine.submitWorkflow(workflow("w", task("t", "see")), { params });
      return (await run.result())["t"];
    };
    assert.deepEqual(await of({ a: { b: [1] } }), { a: { b: [1] } });
    assert.deepEqual(await of([1, 2]), { initParams: [1, 2] });
    assert.deepEqual(await of("text"), { initParams: "text" });
    assert.deepEqual(await of(null), { initParams: null });
    assert.deepEqual(await of(undefined), {});
  });

  test("3.12 patches: top-level keys overwrite, null removes, the last completion wins", async (t) => {
    const patch = defineJob("patch", (patch: Record<string, unknown>, ctx) => ctx.patchContext(patch));
    const engine = await startEngine(t, { jobs: [patch, see] });
    const run = await engine.submitWorkflow(
      workflow(
        "w",
        task("one", "patch", { a: { x: 1 }, b: 1 }),
        task("two", "patch", { a: { y: 2 }, gone: null }).withDependency("one"),
        task("see", "see").withDependency("two"),
      ),
      { params: { gone: 1, stays: 1 } },
    );
    assert.deepEqual((await run.result())["see"], { a: { y: 2 }, b: 1, stays: 1 });
  });

  test("3.12 a failed attempt's patch is dropped", async (t) => {
    const patch = defineJob("patch", (_: unknown, ctx) => {
      ctx.patchContext({ [`attempt${ctx.attempt}`]: true });
      if (ctx.attempt === 1) throw new Error("first attempt");
    });
    const engine = await startEngine(t, { jobs: [patch, see] });
    const run = await engine.submitWorkflow(
      workflow("w", task("p", "patch").withRetryCount(1), task("see", "see").withDependency("p")),
    );
    assert.deepEqual((await run.result())["see"], { attempt2: true });
  });

  test("3.12 the limit of 10,485,760 bytes: exactly that fits, one more does not, and the context is intact", async (t) => {
    const patch = defineJob("patch", (length: number, ctx) => ctx.patchContext({ big: "x".repeat(length) }));
    const engine = await startEngine(t, { jobs: [patch, see] });
    const fits = bytesMax - JSON.stringify({ a: 1, big: "" }).length;
    const run = async (length: number) =>
      await engine.submitWorkflow(workflow("w", task("p", "patch", length)), { params: { a: 1 } });
    const full = await run(fits);
    await full.result();
    const over = await run(fits + 1);
    await assert.rejects(over.result(), says("WORKFLOW_FAILED", '"p"', String(bytesMax + 1), String(bytesMax)));
    const { context } = await engine.getWorkflowInstanceBreakpoint(over.instanceId);
    assert.deepEqual(context, { a: 1 });
    const [failed] = (await over.getStatus()).tasks;
    assert.equal(failed?.failure?.type, "CONTEXT_TOO_LARGE");
  });

  test("3.12 bytes are counted as UTF-8, and start parameters are limited too", async (t) => {
    const engine = await startEngine(t, { jobs: [see] });
    const params = { big: "é".repeat(bytesMax / 2) };
    await assert.rejects(
      engine.submitWorkflow(workflow("w", task("t", "see")), { params }),
      says("CONTEXT_TOO_LARGE", '"w"', String(bytesMax)),
    );
    assert.equal(engine.health.unfinishedInstances, 0);
  });

  test("3.12 the limit holds for one output", async (t) => {
    const big = defineJob("big", (length: number) => "x".repeat(length));
    const engine = await startEngine(t, { jobs: [big] });
    const fits = await engine.submitWorkflow(workflow("w", task("t", "big", bytesMax - 2)));
    assert.equal(String((await fits.result())["t"]).length, bytesMax - 2);
    const over = await engine.submitWorkflow(workflow("w", task("t", "big", bytesMax - 1)));
    await assert.rejects(over.result(), says("WORKFLOW_FAILED", '"t"', String(bytesMax + 1)));
    assert.equal((await over.getStatus()).tasks[0]?.failure?.type, "OUTPUT_TOO_LARGE");
  });

  test("3.12 updateContext from outside, which is refused over the limit and after the end", async (t) => {
    const gate = new Gate();
    const wait = defineJob("wait", () => gate.opened);
    const engine = await startEngine(t, { jobs: [wait, see] });
    const run = await engine.submitWorkflow(workflow("w", task("w", "wait"), task("see", "see").withDependency("w")), {
      params: { a: 1, b: 1 },
    });
    const id = run.instanceId;
    await engine.updateContext(id, { a: 2, b: null, c: { d: 3 } });
    await assert.rejects(
      engine.updateContext(id, { big: "x".repeat(bytesMax) }),
      says("CONTEXT_TOO_LARGE", id, String(bytesMax)),
    );
    gate.open();
    assert.deepEqual((await run.result())["see"], { a: 2, c: { d: 3 } });
    await assert.rejects(engine.updateContext(id, { a: 1 }), says("INSTANCE_STATE", id, "Success"));
  });
});

describe("3.13 maxConcurrentTasks of an instance", () => {
  async function mostAtOnce(
    t: TestContext,
    given: { request?: number; context?: unknown; definition?: number; engine?: number },
  ) {
    let running = 0;
    let most = 0;
    const gate = new Gate();
    const wait = defineJob("wait", async () => {
      most = Math.max(most, ++running);
      await gate.opened;
      running--;
    });
    const setting = given.engine === undefined ? {} : { maxConcurrentTasks: given.engine };
    const engine = await startEngine(t, { jobs: [wait], ...setting });
    const builder = new WorkflowBuilder().withName("w");
    for (let i = 0; i < 9; i++) builder.withTask(task(`t${i}`, "wait"));
    if (given.definition !== undefined) builder.withMaxConcurrentTasks(given.definition);
    const run = await engine.submitWorkflow(builder.build(), {
      ...(given.request === undefined ? {} : { maxConcurrentTasks: given.request }),
      ...(given.context === undefined ? {} : { params: { maxConcurrentTasks: given.context } }),
    });
    await until(() => engine.health.runningTasks > 0);
    await new Promise((resolve) => setImmediate(resolve));
    const waiting = (await run.getStatus()).tasks.find(({ status }) => status === "Pending");
    assert.match(waiting?.wait?.text ?? "", /concurrent tasks/);
    gate.open();
    await untilStatus(engine, run.instanceId, "Success");
    return most;
  }

  test("3.13 is 5 by default", async (t) => assert.equal(await mostAtOnce(t, {}), 5));
  test("3.13 is set by the definition", async (t) => assert.equal(await mostAtOnce(t, { definition: 2 }), 2));
  test("3.13 by the context before that", async (t) =>
    assert.equal(await mostAtOnce(t, { definition: 2, context: 3 }), 3));
  test("3.13 by the start request before that", async (t) =>
    assert.equal(await mostAtOnce(t, { definition: 2, context: 3, request: 4 }), 4));
  test("3.13 by the context as text", async (t) => assert.equal(await mostAtOnce(t, { context: "6" }), 6));
  test("3.13 by the engine's setting after all of these", async (t) => {
    assert.equal(await mostAtOnce(t, { engine: 7 }), 7);
    assert.equal(await mostAtOnce(t, { engine: 7, definition: 2 }), 2);
  });
  test("3.13 is refused where it is no number", async (t) => {
    const engine = await startEngine(t, { jobs: [defineJob("a", () => 1)] });
    const run = engine.submitWorkflow(workflow("w", task("a", "a")), { params: { maxConcurrentTasks: "many" } });
    await assert.rejects(run, { code: "OPTION_INVALID", message: /maxConcurrentTasks .* got "many"/ });
    assert.throws(() => newEngine({ maxConcurrentTasks: 0 }), { code: "OPTION_INVALID" });
  });
});
