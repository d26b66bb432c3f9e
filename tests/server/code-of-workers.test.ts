/** Spec §10.2: what a server says about code and tags that only workers have. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLogger } from "../../src/base/logger.ts";
import { defineWorkflow, TaskBuilder, WorkflowBuilder } from "../../src/index.ts";
import { Worker } from "../../src/worker.ts";
import { until } from "../support/until.ts";
import { ServerRig } from "./rig.ts";

const paid = defineWorkflow("paid-order", { version: "7" }, async (ctx) => await ctx.waitForEvent("paid"));

test("10.2 lists the code workflows of its workers, also after these are gone, and says which worker has which", async (t) => {
  const rig = await ServerRig.start(t);
  const worker = new Worker({ url: rig.server.url, workflows: [paid], tags: ["gpu"], logger: silentLogger });
  t.after(() => worker.stop());
  await worker.start();
  const known = { name: "paid-order", kind: "code", version: "7", origin: "worker" };
  await until(async () => (await rig.ok("listWorkflows")).items.some(({ name }) => name === "paid-order"));
  const listed = (await rig.ok("listWorkflows")).items.find(({ name }) => name === "paid-order");
  assert.deepEqual({ ...listed, ...known }, listed);
  const found = (await rig.ok("listWorkers")).find(({ tags }) => tags.includes("gpu"));
  assert.deepEqual(found?.workflows, [{ name: "paid-order", version: "7" }]);
  await worker.stop();
  const detail = await rig.ok("getWorkflow", { params: { id: "paid-order" } });
  assert.deepEqual({ ...detail, ...known }, detail);
  const { instanceId } = await rig.ok("triggerWorkflow", { params: { id: "paid-order" }, body: {} });
  await until(async () => {
    const { waiting } = await rig.ok("getInstance", { params: { id: instanceId } });
    return waiting.some((wait) => wait.kind === "instance" && wait.reason === "code");
  });
});

test("10.2 a wait names the tags and the worker that it is for, and the end of a wait for a completion from outside", async (t) => {
  const rig = await ServerRig.start(t);
  const { engine } = rig.server;
  engine.registerJobFunction("ask-later", (_: unknown, ctx) => void ctx.completeLater({ timeoutSeconds: 600 }));
  const task = (name: string): TaskBuilder => new TaskBuilder(name).withJobFunction("say", "x");
  const workflow = new WorkflowBuilder()
    .withName("choosy")
    .withTask(task("tags").withWorkerTags("gpu", "eu"))
    .withTask(task("named").withWorker("w-42"))
    .withTask(new TaskBuilder("outside").withJobFunction("ask-later"))
    .build();
  const { instanceId } = await engine.submitWorkflow(workflow);
  const waitOf = async (name: string) => {
    const { tasks, waiting } = await rig.ok("getInstance", { params: { id: instanceId } });
    const listed = waiting.find((wait) => wait.kind === "task" && wait.taskName === name);
    const { wait } = tasks.find((each) => each.name === name) ?? {};
    if (wait === undefined || listed?.kind !== "task") return undefined;
    assert.deepEqual([listed.requires, listed.dueAt], [wait.requires, wait.dueAt]);
    return wait;
  };
  await until(async () => (await waitOf("outside")) !== undefined);
  assert.deepEqual((await waitOf("tags"))?.requires, { tags: ["gpu", "eu"] });
  assert.deepEqual((await waitOf("named"))?.requires, { tags: [], worker: "w-42" });
  const { dueAt = 0, since = 0 } = (await waitOf("outside")) ?? {};
  assert.equal(dueAt - since, 600_000);
});
