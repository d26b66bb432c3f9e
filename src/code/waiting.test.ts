import assert from "node:assert/strict";
import { test } from "node:test";
import { drained } from "./code-run.rig.ts";
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
