/** One server on MariaDB, as a team would use it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { storage } from "../../src/storage.ts";
import { newDatabase } from "../databases/databases.ts";
import { ServerRig } from "./rig.ts";
import { twoNodes } from "./sample-app.ts";

test("12.1 a server on MariaDB starts, tells, lists, plans and keeps versions", { timeout: 60_000 }, async (t) => {
  // Before the database is dropped.
  const stopped = new AsyncDisposableStack();
  t.after(() => stopped.disposeAsync());
  const url = await newDatabase("mysql", t);
  const cluster = { enabled: true, shards: 4, remoteWorkers: false };
  const rig = await ServerRig.start(t, { cluster, store: await storage(url) });
  stopped.defer(() => rig.stop());

  await t.test("instances", async () => {
    const sent = { params: { id: "pauses" }, body: { colour: "grün 🟢" }, key: "k" };
    const { instanceId: id } = await rig.ok("triggerWorkflow", sent);
    assert.deepEqual(await rig.ok("triggerWorkflow", sent), { instanceId: id });
    assert.deepEqual((await rig.end(id)).output, { rest: 50, after: "done" });
    assert.equal((await rig.ok("getInstance", { params: { id } })).status, "Success");
    assert.equal((await rig.ok("getContext", { params: { id } }))["colour"], "grün 🟢");
    const { items } = await rig.ok("getLogs", { params: { id } });
    assert.deepEqual(
      items.map(({ taskName, message, fields }) => ({ taskName, message, fields })),
      [{ taskName: "after", message: "said", fields: { text: "done" } }],
    );
    const failed = await rig.ok("triggerWorkflow", { params: { id: "fails" } });
    assert.equal((await rig.end(failed.instanceId)).status, "Failed");
    const listed = async (query: Record<string, string>): Promise<string[]> =>
      (await rig.ok("listInstances", { query })).items.map(({ instanceId }) => instanceId);
    assert.deepEqual(await listed({}), [failed.instanceId, id]);
    assert.deepEqual(await listed({ status: "Failed" }), [failed.instanceId]);
    assert.deepEqual(await listed({ workflow: "pauses" }), [id]);
  });

  await t.test("schedules", async () => {
    await rig.ok("createSchedule", { body: { scheduleId: "s", workflow: "hello", every: { cron: "0 3 * * *" } } });
    const { items } = await rig.ok("listSchedules");
    assert.deepEqual(
      items.map(({ scheduleId }) => scheduleId),
      ["s"],
    );
    const { instanceId } = await rig.ok("triggerSchedule", { params: { id: "s" } });
    assert.equal((await rig.end(instanceId ?? "")).status, "Success");
    await rig.ok("deleteSchedule", { params: { id: "s" } });
    assert.deepEqual((await rig.ok("listSchedules")).items, []);
    await rig.refused("getSchedule", { params: { id: "s" } }, { status: 404, code: "SCHEDULE_UNKNOWN" });
  });

  await t.test("the catalogue", async () => {
    const made = await rig.ok("createWorkflow", { body: { name: "two", dagSpec: twoNodes } });
    const saved = await rig.ok("updateWorkflow", {
      params: { id: "two" },
      body: { dagSpec: { ...twoNodes, edges: [] }, ifVersion: made.version },
    });
    assert.notEqual(saved.version, made.version);
    const back = await rig.ok("rollBackWorkflow", { params: { id: "two" }, body: { version: made.version } });
    assert.equal(back.version, made.version);
    const { items } = await rig.ok("listWorkflowVersions", { params: { id: "two" } });
    assert.equal(new Set(items.map(({ version }) => version)).size, 2);
    const { instanceId } = await rig.ok("triggerWorkflow", { params: { id: "two" } });
    assert.deepEqual((await rig.end(instanceId)).output, { a: "hello", b: "world" });
  });

  const audit = await rig.ok("listAudit");
  assert.ok(audit.items.length >= 8);
  assert.deepEqual(rig.problems, []);
});
