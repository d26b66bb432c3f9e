/** Spec §12.4: operations on all instances that a filter matches. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ServerRig } from "./rig.ts";

async function start(rig: ServerRig, workflow: string, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let number = 0; number < count; number++) {
    const { instanceId } = await rig.ok("triggerWorkflow", { params: { id: workflow }, body: {} });
    ids.push(instanceId);
  }
  return ids;
}

describe("bulk operations", () => {
  test("12.4 count what they concern, then carry it out page by page, and touch nothing else", async (t) => {
    const rig = await ServerRig.start(t);
    const talks = await start(rig, "talk", 5);
    const [held = ""] = await start(rig, "holds", 1);
    const every = { cron: "0 2 * * *" };
    await rig.ok("createSchedule", { body: { scheduleId: "nightly", workflow: "talk", every } });
    const all = await rig.ok("countBulk", { body: { operation: "terminate", filter: {} } });
    assert.deepEqual([all.count, all.isCapped], [6, false]);
    const { count, createdTo } = await rig.ok("countBulk", {
      body: { operation: "terminate", filter: { workflow: "talk" } },
    });
    assert.equal(count, 5);
    await new Promise((resolve) => setTimeout(resolve, 5));
    const [later = ""] = await start(rig, "talk", 1);
    const body = { operation: "terminate" as const, filter: { workflow: "talk", createdTo }, reason: "inventory" };
    const ended: string[] = [];
    let cursor: string | null | undefined;
    let pages = 0;
    do {
      const page = await rig.ok("bulkInstances", { body: { ...body, limit: 2, ...(cursor && { cursor }) } });
      assert.deepEqual(page.failures, []);
      ended.push(...page.instanceIds);
      cursor = page.next;
      pages++;
    } while (cursor !== null);
    assert.deepEqual([ended.toSorted(), pages], [talks.toSorted(), 3]);
    for (const id of talks) assert.equal((await rig.end(id)).reason, "inventory");
    const repeated = await rig.ok("bulkInstances", { body });
    assert.deepEqual(repeated, { instanceIds: [], failures: [], next: null });
    for (const id of [later, held, "schedule:nightly"]) {
      assert.equal((await rig.ok("getInstance", { params: { id } })).endedAt, undefined, id);
    }
  });

  test("12.4 pause, resume, retry and delete by filter, and an operation that no status allows concerns none", async (t) => {
    const rig = await ServerRig.start(t);
    const [talk = ""] = await start(rig, "talk", 1);
    const failed = await start(rig, "fails", 2);
    for (const id of failed) await rig.end(id);
    const ofTalk = { workflow: "talk" };
    const status = async (id: string): Promise<string> => (await rig.ok("getInstance", { params: { id } })).status;
    const run = async (operation: "pause" | "resume" | "retry" | "delete", filter: object): Promise<number> =>
      (await rig.ok("bulkInstances", { body: { operation, filter } })).instanceIds.length;
    assert.equal(await run("pause", ofTalk), 1);
    assert.equal(await status(talk), "Paused");
    assert.equal(await run("pause", ofTalk), 0);
    assert.equal(await run("resume", ofTalk), 1);
    assert.equal(await run("delete", { ...ofTalk, status: ["Running"] }), 0);
    assert.equal(await run("retry", { status: ["Failed"] }), 2);
    for (const id of failed) await rig.end(id);
    for (const id of failed) assert.equal((await rig.ok("getInstance", { params: { id } })).generation, 2);
    assert.equal(await run("delete", { workflow: "fails" }), 2);
    const left = await rig.ok("listInstances", { query: { workflow: "fails" } });
    assert.deepEqual(left.items, []);
  });

  test("12.4 refuse a misspelt filter, and none: both would match everything", async (t) => {
    const rig = await ServerRig.start(t);
    const [id = ""] = await start(rig, "talk", 1);
    for (const misspelt of [{ filter: { workflows: "none" } }, { filters: { workflow: "none" } }, {}]) {
      const body = { operation: "terminate" as const, ...misspelt };
      const answer = await rig.send("bulkInstances", { body });
      assert.equal(answer.status, 400);
    }
    assert.equal((await rig.ok("getInstance", { params: { id } })).status, "Running");
  });

  test("12.4 12.6 are refused to viewers, who may count, and are audited with the ids", async (t) => {
    const rig = await ServerRig.start(t);
    const { token } = await rig.ok("createToken", { body: { name: "root", role: "admin" } });
    const { token: viewer } = await rig.ok("createToken", { token, body: { name: "eve", role: "viewer" } });
    const { instanceId } = await rig.ok("triggerWorkflow", { token, params: { id: "talk" }, body: {} });
    const body = { operation: "pause" as const, filter: { workflow: "talk" } };
    assert.equal((await rig.ok("countBulk", { token: viewer, body })).count, 1);
    await rig.refused("bulkInstances", { token: viewer, body }, { status: 403, code: "FORBIDDEN" });
    await rig.ok("bulkInstances", { token, body });
    const { items } = await rig.ok("listAudit", { token, query: { operation: "bulkInstances" } });
    const made = items.find(({ status }) => status === 200);
    assert.deepEqual(made?.details, { operation: "pause", filter: '{"workflow":"talk"}', instanceIds: instanceId });
  });
});
