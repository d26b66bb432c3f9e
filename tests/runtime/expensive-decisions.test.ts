/** Decisions that would take long: they fail within one budget, the event loop stays free, and a start comes through. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { hasCode } from "../../src/base/error.ts";
import { HandJob } from "./hand-job.ts";
import { World } from "./world.ts";
import { decision, task, workflow } from "./workflows.ts";

const catastrophic = "context.text.matches('^(a+)+$')";
const text = `${"a".repeat(60)}!`;

function wide(count: number, expression: string, padding: string): ReturnType<typeof workflow> {
  return workflow(
    "wide",
    task("first"),
    ...Array.from({ length: count }, (_, n) =>
      decision(`d${n}`, `${expression} || '${padding}' == '${n}'`).withDependency("first"),
    ),
  );
}

for (const [where, filler] of Object.entries({ "at hand": "", "read from the store": "x".repeat(5000) })) {
  test(`20 of them in one instance share one budget, with inputs ${where}`, async (t) => {
    const work = new HandJob();
    const world = await World.start(t, { jobs: [work.job] });
    await world.engine.submitWorkflow(wide(20, catastrophic, "x"), { instanceId: "x", params: { text, filler } });
    const startedAt = performance.now();
    (await work.call("first")).finish(1);
    await assert.rejects(world.engine.awaitWorkflowInstance("x"), (error) => hasCode(error, "WORKFLOW_FAILED"));
    assert(performance.now() - startedAt < 10_000, "each would take a second by itself");
    const { tasks } = await world.engine.getWorkflowInstanceStatus("x");
    const failed = tasks.filter(({ status }) => status === "Failed");
    assert(failed.length > 0);
    for (const { failure } of failed) assert.equal(failure?.type, "DECISION_TOO_EXPENSIVE");
    await world.restart();
    assert.equal((await world.engine.getWorkflowInstanceStatus("x")).status, "Failed");
  });
}

test("the event loop gets its chance between the instances that have one", async (t) => {
  const work = new HandJob();
  const world = await World.start(t, { jobs: [work.job] });
  const ids = ["a", "b", "c"];
  let longestMs = 0;
  let last = performance.now();
  const ticking = setInterval(() => {
    longestMs = Math.max(longestMs, performance.now() - last);
    last = performance.now();
  }, 5);
  try {
    const ended = ids.map(async (instanceId) => {
      await world.engine.submitWorkflow(workflow("one", decision("d", catastrophic)), { instanceId, params: { text } });
      await assert.rejects(world.engine.awaitWorkflowInstance(instanceId));
    });
    await Promise.all(ended);
    assert(longestMs < 2500, `the loop stood still for ${longestMs} ms`);
  } finally {
    clearInterval(ticking);
  }
});
