/** Spec §6.2, §10.1: jobs that only workers have. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { z } from "zod";
import { defineJob } from "../../src/index.ts";
import { silentLogger } from "../../src/base/logger.ts";
import { MemoryStore } from "../../src/stores/memory/memory-store.ts";
import { Worker, type WorkerOptions } from "../../src/worker.ts";
import { until } from "../support/until.ts";
import { ServerRig } from "./rig.ts";

const alone = { enabled: false, shards: 1, remoteWorkers: true };

const resize = defineJob(
  "resize",
  { input: z.object({ file: z.string(), width: z.number().default(80) }), description: "Makes a picture smaller." },
  ({ file, width }) => `${file} in ${width}`,
);

async function startWorker(t: TestContext, options: Partial<WorkerOptions>): Promise<Worker> {
  const worker = new Worker({ jobs: [resize], logger: silentLogger, ...options });
  t.after(() => worker.stop());
  await worker.start();
  return worker;
}

const pictures = {
  nodes: [{ nodeId: 1, nodeName: "small", jobName: "resize", nodeParams: '{"file":"a.png"}' }],
  edges: [],
};

/** Saves a workflow that runs the job, over HTTP. */
async function save(rig: ServerRig): Promise<void> {
  await rig.ok("createWorkflow", { body: { name: "pictures", dagSpec: pictures } });
}

test(
  "10.1 a job that only workers have is used over HTTP, waits without them, and stays known",
  { timeout: 60_000 },
  async (t) => {
    const rig = await ServerRig.start(t, { cluster: alone, roles: ["server"] });
    await rig.refused("runJob", { params: { name: "resize" }, body: {} }, { status: 422, code: "JOB_MISSING" });
    const worker = await startWorker(t, { url: rig.server.url });
    await until(async () => (await rig.ok("listJobs")).items.some(({ name }) => name === "resize"));
    const known = (await rig.ok("listJobs")).items.find(({ name }) => name === "resize");
    assert.deepEqual(
      [known?.origin, known?.isHere, known?.missing, known?.description],
      ["worker", false, false, "Makes a picture smaller."],
    );
    assert.deepEqual((known?.parameters as { required?: unknown } | undefined)?.required, ["file"]);

    await save(rig);
    const first = await rig.ok("triggerWorkflow", { params: { id: "pictures" } });
    assert.deepEqual((await rig.end(first.instanceId)).output, { small: "a.png in 80" });
    await rig.refused(
      "runJob",
      { params: { name: "resize" }, body: { file: 7 } },
      { status: 422, code: "PARAMS_INVALID" },
    );

    await worker.drain();
    await rig.restart({ cluster: alone, roles: ["server"] });
    const { instanceId } = await rig.ok("triggerWorkflow", { params: { id: "pictures" } });
    await until(async () => (await rig.ok("listWaitingNodes")).length === 1);
    const [waiting] = await rig.ok("listWaitingNodes");
    assert.equal(waiting?.wait?.reason, "no-worker");
    assert.match(waiting?.wait?.text ?? "", /job resize@\w+, which is not registered on any worker/);
    await startWorker(t, { url: rig.server.url });
    assert.equal((await rig.end(instanceId)).status, "Success");
    const run = await rig.ok("runJob", { params: { name: "resize" }, body: { file: "b.png", width: 9 } });
    assert.equal((await rig.end(run.instanceId)).status, "Success");
  },
);

test("10.1 a job that was announced to one member can be used at every other", { timeout: 60_000 }, async (t) => {
  const store = new MemoryStore();
  const cluster = { enabled: true, shards: 2, remoteWorkers: true };
  const rigs = [
    await ServerRig.start(t, { cluster, roles: ["server"], store }),
    await ServerRig.start(t, { cluster, roles: ["server"], store: store.connect() }),
  ] as const;
  for (const rig of rigs) await startWorker(t, { url: rig.server.url });
  await until(async () => (await rigs[0].ok("listJobs")).items.some(({ name }) => name === "resize"));
  for (const rig of rigs) {
    const run = await rig.ok("runJob", { params: { name: "resize" }, body: { file: "c.png" } });
    assert.equal((await rig.end(run.instanceId)).status, "Success");
  }
});
