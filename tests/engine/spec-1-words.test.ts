/** Spec §1: instances and their ids. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { defineJob } from "../../src/index.ts";
import { SetClock } from "./set-clock.ts";
import { Gate, says, startEngine, statuses, task, untilStatus, workflow, untilInstance } from "./rig.ts";
import { sqlite } from "../../src/sqlite.ts";
import { temporaryFile } from "../support/temporary-folder.ts";

const echo = defineJob("echo", (params: unknown) => params ?? "done");

test("1 an instance's id is a new UUIDv7 unless the caller gives one", async (t) => {
  const engine = await startEngine(t, { jobs: [echo] });
  const first = await engine.submitWorkflow(workflow("w", task("t", "echo")));
  const second = await engine.submitWorkflow(workflow("w", task("t", "echo")));
  assert.match(first.instanceId, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.notEqual(first.instanceId, second.instanceId);
  const named = await engine.submitWorkflow(workflow("w", task("t", "echo")), { instanceId: "order 17" });
  assert.equal(named.instanceId, "order 17");
  assert.deepEqual(await named.result(), { t: "done" });
});

test("1 an active id is refused, with or without reuse", async (t) => {
  const gate = new Gate();
  const wait = defineJob("wait", () => gate.opened);
  const engine = await startEngine(t, { jobs: [wait] });
  const definition = workflow("w", task("t", "wait"));
  const run = await engine.submitWorkflow(definition, { instanceId: "a" });
  const active = says("INSTANCE_EXISTS", '"a"', "Running");
  await assert.rejects(engine.submitWorkflow(definition, { instanceId: "a" }), active);
  await assert.rejects(engine.submitWorkflow(definition, { instanceId: "a", reuse: true }), active);
  gate.open();
  await run.result();
});

test("1 two submits of one id at the same time: one is accepted", async (t) => {
  const engine = await startEngine(t, { jobs: [echo] });
  const definition = workflow("w", task("t", "echo"));
  const both = await Promise.allSettled([
    engine.submitWorkflow(definition, { instanceId: "a" }),
    engine.submitWorkflow(definition, { instanceId: "a" }),
  ]);
  assert.deepEqual(both.map(({ status }) => status).toSorted(), ["fulfilled", "rejected"]);
});

test("1 a finished id is refused without reuse, and with it starts anew, also after a restart", async (t) => {
  const file = temporaryFile(t);
  const definition = workflow("w", task("t", "echo", 1));
  const before = await startEngine(t, { storage: sqlite(file), jobs: [echo] });
  await (await before.submitWorkflow(definition, { instanceId: "a" })).result();
  await assert.rejects(
    before.submitWorkflow(definition, { instanceId: "a" }),
    says("INSTANCE_EXISTS", '"a"', "Success", "reuse: true"),
  );
  await before.stop();

  const engine = await startEngine(t, { storage: sqlite(file), jobs: [echo] });
  await assert.rejects(engine.submitWorkflow(definition, { instanceId: "a" }), says("INSTANCE_EXISTS", "reuse: true"));
  const again = await engine.submitWorkflow(workflow("w", task("t", "echo", 2)), { instanceId: "a", reuse: true });
  assert.deepEqual(await again.result(), { t: 2 });
  assert.equal((await again.getStatus()).generation, 2);
});

test("1 an instance with the id of an earlier one has a later creation time, also if the clock is a little behind", async (t) => {
  const clock = new SetClock();
  const engine = await startEngine(t, { jobs: [echo], clock });
  const definition = workflow("w", task("t", "echo"));
  const created: number[] = [];
  for (const aheadMs of [0, 0, -30_000, -86_400_000]) {
    clock.aheadMs = aheadMs;
    const run = await clock.until(engine.submitWorkflow(definition, { instanceId: "a", reuse: true }));
    await clock.until(run.result());
    created.push((await clock.until(run.getStatus())).createdAt);
  }
  const [first = 0, second = 0, third = 0, fourth = 0] = created;
  assert.ok(first < second && second < third);
  assert.ok(fourth < third - 80_000_000, "timers would count from a time that is far ahead");
});

test("1 reports for an older generation of an id are dropped", async (t) => {
  const late = new Gate();
  let calls = 0;
  const stubborn = defineJob("stubborn", async () => {
    calls++;
    if (calls > 1) return "new";
    await late.opened;
    return "old";
  });
  const engine = await startEngine(t, { jobs: [stubborn] });
  const definition = workflow("w", task("t", "stubborn"));
  const first = await engine.submitWorkflow(definition, { instanceId: "a" });
  await untilInstance(engine, "a", (view) => view.tasks[0]?.status === "Running");
  await first.terminate("enough");
  const second = await engine.submitWorkflow(definition, { instanceId: "a", reuse: true });
  assert.deepEqual(await second.result(), { t: "new" });
  const { droppedReports } = engine.health;
  late.open();
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(engine.health.droppedReports, droppedReports + 1);
  assert.deepEqual(await second.result(), { t: "new" });
});

test("1 statuses of an instance and its tasks use one vocabulary", async (t) => {
  const gate = new Gate();
  const wait = defineJob("wait", () => gate.opened);
  const engine = await startEngine(t, { jobs: [wait, echo] });
  const run = await engine.submitWorkflow(
    workflow("w", task("first", "wait"), task("second", "echo").withDependency("first")),
  );
  const running = await untilInstance(engine, run.instanceId, (view) => view.tasks[0]?.status === "Running");
  assert.equal(running.status, "Running");
  assert.equal(running.tasks[1]?.status, "Pending");
  gate.open();
  await untilStatus(engine, run.instanceId, "Success");
  assert.deepEqual(await statuses(run), { first: "Success", second: "Success" });
});
