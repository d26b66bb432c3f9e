import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, test } from "node:test";
import { ServerRig } from "../server/rig.ts";
import { portOf } from "./clients.rig.ts";
import { daprClient, status } from "./sdk.rig.ts";

describe("the Durable Task protocol, for Dapr's clients [8.5]", () => {
  test("the workflow client of @dapr/dapr works with its token", async (t) => {
    const secret = "a-secret-of-sixteen-and-more";
    const sha256 = createHash("sha256").update(secret).digest("hex");
    const tokens = [{ name: "shop", role: "operator" as const, sha256 }];
    const rig = await ServerRig.start(t, { grpcPort: 0, tokens });
    const stranger = await daprClient(t, portOf(rig));
    await assert.rejects(stranger.scheduleNewWorkflow("talk"), /UNAUTHENTICATED: a token is needed/);
    const client = await daprClient(t, portOf(rig), secret);
    const id = await client.scheduleNewWorkflow("talk", { topic: "yarn" }, "dapr-1");
    assert.equal((await client.waitForWorkflowStart(id, true, 10))?.serializedInput, '{"topic":"yarn"}');
    await client.suspendWorkflow(id);
    assert.equal((await client.getWorkflowState(id, false))?.runtimeStatus, status.suspended);
    await client.resumeWorkflow(id);
    await client.raiseEvent(id, "go", 7);
    const ended = await client.waitForWorkflowCompletion(id, true, 10);
    assert.equal(ended?.serializedOutput, '{"said":"first","heard":7,"words":0}');
    assert.equal(await client.purgeWorkflow(id), true);
  });
});
