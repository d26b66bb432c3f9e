/** Spec §4.10: tasks that are completed from outside. */
import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import {
  defineJob,
  defineWorkflow,
  type Engine,
  type EngineOptions,
  StepFailed,
  type TaskLogLine,
} from "../../src/index.ts";
import { sqlite } from "../../src/sqlite.ts";
import { memoryStore, TestClock } from "../../src/testing.ts";
import { temporaryFile } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";
import { EngineClusterRig } from "./engine-cluster-rig.ts";
import { Gate, newEngine, says, startEngine, stopEngine, task, taskOf, untilInstance, workflow } from "./rig.ts";
import { asksInThread } from "./thread-jobs.ts";
import { RigWorker } from "./worker-rig.ts";

const echo = defineJob("echo", (params: unknown) => params ?? "done");

/** A job that gives its tokens away and returns. */
function asking(timeoutSeconds?: number) {
  const tokens: string[] = [];
  const job = defineJob("ask", (_: unknown, ctx) => {
    tokens.push(ctx.completeLater(timeoutSeconds === undefined ? {} : { timeoutSeconds }));
    return "does not count";
  });
  return { job, tokens };
}

const asked = workflow("asked", task("a", "ask").withTimeout(60), task("b", "echo", "after").withDependency("a"));

function isAwaiting(engine: Engine, id: string) {
  return untilInstance(engine, id, (view) => taskOf(view, "a").wait?.reason === "outside");
}

async function stage(t: TestContext, options: Partial<EngineOptions> = {}, timeoutSeconds?: number) {
  const clock = new TestClock();
  const { job, tokens } = asking(timeoutSeconds);
  const engine = await startEngine(t, { jobs: [job, echo], clock, storage: memoryStore(), ...options });
  return { clock, engine, tokens };
}

