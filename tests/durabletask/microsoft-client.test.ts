import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, test } from "node:test";
import { ServerRig } from "../server/rig.ts";
import { control, portOf, startAndWait } from "./clients.rig.ts";
import { microsoftClient, status } from "./sdk.rig.ts";

describe("the Durable Task protocol, for the client of @microsoft/durabletask-js [8.5]", () => {
  test("starts code, raises events, waits and reads input, output and custom status", (t) =>
    startAndWait(t, microsoftClient));
  test("suspends, resumes, terminates and purges", (t) => control(t, microsoftClient));

  test("DAGs are instances like others, and a failure has its type and message", async (t) => {
    const rig = await ServerRig.start(t, { grpcPort: 0 });
    const client = await microsoftClient(t, portOf(rig));
    const id = await client.scheduleNewOrchestration("hello");
    const ended = await client.waitForOrchestrationCompletion(id, true, 10);
    assert.equal(ended?.serializedOutput, '{"greet":"hi"}');
    const failing = await client.scheduleNewOrchestration("fails");
    const failed = await client.waitForOrchestrationCompletion(failing, true, 10);
    assert.equal(failed?.runtimeStatus, status.failed);
    assert.match(failed.failureDetails?.message ?? "", /stumble/);
  });

  test("the id of an active instance is refused; that of an ended one starts anew", async (t) => {
    const rig = await ServerRig.start(t, { grpcPort: 0 });
    const client = await microsoftClient(t, portOf(rig));
    await client.scheduleNewOrchestration("talk", undefined, "once");
    const again = client.scheduleNewOrchestration("talk", undefined, "once");
    await assert.rejects(again, /ALREADY_EXISTS: an active workflow with ID 'once' already exists/);
    await client.terminateOrchestration("once");
    assert.equal(await client.scheduleNewOrchestration("talk", undefined, "once"), "once");
    assert.equal((await client.waitForOrchestrationStart("once", false, 10))?.runtimeStatus, status.running);
  });

  test("instances are listed in pages, by status and by the time they were created", async (t) => {
    const rig = await ServerRig.start(t, { grpcPort: 0 });
    const client = await microsoftClient(t, portOf(rig));
    const ids = [];
    for (let n = 0; n < 5; n++) ids.push(await client.scheduleNewOrchestration("hello", undefined, `list-${n}`));
    for (const id of ids) await client.waitForOrchestrationCompletion(id, false, 10);
    await client.scheduleNewOrchestration("talk", undefined, "list-open");
    const found: string[] = [];
    assert.ok(client.getAllInstances !== undefined);
    for await (const { instanceId } of client.getAllInstances({ pageSize: 2, statuses: [status.completed] }))
      found.push(instanceId);
    assert.deepEqual(found.toSorted(), ids);
    const purged = await client.purgeOrchestration({
      getCreatedTimeFrom: () => new Date(0),
      getCreatedTimeTo: () => new Date(Date.now() + 60_000),
      getRuntimeStatusList: () => [status.completed],
      getTimeout: () => 30_000,
    });
    assert.equal(purged?.deletedInstanceCount, 5);
  });

  test("namespaces are apart, roles are checked, and changes are audited", async (t) => {
    const tokens = (["viewer", "operator"] as const).map((role) => ({
      name: role,
      role,
      sha256: createHash("sha256").update(`${role}-secret`).digest("hex"),
    }));
    const rig = await ServerRig.start(t, { grpcPort: 0, tokens, namespaces: ["team"], adminToken: "admin-secret" });
    const viewer = await microsoftClient(t, portOf(rig), { authorization: "Bearer viewer-secret" });
    await assert.rejects(viewer.scheduleNewOrchestration("talk"), /PERMISSION_DENIED: that needs the role operator/);
    const metadata = { authorization: "Bearer operator-secret", "x-heddle-namespace": "team" };
    const team = await microsoftClient(t, portOf(rig), metadata);
    await team.scheduleNewOrchestration("talk", undefined, "theirs");
    assert.equal(await viewer.getOrchestrationState("theirs"), undefined);
    assert.equal((await team.getOrchestrationState("theirs"))?.name, "talk");
    const { items } = await rig.ok("listAudit", { token: "admin-secret" });
    const started = items.find(({ what, status: answered }) => what === "StartInstance" && answered === 200);
    assert.deepEqual(
      { who: started?.who, namespace: started?.namespace, target: started?.target },
      { who: "operator", namespace: "team", target: "theirs" },
    );
    assert.ok(items.some(({ who, code }) => who === "viewer" && code === "FORBIDDEN"));
  });

  test("a stopping server answers those who wait", async (t) => {
    const rig = await ServerRig.start(t, { grpcPort: 0 });
    const client = await microsoftClient(t, portOf(rig));
    const id = await client.scheduleNewOrchestration("talk");
    const waiting = assert.rejects(client.waitForOrchestrationCompletion(id, false, 30), /UNAVAILABLE/);
    await client.waitForOrchestrationStart(id, false, 10);
    await rig.stop();
    await waiting;
  });
});
