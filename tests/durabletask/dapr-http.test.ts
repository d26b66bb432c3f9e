import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, test } from "node:test";
import { ServerRig } from "../server/rig.ts";
import { daprHttpClient } from "./sdk.rig.ts";
import { until } from "../support/until.ts";

describe("Dapr's workflow interface over HTTP [8.5]", () => {
  test("the HTTP client of @dapr/dapr starts, reads, signals, pauses, resumes, terminates and purges", async (t) => {
    const secret = "a-secret-of-sixteen-and-more";
    const sha256 = createHash("sha256").update(secret).digest("hex");
    const rig = await ServerRig.start(t, { tokens: [{ name: "shop", role: "operator", sha256 }] });
    const { workflow } = await daprHttpClient(t, rig.server.url, secret);
    const id = await workflow.start("talk", { topic: "looms" }, "over-http");
    await until(async () => (await workflow.get(id)).runtimeStatus === "RUNNING");
    await workflow.pause(id);
    assert.equal((await workflow.get(id)).runtimeStatus, "SUSPENDED");
    await workflow.resume(id);
    await workflow.raise(id, "go", { by: "ada" });
    await until(async () => (await workflow.get(id)).runtimeStatus === "COMPLETED");
    const { workflowName, createdAt, properties } = await workflow.get(id);
    assert.equal(workflowName, "talk");
    assert.ok(Date.now() - createdAt.getTime() < 60_000);
    assert.deepEqual(properties, {
      "dapr.workflow.input": '{"topic":"looms"}',
      "dapr.workflow.output": '{"said":"first","heard":{"by":"ada"},"words":0}',
      "dapr.workflow.custom_status": '{"topic":"looms"}',
    });
    await workflow.purge(id);
    await assert.rejects(workflow.get(id), /unable to find workflow with the provided instance ID: over-http/);
    const open = await workflow.start("talk");
    await workflow.terminate(open);
    await until(async () => (await workflow.get(open)).runtimeStatus === "TERMINATED");
  });

  test("every version of the paths takes JSON and text, and refuses in Dapr's words", async (t) => {
    const rig = await ServerRig.start(t);
    const send = async (method: string, path: string, body?: string): Promise<[number, Record<string, unknown>]> => {
      const { status, envelope } = await rig.fetch(path, { method, ...(body !== undefined && { body }) });
      return [status, { ...envelope }];
    };
    for (const version of ["v1.0", "v1.0-beta1", "v1.0-alpha1"]) {
      const at = `/${version}/workflows/dapr`;
      assert.deepEqual(await send("POST", `${at}/talk/start?instanceID=${version}`, '{"topic":"a"}'), [
        202,
        { instanceID: version },
      ]);
      assert.equal((await send("POST", `${at}/${version}/raiseEvent/go`, "plain text"))[0], 202);
      const output = '{"said":"first","heard":"plain text","words":0}';
      await until(async () => {
        const [, { properties }] = await send("GET", `${at}/${version}`);
        return (properties as Record<string, string>)["dapr.workflow.output"] === output;
      });
      const [status, { errorCode }] = await send("GET", `${at}/nobody`);
      assert.deepEqual([status, errorCode], [404, "ERR_INSTANCE_ID_NOT_FOUND"]);
      assert.equal((await send("POST", `${at}/nobody/purge`))[1]["errorCode"], "ERR_INSTANCE_ID_NOT_FOUND");
    }
    await send("POST", "/v1.0/workflows/dapr/talk/start?instanceID=open");
    const taken = await send("POST", "/v1.0/workflows/dapr/talk/start?instanceID=open");
    const message = "an active workflow with ID 'open' already exists";
    assert.deepEqual(taken, [409, { errorCode: "ERR_START_WORKFLOW", message }]);
    const [purged, { errorCode }] = await send("POST", "/v1.0/workflows/dapr/open/purge");
    assert.deepEqual([purged, errorCode], [409, "ERR_PURGE_WORKFLOW"]);
    const { items } = await rig.ok("listAudit");
    assert.ok(items.some(({ what, target }) => what === "daprRaiseEvent" && target === "dapr/v1.0/go"));
  });

  test("health and metadata are where SDKs look for them, and metadata need a token", async (t) => {
    const rig = await ServerRig.start(t, { adminToken: "admin-secret" });
    assert.equal((await rig.fetch("/v1.0/healthz")).status, 204);
    assert.equal((await rig.fetch("/v1.0/healthz/outbound")).status, 204);
    assert.equal((await rig.fetch("/v1.0/metadata")).status, 401);
    assert.equal((await rig.fetch("/v1.0/metadata", { headers: { "dapr-api-token": "admin-secret" } })).status, 200);
    const start = await rig.fetch("/v1.0/workflows/dapr/talk/start", { method: "POST" });
    assert.equal(start.status, 401);
  });
});
