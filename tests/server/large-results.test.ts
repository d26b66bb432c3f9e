/** Outputs that together would not fit into an answer: a clear refusal at once, one output at a time, and a monitor that still works. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ServerRig } from "./rig.ts";

const megabyte = 1024 * 1024;

test("12.1 a result of 70 MB is refused by its size, and its parts can be read", async (t) => {
  const rig = await ServerRig.start(t);
  const nodes = Array.from({ length: 70 }, (_, n) => {
    return { nodeId: n + 1, nodeName: `t${n}`, jobName: "repeat", nodeParams: String(megabyte) };
  });
  await rig.ok("createWorkflow", { body: { name: "wide", dagSpec: { nodes, edges: [] } } });
  const { instanceId } = await rig.ok("triggerWorkflow", { params: { id: "wide" }, body: {} });
  const params = { id: instanceId };
  await rig.refused("getResult", { params, query: { waitMs: 60_000 } }, { status: 413, code: "RESULT_TOO_LARGE" });
  const { output } = await rig.ok("getResult", { params, query: { task: "t3" } });
  assert.equal((output as string).length, megabyte);
  await rig.refused("getResult", { params, query: { task: "no" } }, { status: 404, code: "TASK_UNKNOWN" });
  const monitored = await rig.ok("monitorInstance", { params: { instanceId } });
  assert.match(String(monitored.nodes[3]?.result), /^an output of 1048578 bytes: see GET .*result\?task=/);
});
