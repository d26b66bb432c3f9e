import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { defineJob, type TaskLogLine } from "../../src/index.ts";
import { asksInProcess, exitInProcess, spinInProcess, sumInProcess, whereInProcess } from "./process-jobs.ts";
import { says, startEngine, statuses, stillWorks, task, taskOf, untilInstance, workflow } from "./rig.ts";

const echo = defineJob("echo", (params: unknown) => params ?? "done");

describe("4.6 isolation in a child process", () => {
  test("4.6 a process that spins is killed on timeout, and its slot comes back", async (t) => {
    const engine = await startEngine(t, { jobs: [spinInProcess, echo], poolSize: 1 });
    const run = await engine.submitWorkflow(workflow("w", task("t", "spinInProcess").withTimeout(0.5)));
    await assert.rejects(run.result(), says("WORKFLOW_FAILED", '"t"', "0.5 s"));
    assert.deepEqual(await statuses(run), { t: "TimeoutFailed" });
    await stillWorks(engine);
  });

  test("4.6 a job in a process has the same context, and its output is in the task log", async (t) => {
    const lines: TaskLogLine[] = [];
    const engine = await startEngine(t, { jobs: [whereInProcess, echo], onTaskLog: (line) => lines.push(line) });
    const given = workflow(
      "w",
      task("first", "echo", 1),
      task("t", "whereInProcess", { a: 1 }).withDependency("first"),
    );
    const run = await engine.submitWorkflow(given);
    const { t: output, sub } = (await run.result()) as { t: { pid: number }; sub: string };
    assert.deepEqual(output, { params: { a: 1 }, pid: output.pid, outputs: { first: 1 } });
    assert.notEqual(output.pid, process.pid);
    assert.equal(sub, "from a process");
    assert.deepEqual((await engine.getWorkflowInstanceBreakpoint(run.instanceId)).context, { patched: true });
    const printed = lines.find(({ message }) => message === "printed");
    assert.deepEqual([printed?.taskName, printed?.fields], ["t", { stream: "stdout" }]);
  });

  test("4.6 a process that ends before its job fails the attempt, which is retried like any other", async (t) => {
    const engine = await startEngine(t, { jobs: [exitInProcess, echo] });
    const failing = task("t", "exitInProcess").withRetryCount(1).withRetryPolicy({ initialMs: 1 });
    const run = await engine.submitWorkflow(workflow("w", failing));
    await assert.rejects(run.result(), says("WORKFLOW_FAILED", "exit code 3"));
    const view = taskOf(await run.getStatus(), "t");
    assert.deepEqual([view.failure?.type, view.attempt], ["PROCESS_EXITED", 2]);
    await stillWorks(engine);
  });

  test("4.6 a job in a process gets a token", async (t) => {
    const lines: TaskLogLine[] = [];
    const engine = await startEngine(t, { jobs: [asksInProcess], onTaskLog: (line) => lines.push(line) });
    const run = await engine.submitWorkflow(workflow("w", task("a", "asksInProcess")));
    await untilInstance(engine, run.instanceId, (view) => taskOf(view, "a").wait?.reason === "outside");
    await engine.completeTask(String(lines[0]?.fields["token"]), "from outside");
    assert.deepEqual(await run.result(), { a: "from outside" });
  });

  test("4.6 a job in a process reads the results of a map", async (t) => {
    const half = defineJob("half", (item: number) => item / 2);
    const engine = await startEngine(t, { jobs: [half, sumInProcess] });
    const items = Array.from({ length: 300 }, (_, index) => index);
    const run = await engine.submitWorkflow(workflow("w", task("m", "half").withMap(items).withReduce(sumInProcess)));
    assert.deepEqual(await run.result(), { m: { sum: 22_425 } });
  });
});
