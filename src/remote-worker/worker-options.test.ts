import assert from "node:assert/strict";
import { test } from "node:test";
import { defineWorkflow } from "../authoring/code-workflow.ts";
import { defineJob } from "../authoring/job.ts";
import { Worker } from "./worker.ts";
import { resolveWorkerOptions, type WorkerOptions } from "./worker-options.ts";

const job = defineJob("job", () => 1);

test("what is not given has its default", () => {
  const { urls, token, namespace, slots, stopGraceMs } = resolveWorkerOptions({ jobs: [job] });
  assert.deepEqual(
    { urls, token, namespace, slots, stopGraceMs },
    { urls: ["http://127.0.0.1:7411"], token: undefined, namespace: undefined, slots: 10, stopGraceMs: 5000 },
  );
  assert.deepEqual(resolveWorkerOptions({ url: "https://h.example", jobs: [job] }).urls, ["https://h.example"]);
});

test("what does not fit is refused by its name", () => {
  const refuse = (options: unknown, message: RegExp): void =>
    assert.throws(() => new Worker(options as WorkerOptions), { code: "OPTION_INVALID", message });
  refuse(undefined, /options must be an object/);
  refuse({ jobs: [job], slotz: 1 }, /slotz.*did you mean "slots"/);
  refuse({ jobs: [job], url: "http://a", urls: ["http://b"] }, /url or urls, not both/);
  refuse({ jobs: [job], urls: [] }, /urls must be a list/);
  refuse({ jobs: [job], url: "ftp://a" }, /url must begin with http/);
  refuse({ jobs: [job], token: " " }, /token must be text/);
  refuse({ jobs: [job], namespace: "A b" }, /namespace must be/);
  refuse({ jobs: [job], slots: 0 }, /slots must be a whole number, at least 1/);
  refuse({ jobs: [job], slots: 10_001 }, /slots must be at most 10000/);
  refuse({ jobs: [job], stopGraceMs: -1 }, /stopGraceMs must be/);
  refuse({ jobs: [] }, /at least one job/);
  refuse({ jobs: [() => 1] }, /what defineJob gave/);
  refuse(
    { jobs: [defineWorkflow("order", async () => 1)] },
    /jobs must hold jobs; "order" is a workflow: give it in workflows/,
  );
  refuse({ jobs: [job], aroundJob: 1 }, /aroundJob must be a function/);
  assert.throws(() => new Worker({ jobs: [job, job] }), { code: "JOB_DUPLICATE" });
});

test("a worker that was never started has nothing to stop, and one that was stopped does not start", async () => {
  const worker = new Worker({ jobs: [job] });
  await worker.stop();
  await worker.drain();
  const other = new Worker({ jobs: [job], url: "http://127.0.0.1:9" });
  const started = other.start();
  await other.stop();
  await assert.rejects(started, { code: "ENGINE_STATE", message: /stopped before a server accepted it/ });
  await assert.rejects(other.start(), { code: "ENGINE_STATE", message: /started already/ });
});
