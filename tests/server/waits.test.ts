/** Spec §5.8, §12.1, §12.2: what instances wait for, over HTTP and push. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../support/until.ts";
import { ServerRig } from "./rig.ts";

test("5.8 an instance and the list say what is waited for, and who has paused it", async (t) => {
  const rig = await ServerRig.start(t);
  const { instanceId: id } = await rig.ok("triggerWorkflow", { params: { id: "talk" }, body: {} });
  const of = { params: { id } };
  await until(async () => (await rig.ok("getInstance", of)).waiting[0]?.kind === "event");
  const { waiting, waitingTotal, untakenEvents } = await rig.ok("getInstance", of);
  const [first] = waiting;
  assert.ok(first?.kind === "event");
  const { since, line, ...wait } = first;
  assert.deepEqual(wait, { kind: "event", text: 'event "go"', name: "go" });
  assert.match(JSON.stringify(line), /sample-app\.ts","line":\d+/);
  assert.deepEqual([typeof since, waitingTotal, untakenEvents], ["number", 1, []]);

  await rig.ok("raiseEvent", { params: { id, name: "Go" }, body: 1 });
  const [untaken] = (await rig.ok("getInstance", of)).untakenEvents;
  assert.deepEqual([untaken?.name, untaken?.count], ["Go", 1]);

  await rig.ok("pauseInstance", { ...of, body: { reason: "db move" } });
  const [paused] = (await rig.ok("getInstance", of)).waiting;
  assert.ok(paused?.kind === "instance" && paused.reason === "paused");
  assert.deepEqual([typeof paused.by, paused.note], ["string", "db move"]);

  const audited = await rig.ok("listAudit", { query: { target: id } });
  assert.deepEqual(
    audited.items.map(({ what, target }) => [what, target]),
    [
      ["pauseInstance", id],
      ["raiseEvent", `${id}/Go`],
    ],
  );

  const ended = await rig.ok("triggerWorkflow", { params: { id: "hello" }, body: {} });
  await rig.end(ended.instanceId);
  const { items } = await rig.ok("listInstances", { query: { waits: true } });
  const rows = items.map(({ instanceId, waiting: listed, waitingTotal: total }) => [
    instanceId,
    listed?.map(({ kind }) => kind),
    total,
  ]);
  assert.deepEqual(rows, [
    [ended.instanceId, undefined, undefined],
    [id, ["instance", "event"], 2],
  ]);
  assert.ok((await rig.ok("listInstances")).items.every((item) => item.waiting === undefined));
  assert.deepEqual(rig.problems, []);
});
