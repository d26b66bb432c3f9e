/** Spec §8.5 and §12.6: what clients and workers of Durable Task may not do. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createInstanceRequest } from "../../src/durabletask/client-messages.ts";
import {
  abandonRequest,
  activityResponse,
  getWorkItemsRequest,
  workItem,
} from "../../src/durabletask/worker-messages.ts";
import { defineWorkflow } from "../../src/index.ts";
import { ServerRig } from "../server/rig.ts";
import { until } from "../support/until.ts";
import { portOf } from "./clients.rig.ts";
import { RawClient } from "./raw-client.rig.ts";

const invalidArgument = 3;

describe("clients of Durable Task [8.5]", () => {
  test("start nothing under a name that is reserved, or that no store takes", async (t) => {
    const rig = await ServerRig.start(t, { grpcPort: 0 });
    const raw = await RawClient.connect(t, portOf(rig));
    for (const name of ["heddle.schedule", "job:greet", "@acme/talk", " ", "a\nb", "w".repeat(401)]) {
      const refusal = await raw.call("StartInstance", createInstanceRequest.encode({ name }));
      assert.ok("code" in refusal, `${name.slice(0, 20)} is refused`);
      assert.equal(refusal.code, invalidArgument, refusal.details);
    }
    const refusal = await raw.call("StartInstance", createInstanceRequest.encode({ name: "talk", instanceId: "a\0b" }));
    assert.ok("code" in refusal && refusal.details.includes("control characters"));
    const { items } = await rig.ok("listInstances");
    assert.deepEqual(items, []);
    const dapr = await rig.fetch("/v1.0/workflows/dapr/heddle.schedule/start", { method: "POST" });
    assert.equal(dapr.status, 422);
  });
});

const order = defineWorkflow("call", (ctx, input: string) => ctx.run("greet@durabletask", input));

describe("workers of Durable Task [12.6]", () => {
  test("answer only for work items that a stream of their own token got", async (t) => {
    const rig = await ServerRig.start(t, { grpcPort: 0, adminToken: "root", moreWorkflows: [order] });
    const tokenOf = async (name: string): Promise<string> =>
      (await rig.ok("createToken", { token: "root", body: { name, role: "worker" } })).token;
    const [owner, intruder] = [await tokenOf("owner"), await tokenOf("intruder")];
    const raw = await RawClient.connect(t, portOf(rig));
    const received = raw.open(t, "GetWorkItems", { bytes: getWorkItemsRequest.encode({}), token: owner });
    const { engine } = rig.server;
    const { instanceId } = await engine.startWorkflow(order, "Ada");
    await until(() => received.length > 0);
    const { activityRequest, completionToken } = workItem.decode(received[0] ?? Buffer.alloc(0));
    const taskId = activityRequest?.taskId ?? 0;
    const answer = (result: string, token: string): Buffer =>
      activityResponse.encode({ instanceId, taskId, result, completionToken: token });
    assert.ok(Buffer.isBuffer(await raw.call("CompleteActivityTask", answer('"forged"', ""), intruder)));
    await raw.call("CompleteActivityTask", answer('"forged"', completionToken), intruder);
    await raw.call("AbandonTaskActivityWorkItem", abandonRequest.encode({ completionToken }), intruder);
    await raw.call("CompleteActivityTask", answer('"hello Ada"', ""), owner);
    assert.equal(await engine.awaitWorkflowInstance(instanceId), "hello Ada");
  });
});
