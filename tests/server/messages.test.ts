/** What refusals say to people who mistyped something. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ServerRig } from "./rig.ts";

const invalid = { status: 400, code: "REQUEST_INVALID" };
const unknown = { status: 404, code: "WORKFLOW_UNKNOWN" };

test("refusals name what was meant, and what there is", async (t) => {
  const rig = await ServerRig.start(t);
  const said = async (...asked: Parameters<ServerRig["refused"]>): Promise<string> =>
    (await rig.refused(...asked)).message ?? "";
  assert.match(
    await said("listInstances", { query: { statuss: "Failed" } }, invalid),
    /query\.statuss: is not a parameter of this operation; did you mean "status"\?/,
  );
  const every = { rateMs: 60_000 };
  assert.match(await said("triggerWorkflow", { params: { id: "helo" }, body: {} }, unknown), /did you mean "hello"\?/);
  assert.match(await said("getWorkflow", { params: { id: "helo" } }, unknown), /did you mean "hello"\?/);
  assert.match(
    await said("createSchedule", { body: { scheduleId: "s", workflow: "helo", every } }, unknown),
    /workflow "helo" is not registered; did you mean "hello"\?/,
  );
  await rig.ok("createSchedule", { body: { scheduleId: "s", workflow: "hello", every } });
  const exists = { status: 409, code: "INSTANCE_EXISTS" };
  const again = { body: { scheduleId: "s", workflow: "talk", every }, key: "k1" };
  assert.match(await said("createSchedule", again, exists), /schedule "s" exists already/);
  const sent = { params: { id: "talk" }, query: { instanceId: "mine" } };
  await rig.ok("triggerWorkflow", { ...sent, body: {}, key: "k2" });
  assert.match(
    await said("triggerWorkflow", { ...sent, body: { topic: "other" }, key: "k3" }, exists),
    /instance "mine" exists already: workflow "talk", status Running; take another id/,
  );
  const broken = await rig.fetch("/api/token", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: '{"name": "x",\n "role" "viewer"}',
  });
  assert.match(broken.envelope.message ?? "", /the body is not JSON that can be taken: .*line 2 column 9/);
  const long = "i".repeat(512);
  await rig.ok("triggerWorkflow", { params: { id: "talk" }, query: { instanceId: long }, body: {} });
  assert.equal((await rig.ok("getInstance", { params: { id: long } })).instanceId, long);
  await rig.refused("getInstance", { params: { id: `${long}i` } }, invalid);
});
