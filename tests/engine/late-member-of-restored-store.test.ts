/**
 * A backup is restored under a member that joined later and owns nothing. It looks like a removal (decision 0025), so the
 * member continues: what it wrote since the backup must be written again.
 */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { defineJob, TaskBuilder, type Store } from "../../src/index.ts";
import { HandJob } from "../runtime/hand-job.ts";
import { EngineClusterRig, lookMs, type RigMember } from "./engine-cluster-rig.ts";
import { task, workflow } from "./rig.ts";

const echo = defineJob("echo", () => "done");
const child = workflow("child", task("c", "echo"));
const parent = workflow(
  "parent",
  task("t", "work").withTimeout(3600),
  new TaskBuilder("n").withNestedWorkflow("child").withDependency("t"),
);

interface Late {
  readonly rig: EngineClusterRig;
  readonly b: RigMember;
  readonly work: HandJob;
  /** Goes back to the time before `b` joined; returns when `b` has joined again. */
  readonly restore: () => Promise<void>;
}

/** Member `a`, which owns everything, has died unnoticed; then the backup is made; then `b` joins. */
async function late(t: TestContext): Promise<Late> {
  const work = new HandJob();
  const [rig, a] = await EngineClusterRig.start(t, 1, { jobs: [work.job] });
  a.kill();
  const backup = rig.store.backUp();
  const b = await rig.join("b", { jobs: [work.job, echo], workflows: [child], domains: { narrow: { size: 1 } } });
  assert.equal(b.shards, 0);
  const restore = async (): Promise<void> => {
    rig.store.restore(backup);
    await rig.clock.advance(lookMs);
    assert.deepEqual(b.heardOf("b"), ["joined", "gone", "joined"]);
  };
  return { rig, b, work, restore };
}

async function connect(t: TestContext, rig: EngineClusterRig): Promise<Store> {
  const store = rig.store.connect();
  await store.open();
  t.after(() => store.close());
  return store;
}

test("0025 what a late member recorded when it started is recorded again", async (t) => {
  const { rig, restore } = await late(t);
  const store = await connect(t, rig);
  const recorded = async () => ({
    jobs: (await store.loadJobs()).map(({ name }) => name).sort(),
    domains: (await store.loadDomains()).map(({ name }) => name),
    child: (await store.findLatestDefinition("child"))?.name,
  });
  const before = await recorded();
  assert.deepEqual(before, { jobs: ["echo", "work"], domains: ["narrow"], child: "child" });
  await restore();
  assert.deepEqual(await recorded(), before);
});

test("0025 a start under way finds its definitions, nested ones too, also on the next member", async (t) => {
  const { rig, b, work, restore } = await late(t);
  const { clock } = rig;
  const started = b.engine.submitWorkflow(parent, { instanceId: "x" });
  await clock.advance(100);
  await restore();
  await clock.until(started);
  await clock.until(work.call("t", { instanceId: "x" }));
  b.kill();
  const c = await rig.join("c", { jobs: [work.job, echo] });
  (await clock.until(work.call("t", { instanceId: "x", after: 1 }))).finish("again");
  assert.deepEqual(await clock.until(c.engine.awaitWorkflowInstance("x")), { t: "again", n: { c: "done" } });
});

const nesting = workflow(
  "parent",
  task("t", "work").withTimeout(3600),
  new TaskBuilder("n").withNestedWorkflow(child).withDependency("t"),
);

test("0025 an owner that has not noticed a restore writes the definitions of a start with it, nested ones too", async (t) => {
  const work = new HandJob();
  const [rig, a, b] = await EngineClusterRig.start(t, 2, { jobs: [work.job, echo] });
  const { clock } = rig;
  const [own, other] = [await rig.idOn(a), await rig.idOn(b)];
  const backup = rig.store.backUp();
  // Member `a` saves the definitions, and `b` commits the instance; so nothing that `a` owns goes back with the restore.
  await clock.until(a.engine.submitWorkflow(nesting, { instanceId: other }));
  b.kill();
  rig.store.restore(backup);
  const store = await connect(t, rig);
  assert.equal(await store.findLatestDefinition("parent"), undefined);
  await clock.until(a.engine.submitWorkflow(nesting, { instanceId: own }));
  for (const name of ["parent", "child"]) assert.equal((await store.findLatestDefinition(name))?.name, name);
  (await clock.until(work.call("t", { instanceId: own }))).finish("done");
  assert.deepEqual(await clock.until(a.engine.awaitWorkflowInstance(own)), { t: "done", n: { c: "done" } });
});
