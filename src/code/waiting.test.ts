import assert from "node:assert/strict";
import { test } from "node:test";
import { drained, RunRig } from "./code-run.rig.ts";
import { WorkflowCanceled } from "./step-failed.ts";
import { notDurable, Waiting } from "./waiting.ts";

test("what is waited for counts until it is settled", async () => {
  const waiting = new Waiting();
  assert.equal(waiting.isEmpty, true);
  const [one, two] = [waiting.add<number>(), waiting.add<number>()];
  one.resolve(1);
  assert.equal(waiting.isEmpty, false);
  two.reject(new Error("no"));
  assert.equal(waiting.isEmpty, true);
  assert.equal(await one.promise, 1);
  await assert.rejects(two.promise, /no/);
});

test("a failure that nobody looks at ends nothing", async () => {
  new Waiting().add().reject(new Error("nobody looks"));
  await drained();
});

test("what is called off fails with the reason, all of it", async () => {
  const waiting = new Waiting();
  const waits = [waiting.add(), waiting.add()];
  waiting.cancelAll("enough");
  assert.equal(waiting.isEmpty, true);
  for (const { promise } of waits) {
    await assert.rejects(promise, (error) => error instanceof WorkflowCanceled && error.reason === "enough");
  }
});

test("what is not durable is told with what to do", () => {
  const error = notDurable("the code slept");
  assert.equal(error.code, "WORKFLOW_NOT_DURABLE");
  assert.match(error.message, /^the code slept; .* into a job and run it with ctx\.run\(\)$/);
});

test("what is waited for is listed: events and timers in order, then tasks", async () => {
  const rig = await RunRig.started(async (ctx) => {
    const steps = [ctx.run("charge"), ctx.sleep(500), ctx.waitForEvent("go", { timeoutMs: 900 }), ctx.run("ship")];
    await ctx.all([...steps, ctx.race([ctx.waitForEvent("now"), ctx.sleep(100)])]);
  });
  assert.deepEqual(shown(rig), [
    "timer 1500",
    "event go 1900",
    "event now undefined",
    "timer 1100",
    "task 0",
    "task 1",
  ]);
  await rig.succeed(0);
  await rig.fire(2);
  assert.deepEqual(shown(rig), ["timer 1500", "event go 1900", "task 1"], "a race that is decided waits no longer");
  assert.deepEqual(
    rig.run.waiting.list().map(({ since }) => since),
    [1000, 1000, undefined],
  );
});

function shown({ run }: RunRig): string[] {
  return run.waiting
    .list()
    .map((wait) =>
      wait.kind === "task" ? `task ${wait.task}` : `${wait.kind} ${"name" in wait ? `${wait.name} ` : ""}${wait.dueAt}`,
    );
}
