/** Spec §12.1 in a cluster: every member answers the same, and a key counts on all of them. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Store } from "../../src/index.ts";
import { memoryStore } from "../../src/testing.ts";
import { ServerRig } from "./rig.ts";
import { twoNodes } from "./sample-app.ts";
import { until } from "../support/until.ts";

/** Two servers on one store, which neither of them may close on the other. */
async function twoMembers(t: TestContext): Promise<[ServerRig, ServerRig]> {
  const shared = memoryStore();
  await shared.open();
  const nothing = async (): Promise<void> => undefined;
  const store: Store = Object.assign(shared, { open: nothing, close: nothing });
  const cluster = { enabled: true, shards: 8, remoteWorkers: false };
  const options = { cluster, adminToken: "root" };
  const first = await ServerRig.start(t, { ...options, store });
  const second = await ServerRig.start(t, { ...options, store });
  return [first, second];
}

const token = "root";

test("12.1 what one member is told, the other knows", { timeout: 60_000 }, async (t) => {
  const [one, other] = await twoMembers(t);
  await until(async () => (await one.ok("getCluster", { token })).totalMembers === 2);
  const [here, there] = [await one.ok("getCluster", { token }), await other.ok("getCluster", { token })];
  assert.notEqual(here.selfAddress, there.selfAddress);
  assert.deepEqual([here.leader, here.upMembers], [there.leader, 2]);
  assert.equal((await one.ok("getClusterTopology", { token })).links.length, 1);

  const sent = { token, params: { id: "hello" }, body: { colour: "red" }, key: "k" };
  const started = await Promise.all([one, other, one, other].map((rig) => rig.ok("triggerWorkflow", sent)));
  assert.equal(new Set(started.map(({ instanceId }) => instanceId)).size, 1);
  const id = started[0]?.instanceId ?? "";
  for (const rig of [one, other]) assert.equal((await rig.end(id, { token })).status, "Success");
  await other.refused("triggerWorkflow", { ...sent, body: {} }, { status: 409, code: "IDEMPOTENCY_KEY_REUSED" });

  await one.ok("createWorkflow", { token, body: { name: "two", dagSpec: twoNodes }, key: "w" });
  await other.ok("createWorkflow", { token, body: { name: "two", dagSpec: twoNodes }, key: "w" });
  await until(async () => (await other.send("triggerWorkflow", { token, params: { id: "two" } })).status === 201);

  const ann = await one.ok("createToken", { token, body: { name: "ann", role: "viewer" } });
  await until(async () => (await other.send("getCluster", { token: ann.token })).status === 200);
  await other.ok("deleteToken", { token, params: { name: "ann" } });
  await until(async () => (await one.send("getCluster", { token: ann.token })).status === 401);

  await one.stop();
  assert.equal((await other.end(id, { token })).status, "Success");
  await until(async () => (await other.ok("getCluster", { token })).totalMembers === 1);
});
