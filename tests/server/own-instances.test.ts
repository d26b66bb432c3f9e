/** The instances of schedules, and the workflow they run, are reached by the operations on schedules alone. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { paths, type RouteName } from "../../src/api/paths.ts";
import { ServerRig } from "./rig.ts";

const every = { cron: "0 0 3 * * ?", timeZone: "UTC" };

/** Of every operation that changes the instance it names; a new one is part of the table by its path. */
const changes = (Object.keys(paths) as RouteName[]).filter((name) =>
  /^(POST|PUT|PATCH|DELETE) \/api\/instance\/\{id\}/.test(paths[name]),
);

/** These suit an instance of the server's own too: one reads, one revives, one clears away what has ended. */
const allowed: readonly RouteName[] = ["queryInstance", "resumeInstance", "deleteInstance"];

const bodies: Partial<Record<RouteName, unknown>> = {
  patchContext: { set: { a: 1 } },
  rerunInstance: { task: "t" },
  succeedNode: { output: 1 },
  changeNodeParams: { params: 1 },
};

describe("the instance of a schedule", () => {
  for (const name of changes.filter((change) => !allowed.includes(change))) {
    test(`is not changed by ${name}`, async (t) => {
      const rig = await ServerRig.start(t);
      await rig.ok("createSchedule", { body: { scheduleId: "s", workflow: "hello", every } });
      const before = (await rig.ok("getHistory", { params: { id: "schedule:s" } })).items.length;
      for (const update of name === "updateInstance" ? ["change", "backfill", "delete", "pause"] : ["wake"]) {
        const params = { id: "schedule:s", name: update, nodeId: "0" };
        const body = bodies[name] ?? {};
        const { message } = await rig.refused(name, { params, body }, { status: 409, code: "INSTANCE_OWNED" });
        assert.match(String(message), /instance "schedule:s" is schedule "s": use PUT or DELETE \/api\/schedule\/s/);
      }
      assert.equal((await rig.ok("getHistory", { params: { id: "schedule:s" } })).items.length, before);
      assert.equal((await rig.ok("getSchedule", { params: { id: "s" } }))["isEnabled"], true);
    });
  }

  test("can be read, resumed, and deleted once it has ended", async (t) => {
    const rig = await ServerRig.start(t);
    await rig.ok("createSchedule", { body: { scheduleId: "s", workflow: "hello", every } });
    const params = { id: "schedule:s" };
    await rig.ok("getInstance", { params });
    await rig.refused("deleteInstance", { params }, { status: 409, code: "INSTANCE_STATE" });
    await rig.server.engine.pauseWorkflowInstance("schedule:s");
    await rig.ok("resumeInstance", { params });
    await rig.ok("deleteSchedule", { params: { id: "s" } });
    await rig.server.engine.awaitWorkflowInstance("schedule:s");
    await rig.ok("deleteInstance", { params });
  });
});

describe("the workflow of schedules", () => {
  const state = { scheduleId: "x", spec: { workflow: "hello", every: { rateMs: 1 } }, isEnabled: true, anchor: 0 };

  test("is not started by name, by a schedule or as a nested workflow", async (t) => {
    const rig = await ServerRig.start(t);
    const unknown = { status: 404, code: "WORKFLOW_UNKNOWN" };
    const params = { id: "heddle.schedule" };
    await rig.refused("triggerWorkflow", { params, query: { instanceId: "evil" }, body: state }, unknown);
    const body = { scheduleId: "s", workflow: "heddle.schedule", input: state, every };
    await rig.refused("createSchedule", { body }, unknown);
    const dagSpec = { nodes: [{ nodeId: 1, nodeType: 3, workflowName: "heddle.schedule" }] };
    await rig.ok("createWorkflow", { body: { name: "nests", dagSpec } });
    await rig.refused("triggerWorkflow", { params: { id: "nests" } }, unknown);
  });

  test("has a name that nobody else's has", async (t) => {
    const rig = await ServerRig.start(t);
    const dagSpec = { nodes: [{ nodeId: 1, jobName: "greet" }] };
    const { message } = await rig.refused(
      "createWorkflow",
      { body: { name: "heddle.mine", dagSpec } },
      { status: 422, code: "WORKFLOW_INVALID" },
    );
    assert.match(String(message), /those that begin with "heddle\." are the engine's own/);
  });
});
