/** Spec §12.4: what the console makes of a history. It is compared with what the engine itself says. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { codeModel, type CodeWords } from "../../console/src/graph/code-model.ts";
import { dagModel } from "../../console/src/graph/dag-model.ts";
import type { GraphTexts } from "../../console/src/graph/task-detail.ts";
import { layoutGraph } from "../../console/src/graph/layout.ts";
import { Replay } from "../../console/src/instance/replay.ts";
import { criticalPath, timelineOf } from "../../console/src/timeline/attempts.ts";
import type { InstanceView, Topology } from "../../console/src/api/model.ts";
import { ServerRig } from "../server/rig.ts";

async function ended(rig: ServerRig, workflow: string): Promise<string> {
  const { instanceId } = await rig.ok("triggerWorkflow", { params: { id: workflow }, body: { size: 2 } });
  await rig.end(instanceId);
  return instanceId;
}

function statuses({ tasks }: Pick<InstanceView, "tasks">): string[] {
  return tasks.map(({ name, status, attempt }) => `${name} ${status} ${attempt}`);
}

const words: CodeWords = {
  start: "start",
  started: "",
  end: "end",
  timer: "timer",
  until: (time) => time,
  fired: "",
  canceled: "",
  event: (name) => `event ${name}`,
  update: (name) => `update ${name}`,
  came: "",
  waitsFor: "",
  generation: (number) => `generation ${number}`,
  times: (name, count) => `${name} × ${count}`,
  attempt: (attempt) => `×${attempt}`,
};

const waits: GraphTexts["waits"] = {
  "workflow-limit": "",
  "instance-limit": "",
  outside: "outside",
  paused: "",
  retry: "retry",
  "no-worker": "no worker",
  domain: "",
  slot: "",
  isolation: "",
  engine: "",
};

describe("the console's reading of a history", () => {
  test("12.4 folds a DAG to what the engine says at its end, and to less before", async (t) => {
    const rig = await ServerRig.start(t);
    for (const workflow of ["hello", "fails", "pauses"]) {
      const id = await ended(rig, workflow);
      const live = await rig.ok("getInstance", { params: { id } });
      const topology: Topology = await rig.ok("monitorTopology", { params: { instanceId: id } });
      const { items: turns } = await rig.ok("getHistory", { params: { id } });
      const replay = new Replay(turns, live, topology);
      const last = replay.at(turns.length - 1);
      assert.deepEqual(statuses(last.view), statuses(live), workflow);
      assert.deepEqual([last.view.status, last.view.endedAt], [live.status, live.endedAt]);
      assert.deepEqual(last.context, await rig.ok("getContext", { params: { id } }));
      const first = replay.at(0);
      assert.equal(first.view.status, "Running");
      assert.ok(first.view.tasks.every(({ status }) => status === "Pending"));
      assert.deepEqual(statuses(replay.at(turns.length - 1).view), statuses(live), "forth again");
    }
  });

  test("12.4 draws a DAG with the edges that were taken", async (t) => {
    const rig = await ServerRig.start(t);
    const id = await ended(rig, "fails");
    const live = await rig.ok("getInstance", { params: { id } });
    const topology: Topology = await rig.ok("monitorTopology", { params: { instanceId: id } });
    const model = dagModel(live, topology, {
      words: { subTasks: String, attempt: String, until: String },
      waits,
      clock: String,
    });
    assert.deepEqual(
      model.nodes.map(({ label, status }) => [label, status]),
      [
        ["greet", "Success"],
        ["stumble", "Failed"],
      ],
    );
    assert.deepEqual(model.edges, [{ from: "greet", to: "stumble", state: "taken" }]);
  });

  test("12.4 draws code as its history tells it: what arrived leads to the steps of its turn", async (t) => {
    const rig = await ServerRig.start(t);
    const { instanceId: id } = await rig.ok("triggerWorkflow", { params: { id: "talk" }, body: {} });
    await rig.ok("raiseEvent", { params: { id, name: "go" }, body: "now" });
    await rig.end(id);
    const live = await rig.ok("getInstance", { params: { id } });
    const { items: turns } = await rig.ok("getHistory", { params: { id } });
    const model = codeModel(live, turns, { words, waits, clock: String });
    assert.deepEqual(model.nodes.map(({ label }) => label).toSorted(), ["end", "event go", "say", "start"]);
    assert.ok(model.edges.some(({ from, to, state }) => from === "start" && to === "task:0" && state === "taken"));
    assert.ok(model.edges.some(({ to }) => to === "end"));
  });

  test("12.4 has a row per task, its attempts in order, and the way that took longest", async (t) => {
    const rig = await ServerRig.start(t);
    const id = await ended(rig, "pauses");
    const live = await rig.ok("getInstance", { params: { id } });
    const { items: turns } = await rig.ok("getHistory", { params: { id } });
    const timeline = timelineOf(live, turns);
    assert.deepEqual(
      timeline.rows.map(({ name, bars }) => [name, bars.at(-1)?.kind, bars.at(-1)?.status]),
      [
        ["rest", "run", "Success"],
        ["after", "run", "Success"],
      ],
    );
    assert.equal(criticalPath(timeline.rows).size, 2);
    assert.equal(timeline.to, live.endedAt);
  });
});

describe("the layout", () => {
  const view = { width: 686, height: 528 };
  const chain = (size: number): { ids: string[]; edges: { from: string; to: string }[] } => ({
    ids: Array.from({ length: size }, (_, number) => `n${number}`),
    edges: Array.from({ length: size - 1 }, (_, number) => ({ from: `n${number}`, to: `n${number + 1}` })),
  });

  test("12.4 goes from left to right, for few nodes and for many, and overlaps nothing", () => {
    for (const size of [10, 1000]) {
      const { ids, edges } = chain(size);
      const { x, node } = layoutGraph(ids, edges, view);
      for (let number = 1; number < size; number++) assert.ok((x[number] ?? 0) > (x[number - 1] ?? 0) + node.width);
    }
    const fan = Array.from({ length: 500 }, (_, number) => `n${number}`);
    const { y } = layoutGraph(
      fan,
      fan.slice(1).map((to) => ({ from: "n0", to })),
      view,
    );
    assert.equal(new Set(y.slice(1)).size, 499);
  });
});