describe("4.10 a task that is completed from outside", () => {
  test("4.10 waits without a slot, says so, and goes on with the output that it is given", async (t) => {
    const { clock, engine, tokens } = await stage(t, { poolSize: 1 });
    const run = await engine.submitWorkflow(asked);
    const view = await isAwaiting(engine, run.instanceId);
    const { status, wait } = taskOf(view, "a");
    assert.deepEqual([status, wait?.since], ["Running", clock.now()]);
    assert.match(wait?.text ?? "", /^completion from outside, until \d{4}-/);
    assert.match(view.waiting[0]?.text ?? "", /task "a", which waits for completion from outside/);
    assert.deepEqual(engine.executor.getDomainPoolStatus("default"), { running: 0, size: 1 });
    const [token = ""] = tokens;
    assert.deepEqual(await engine.completeTask(token, { approved: true }), { instanceId: run.instanceId });
    assert.deepEqual(await run.result(), { a: { approved: true }, b: "after" });
    assert.equal(tokens.length, 1);
  });

  test("4.10 a repeated or late completion is refused, and so is a token that nobody made", async (t) => {
    const { clock, engine, tokens } = await stage(t);
    const run = await engine.submitWorkflow(asked);
    await isAwaiting(engine, run.instanceId);
    const [token = ""] = tokens;
    await engine.completeTask(token);
    await assert.rejects(engine.completeTask(token), says("COMPLETION_LATE", '"a"', run.instanceId));
    await assert.rejects(engine.failTask(token, "no"), says("COMPLETION_LATE", '"a"'));
    assert.deepEqual(await run.result(), { b: "after" });
    await assert.rejects(engine.completeTask(token), says("COMPLETION_LATE", '"a"'));
    await engine.purgeWorkflowInstances({ instanceId: run.instanceId });
    await assert.rejects(engine.completeTask(token), says("COMPLETION_LATE", "gone"));
    await clock.advance(1);
    await engine.submitWorkflow(asked, { instanceId: run.instanceId });
    await isAwaiting(engine, run.instanceId);
    await assert.rejects(engine.completeTask(token), says("COMPLETION_LATE", "gone"));
    const forged = `${token.slice(0, -1)}${token.endsWith("A") ? "B" : "A"}`;
    for (const wrong of [forged, "", "hct_", "hct_x.y", token.slice(4), undefined as never, 1 as never]) {
      await assert.rejects(engine.completeTask(wrong), says("COMPLETION_TOKEN_INVALID"));
    }
    const other = engine.inNamespace("other");
    await assert.rejects(other.completeTask(token), says("COMPLETION_TOKEN_INVALID", "another namespace"));
  });

  test("4.10 a failure from outside follows the retry policy, and the token of the earlier attempt is void", async (t) => {
    const { clock, engine, tokens } = await stage(t);
    const run = await engine.submitWorkflow(workflow("w", task("a", "ask").withRetryCount(1)));
    await isAwaiting(engine, run.instanceId);
    const [first = ""] = tokens;
    await engine.failTask(first, { message: "declined", type: "Declined" });
    await assert.rejects(engine.completeTask(first), says("COMPLETION_LATE"));
    await clock.advance(1000);
    await isAwaiting(engine, run.instanceId);
    const second = tokens[1] ?? "";
    assert.notEqual(first, second);
    await assert.rejects(engine.completeTask(first), says("COMPLETION_LATE"));
    await engine.failTask(second, new TypeError("again"));
    await assert.rejects(run.result(), says("WORKFLOW_FAILED", "again"));
    for (const wrong of ["", {}, { message: 1 }, { message: "m", retryable: 1 }]) {
      await assert.rejects(engine.failTask(second, wrong as never), says("OPTION_INVALID", "failure"));
    }
  });

  test("4.10 a completion that comes before the job has returned ends the attempt, and aborts the job", async (t) => {
    const gate = new Gate();
    let token = "";
    let isAborted = false;
    const slow = defineJob("slow", async (_: unknown, ctx) => {
      token = ctx.completeLater();
      ctx.signal.addEventListener("abort", () => (isAborted = true));
      await gate.opened;
    });
    const { engine } = await stage(t, { jobs: [slow] });
    const run = await engine.submitWorkflow(workflow("w", task("a", "slow")));
    await until(() => token !== "");
    await engine.completeTask(token, 7);
    assert.deepEqual(await run.result(), { a: 7 });
    assert.equal(isAborted, true);
    gate.open();
  });

  test("4.10 times out durably: by the task's timeout from its start, or by the job's own from its return", async (t) => {
    for (const [own, ms] of [
      [undefined, 60_000],
      [86_400, 86_400_000],
    ] as const) {
      const { clock, engine } = await stage(t, {}, own);
      const run = await engine.submitWorkflow(asked);
      await isAwaiting(engine, run.instanceId);
      await clock.advance(ms - 1);
      assert.equal(taskOf(await run.getStatus(), "a").status, "Running");
      await clock.advance(1);
      await assert.rejects(run.result(), says("WORKFLOW_FAILED", "nobody has completed"));
      assert.equal(taskOf(await run.getStatus(), "a").status, "TimeoutFailed");
    }
  });

  test("4.10 survives the end of its process: the wait, its deadline and its token", async (t) => {
    const file = temporaryFile(t);
    const { job, tokens } = asking(3600);
    const options = () => ({ jobs: [job, echo], workflows: [asked], storage: sqlite(file) });
    const before = newEngine(options());
    await before.start();
    const run = await before.submitWorkflow(asked);
    await isAwaiting(before, run.instanceId);
    await stopEngine(before);
    const engine = await startEngine(t, options());
    await isAwaiting(engine, run.instanceId);
    await engine.completeTask(tokens[0] ?? "", "after all");
    assert.deepEqual(await engine.awaitWorkflowInstance(run.instanceId), { a: "after all", b: "after" });
    assert.equal(tokens.length, 1, "the job did not run again");
  });

  test("4.10 does not keep its instance from being paused, stopped or terminated", async (t) => {
    const { clock, engine, tokens } = await stage(t);
    const runs = await Promise.all([1, 2, 3].map(() => engine.submitWorkflow(asked)));
    for (const { instanceId } of runs) await isAwaiting(engine, instanceId);
    const [paused, stopped, ended] = runs.map(({ instanceId }) => instanceId) as [string, string, string];
    const tokenOf = (id: string) =>
      tokens.find((token) => Buffer.from(token.slice(4), "base64url").toString().includes(id)) ?? "";
    await engine.pauseWorkflowInstance(paused);
    assert.equal((await engine.getWorkflowInstanceStatus(paused)).status, "Paused");
    await clock.advance(120_000);
    await engine.completeTask(tokenOf(paused), "in the pause");
    await engine.resumeWorkflowInstance(paused);
    assert.deepEqual(await engine.awaitWorkflowInstance(paused), { a: "in the pause", b: "after" });
    for (const id of [stopped, ended]) await assert.rejects(engine.completeTask(tokenOf(id)), says("COMPLETION_LATE"));
  });

  test("4.10 can be stopped, and ends with its instance", async (t) => {
    const { engine, tokens } = await stage(t);
    const stopped = await engine.submitWorkflow(asked);
    await isAwaiting(engine, stopped.instanceId);
    await engine.stopTask(stopped.instanceId, "a", { reason: "enough" });
    await assert.rejects(stopped.result(), says("WORKFLOW_FAILED", "enough"));
    const ended = await engine.submitWorkflow(asked);
    await isAwaiting(engine, ended.instanceId);
    await engine.terminateWorkflowInstance(ended.instanceId);
    assert.equal(taskOf(await ended.getStatus(), "a").status, "Stopped");
    for (const token of tokens) await assert.rejects(engine.completeTask(token), says("COMPLETION_LATE"));
  });

  test("4.10 counts among the concurrent tasks of its instance", async (t) => {
    const { engine, tokens } = await stage(t);
    const two = workflow("two", task("a", "ask"), task("b", "ask"));
    const run = await engine.submitWorkflow(two, { maxConcurrentTasks: 1 });
    const view = await isAwaiting(engine, run.instanceId);
    assert.equal(taskOf(view, "b").wait?.reason, "instance-limit");
    await engine.completeTask(tokens[0] ?? "", 1);
    await until(() => tokens.length === 2);
    await engine.completeTask(tokens[1] ?? "", 2);
    assert.deepEqual(await run.result(), { a: 1, b: 2 });
  });

  test("4.10 runs again with the same token if its process is lost before the job has returned", async (t) => {
    const file = temporaryFile(t);
    const tokens: string[] = [];
    const never = new Gate();
    const hold = defineJob("ask", async (_: unknown, ctx) => {
      tokens.push(ctx.completeLater());
      if (tokens.length === 1) await never.opened;
    });
    const options = () => ({ jobs: [hold, echo], workflows: [asked], storage: sqlite(file), stopGraceMs: 0 });
    const before = newEngine(options());
    await before.start();
    const run = await before.submitWorkflow(asked);
    await until(() => tokens.length === 1);
    await stopEngine(before);
    never.open();
    const engine = await startEngine(t, options());
    await isAwaiting(engine, run.instanceId);
    assert.deepEqual([tokens.length, tokens[0]], [2, tokens[1]]);
    await engine.completeTask(tokens[0] ?? "", "first token");
    assert.deepEqual(await engine.awaitWorkflowInstance(run.instanceId), { a: "first token", b: "after" });
  });

  test("4.10 is refused where a result would be lost, or there is no instance", async (t) => {
    const patching = defineJob("patching", (_: unknown, ctx) => {
      ctx.completeLater();
      ctx.patchContext({ a: 1 });
    });
    const wrong = defineJob("wrong", (_: unknown, ctx) => ctx.completeLater({ timeoutSeconds: 0 }));
    const { engine } = await stage(t, { jobs: [patching, wrong, asking().job] });
    for (const [job, code] of [
      ["patching", "TASK_INVALID"],
      ["wrong", "OPTION_INVALID"],
    ] as const) {
      const run = await engine.submitWorkflow(workflow(job, task("a", job)));
      await assert.rejects(run.result());
      assert.equal(taskOf(await run.getStatus(), "a").failure?.type, code);
    }
    await assert.rejects(engine.executor.submitTask(task("a", "ask").build()), says("TASK_INVALID", "no workflow"));
  });
});

