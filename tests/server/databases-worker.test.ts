/** Spec §10.3 and §10.7: servers without the role `worker`, on PostgreSQL: all jobs run in processes of `heddle worker`. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { storage } from "../../src/storage.ts";
import { begin, root, type Running } from "../cli/program.ts";
import { newDatabase } from "../databases/databases.ts";
import { ServerRig } from "./rig.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";

/** What the workers' processes have of the sample application: a job on the event loop of one, and in a thread of the other. */
function moduleText(isolation: "inline" | "thread"): string {
  return `import { defineJob } from ${JSON.stringify(join(root, "src/index.ts"))};
const source = { module: import.meta.url, export: "say" };
export const say = defineJob("say", { isolation: "${isolation}", source }, (text: string, ctx) => {
  ctx.log.info({ text, traceparent: ctx.traceparent, pid: process.pid }, "said ${isolation}");
  return text;
});
`;
}

const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const headers = { traceparent };

async function said(rig: ServerRig, id: string): Promise<Record<string, unknown>[]> {
  const { items } = await rig.ok("getLogs", { params: { id } });
  return items.map(({ taskName, level, message, fields }) => ({ taskName, level, message, fields }));
}

test("10.3 a server without the role worker leaves its jobs to a worker", { timeout: 60_000 }, async (t) => {
  const folder = temporaryFolder(t);
  for (const isolation of ["inline", "thread"] as const) {
    writeFileSync(join(folder, `${isolation}.ts`), moduleText(isolation));
  }
  // Before the database is dropped.
  const stopped = new AsyncDisposableStack();
  t.after(() => stopped.disposeAsync());
  const url = await newDatabase("postgres", t);
  const cluster = { enabled: true, shards: 2, remoteWorkers: true };
  const rig = await ServerRig.start(t, { cluster, roles: ["server"], store: await storage(url) });
  stopped.defer(() => rig.stop());
  const work = (module: string): Running => begin(t, ["worker", module, "--url", rig.server.url], { cwd: folder });

  const early = await rig.ok("triggerWorkflow", { params: { id: "hello" }, headers });
  assert.deepEqual(await rig.ok("listWorkers"), []);
  assert.equal((await rig.ok("getCluster")).workerCount, 0);
  await until(async () => (await rig.ok("listWaitingNodes")).length === 1);
  const worker = work("inline.ts");
  const pid = worker.child.pid;

  await t.test("which takes up what waited", async () => {
    assert.equal((await rig.end(early.instanceId)).status, "Success");
    const [own] = await rig.ok("listWorkers");
    assert.equal(own?.status, "up");
    const { nodes } = await rig.ok("getClusterTopology");
    assert.deepEqual(
      nodes.map(({ kind }) => kind),
      ["server", "worker"],
    );
    const fields = { text: "hi", traceparent, pid };
    const line = { taskName: "greet", level: "info", message: "said inline", fields };
    await until(async () => (await said(rig, early.instanceId)).length > 0);
    assert.deepEqual(await said(rig, early.instanceId), [line]);
  });

  await t.test("which runs the tasks of code, and sends what they say", async () => {
    const { instanceId: id } = await rig.ok("triggerWorkflow", { params: { id: "talk" }, headers });
    await rig.ok("raiseEvent", { params: { id, name: "go" }, body: 1 });
    assert.deepEqual((await rig.end(id)).output, { said: "first", heard: 1, words: 0 });
    await until(async () => (await said(rig, id)).length > 0);
    assert.deepEqual((await said(rig, id))[0]?.["fields"], { text: "first", traceparent, pid });
  });

  await t.test("which can be drained: another goes on, here with its jobs in threads", async () => {
    const [first] = await rig.ok("listWorkers");
    await rig.ok("drain", { body: { worker: first?.address } });
    assert.deepEqual(
      (await rig.ok("listWorkers")).map(({ status }) => status),
      ["draining"],
    );
    await rig.refused("drain", { body: { worker: "nobody" } }, { status: 404, code: "WORKER_UNKNOWN" });
    const { instanceId } = await rig.ok("triggerWorkflow", { params: { id: "hello" }, headers });
    await until(async () => (await rig.ok("listWaitingNodes")).length === 1);
    await sleep(300);
    assert.equal((await rig.ok("listWaitingNodes")).length, 1);
    const second = work("thread.ts");
    assert.equal((await rig.end(instanceId)).status, "Success");
    await until(async () => (await said(rig, instanceId)).length > 0);
    const fields = { text: "hi", traceparent, pid: second.child.pid };
    assert.deepEqual(await said(rig, instanceId), [
      { taskName: "greet", level: "info", message: "said thread", fields },
    ]);
    worker.child.kill("SIGTERM");
    assert.equal((await worker.ended).code, 0);
    await until(async () => (await rig.ok("listWorkers")).length === 1);
    second.child.kill("SIGTERM");
    assert.equal((await second.ended).code, 0);
  });
  assert.deepEqual(rig.problems, []);
});
