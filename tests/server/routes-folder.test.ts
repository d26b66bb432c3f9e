/** Spec §12.3 over HTTP: what is wrong with a definition's file is seen where the workflow is. */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ServerRig } from "./rig.ts";
import { twoNodes } from "./sample-app.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

test("12.3 a workflow shows what is wrong with its file, and so does the one it has not become", async (t) => {
  const folder = temporaryFolder(t);
  const write = (name: string, text: string): void => {
    mkdirSync(join(folder, name), { recursive: true });
    writeFileSync(join(folder, name, "dag-spec.json"), text);
  };
  write("two", JSON.stringify(twoNodes));
  write("broken", '{\n  "nodes": [,]\n}');
  const rig = await ServerRig.start(t, { workflows: folder });
  const params = { id: "two" };
  assert.equal((await rig.ok("getWorkflow", { params })).warning, null);
  const unknown = { status: 404, code: "WORKFLOW_UNKNOWN" };
  const { message } = await rig.refused("getWorkflow", { params: { id: "broken" } }, unknown);
  assert.match(message ?? "", /broken\/dag-spec\.json:2:13 {2}/);
  await rig.restart();
  write("two", "{");
  await rig.restart({ workflows: folder });
  assert.match((await rig.ok("getWorkflow", { params })).warning ?? "", /two\/dag-spec\.json:1:2 {2}/);
  assert.equal((await rig.ok("getWorkflow", { params })).nodes, 2);
  // Paths of the server's disk are for admins.
  assert.ok((await rig.ok("getWorkflow", { params })).warning?.includes(folder));
  const { token: admin } = await rig.ok("createToken", { body: { name: "ann", role: "admin" } });
  const { token } = await rig.ok("createToken", { token: admin, body: { name: "vic", role: "viewer" } });
  const seen = await rig.ok("getWorkflow", { params, token });
  assert.match(seen.warning ?? "", /two\/dag-spec\.json:1:2 {2}/);
  assert.ok(!seen.warning?.includes(folder));
  const refused = await rig.refused("getWorkflow", { params: { id: "broken" }, token }, unknown);
  assert.ok(!refused.message?.includes(folder));
});

test("12.3 a file that was made or edited by hand is a line of the audit log", async (t) => {
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, "two"));
  writeFileSync(join(folder, "two", "dag-spec.json"), JSON.stringify(twoNodes));
  const rig = await ServerRig.start(t, { workflows: folder });
  await rig.restart();
  writeFileSync(join(folder, "two", "dag-spec.json"), JSON.stringify({ ...twoNodes, timeoutSeconds: 7 }));
  await rig.restart({ workflows: folder });
  const { items } = await rig.ok("listAudit", { query: { who: "anonymous" } });
  assert.deepEqual(
    items.map(({ what, target, address }) => [what, target, address]),
    [
      ["updateWorkflow", "two", "file"],
      ["createWorkflow", "two", "file"],
    ],
  );
});