describe("4.10 an activity of code that is completed from outside", () => {
  test("4.10 gives its output to the code, or its failure", async (t) => {
    const { job, tokens } = asking();
    const code = defineWorkflow("code", async (ctx) => {
      const first = await ctx.run(job, undefined);
      try {
        await ctx.run(job, undefined);
      } catch (error) {
        return [first, error instanceof StepFailed && error.message];
      }
      return [];
    });
    const { engine } = await stage(t, { jobs: [job], workflows: [code] });
    const handle = await engine.startWorkflow(code, undefined);
    await until(() => tokens.length === 1);
    await engine.completeTask(tokens[0] ?? "", "yes");
    await until(() => tokens.length === 2);
    await engine.failTask(tokens[1] ?? "", { message: "no", retryable: false });
    const [first, second] = (await handle.result()) as unknown as [string, string];
    assert.equal(first, "yes");
    assert.match(second, /no/);
  });
});

describe("4.10 on other workers", () => {
  test("4.10 a job in a thread gets a token", async (t) => {
    const lines: TaskLogLine[] = [];
    const engine = await startEngine(t, { jobs: [asksInThread], onTaskLog: (line) => lines.push(line) });
    const run = await engine.submitWorkflow(workflow("w", task("a", "asksInThread")));
    await isAwaiting(engine, run.instanceId);
    await engine.completeTask(String(lines[0]?.fields["token"]), "from outside");
    assert.deepEqual(await run.result(), { a: "from outside" });
  });

  test("4.10 the loss of a remote worker means nothing to the task, and any member takes the completion", async (t) => {
    const { job, tokens } = asking(3600);
    const [rig, a, b] = await EngineClusterRig.start(t, 2, { jobs: [job, echo], remoteWorkers: true });
    const { clock } = rig;
    const worker = await RigWorker.start(t, rig, { members: [a, b], jobs: [job], tags: ["far"] });
    const id = await rig.idOn(a);
    const far = workflow("far", task("a", "ask").withWorkerTags("far"), task("b", "echo", "after").withDependency("a"));
    await clock.until(a.engine.submitWorkflow(far, { instanceId: id }));
    const isWaiting = async () =>
      taskOf(await clock.until(a.engine.getWorkflowInstanceStatus(id)), "a").wait?.reason === "outside";
    while (!(await isWaiting())) await clock.advance(100);
    worker.kill();
    await clock.advance(120_000);
    assert.equal(await isWaiting(), true);
    await clock.until(b.engine.completeTask(tokens[0] ?? "", "from b"));
    assert.deepEqual(await clock.until(b.engine.awaitWorkflowInstance(id)), { a: "from b", b: "after" });
    await clock.until(assert.rejects(b.engine.completeTask(tokens[0] ?? ""), says("COMPLETION_LATE")));
    assert.equal(tokens.length, 1);
  });
});
