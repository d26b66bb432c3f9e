/** Definitions as files: spec §12.3. */
import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { type DagSpec, defineWorkflow, type Store } from "../../src/index.ts";
import { sqlite } from "../../src/sqlite.ts";
import { memoryStore } from "../../src/testing.ts";
import { dag, House, Plug } from "./rig.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { eventually } from "../support/until.ts";

/** A folder of definitions, as somebody with an editor sees it. */
class Desk {
  readonly path: string;

  constructor(t: TestContext) {
    this.path = join(temporaryFolder(t), "definitions");
    mkdirSync(this.path);
  }

  file(name: string): string {
    return join(this.path, name, "dag-spec.json");
  }

  write(name: string, content: DagSpec | string): void {
    mkdirSync(join(this.path, name), { recursive: true });
    writeFileSync(this.file(name), typeof content === "string" ? content : JSON.stringify(content));
  }

  read(name: string): unknown {
    return JSON.parse(readFileSync(this.file(name), "utf8"));
  }
}

async function paramsOf(house: House, name: string): Promise<unknown> {
  const { spec } = await house.catalogue.get(name);
  return JSON.parse(spec.nodes[1]?.nodeParams ?? "null");
}

function operations(house: House, name: string): Promise<string[]> {
  return house.catalogue.versions(name).then((saves) => saves.map(({ operation }) => operation));
}

describe("definitions as files", () => {
  test("are loaded at the start, and what lies beside them is left alone", async (t) => {
    const desk = new Desk(t);
    desk.write("etl", dag("one"));
    const beside = { "metadata.json": "{ not ours", "task-configs/a.yaml": "a: 1" };
    mkdirSync(join(desk.path, "etl/task-configs"));
    for (const [file, text] of Object.entries(beside)) writeFileSync(join(desk.path, "etl", file), text);
    mkdirSync(join(desk.path, "nothing-here"));
    writeFileSync(join(desk.path, "README.md"), "hello");
    const house = await House.open(t, { store: memoryStore(), folder: desk.path });
    assert.equal(await paramsOf(house, "etl"), "one");
    await house.checkInForce();
    await house.catalogue.update("etl", { spec: dag("two") });
    for (const [file, text] of Object.entries(beside)) {
      assert.equal(readFileSync(join(desk.path, "etl", file), "utf8"), text);
    }
    assert.deepEqual(house.folder?.problems(), []);
  });

  test("are written pretty-printed when saved, and go when deleted", async (t) => {
    const desk = new Desk(t);
    const { catalogue } = await House.open(t, { store: memoryStore(), folder: desk.path });
    await catalogue.create({ name: "etl", spec: dag("one") });
    assert.equal(readFileSync(desk.file("etl"), "utf8"), `${JSON.stringify(dag("one"), undefined, 2)}\n`);
    await catalogue.update("etl", { spec: dag("two") });
    assert.deepEqual(desk.read("etl"), dag("two"));
    writeFileSync(join(desk.path, "etl/metadata.json"), "{}");
    await catalogue.delete("etl");
    assert.deepEqual(readdirSync(join(desk.path, "etl")), ["metadata.json"]);
    await delay(300);
    assert.deepEqual((await catalogue.list({ limit: 10 })).items, []);
  });

  test("an edit is a new version, whichever way an editor writes", async (t) => {
    const desk = new Desk(t);
    desk.write("etl", dag("one"));
    const house = await House.open(t, { store: sqlite(":memory:"), folder: desk.path });
    const soon = (params: string): Promise<void> =>
      eventually(async () => assert.equal(await paramsOf(house, "etl"), params));

    desk.write("etl", dag("in place"));
    await soon("in place");

    writeFileSync(join(desk.path, "etl/.swp"), JSON.stringify(dag("renamed")));
    renameSync(join(desk.path, "etl/.swp"), desk.file("etl"));
    await soon("renamed");

    rmSync(desk.file("etl"));
    await delay(20);
    desk.write("etl", dag("deleted first"));
    await soon("deleted first");

    const text = JSON.stringify(dag("in two halves"));
    writeFileSync(desk.file("etl"), text.slice(0, 40));
    await delay(20);
    writeFileSync(desk.file("etl"), text);
    await soon("in two halves");

    rmSync(join(desk.path, "etl"), { recursive: true });
    desk.write("etl", dag("folder and all"));
    await soon("folder and all");

    desk.write("new", dag("another"));
    await eventually(async () => assert.equal(await paramsOf(house, "new"), "another"));
    assert.deepEqual(await operations(house, "new"), ["Create"]);
    assert.ok((await operations(house, "etl")).slice(0, -1).every((operation) => operation === "Edit"));
    await house.checkInForce();
  });

  test("another layout is no version", async (t) => {
    const desk = new Desk(t);
    const house = await House.open(t, { store: memoryStore(), folder: desk.path });
    await house.catalogue.create({ name: "etl", spec: dag("one") });
    const { nodes, edges } = dag("one");
    const text = JSON.stringify({ edges, nodes }, undefined, "\t");
    desk.write("etl", text);
    await delay(400);
    assert.deepEqual(await operations(house, "etl"), ["Create"]);
    assert.equal(readFileSync(desk.file("etl"), "utf8"), text);
  });

  test("a broken file is shown with its place, and the last good version stays", async (t) => {
    const desk = new Desk(t);
    const house = await House.open(t, { store: memoryStore(), folder: desk.path });
    await house.catalogue.create({ name: "etl", spec: dag("one") });
    desk.write("etl", '{\n  "nodes": [\n    { "nodeId": 1 }\n    { "nodeId": 2 }\n  ]\n}');
    await eventually(() => {
      const [problem] = house.folder?.problems() ?? [];
      assert.deepEqual([problem?.file, problem?.line, problem?.column], [desk.file("etl"), 4, 5]);
      assert.match(problem?.problem ?? "", /expected ","/);
    });
    assert.ok(house.lines.find("error", /last valid version/));
    assert.equal(await paramsOf(house, "etl"), "one");
    assert.match(house.catalogue.warningOf("etl") ?? "", /etl\/dag-spec\.json:4:5 {2}.*expected ","/);

    const saved = await house.catalogue.update("etl", { spec: dag("two") });
    assert.match(saved.warning ?? "", /left as it is/);
    assert.match(readFileSync(desk.file("etl"), "utf8"), /"nodeId": 2 }\n {2}\]/);

    desk.write("etl", '{\n"nodes": [{ "nodeId": 1 }],\n"edges": [\n{ "from": 1, "to": 3 }]}');
    await eventually(() => assert.equal(house.folder?.problems()[0]?.line, 4));
    desk.write("etl", dag("three"));
    await eventually(async () => assert.equal(await paramsOf(house, "etl"), "three"));
    assert.deepEqual(house.folder?.problems(), []);
    assert.equal(house.catalogue.warningOf("etl"), null);
    assert.deepEqual(await operations(house, "etl"), ["Edit", "Update", "Create"]);
  });

  test("a definition that could never run is no version, and its file says why", async (t) => {
    const desk = new Desk(t);
    const house = await House.open(t, { store: memoryStore(), folder: desk.path });
    await house.catalogue.create({ name: "etl", spec: dag("one") });
    desk.write("etl", { nodes: [{ nodeId: 1, nodeName: "which", nodeType: 2, nodeParams: "1 +" }] });
    await eventually(() => assert.match(house.catalogue.warningOf("etl") ?? "", /task "which".*"1 \+"/s));
    assert.equal(await paramsOf(house, "etl"), "one");
    desk.write("etl", dag("two"));
    await eventually(async () => assert.equal(await paramsOf(house, "etl"), "two"));
    assert.equal(house.catalogue.warningOf("etl"), null);
  });

  test("what cannot be read at all, and names that cannot be, are shown too", async (t) => {
    const desk = new Desk(t);
    mkdirSync(join(desk.path, "folder", "dag-spec.json"), { recursive: true });
    desk.write("bytes", "");
    writeFileSync(desk.file("bytes"), Buffer.from([0xff, 0xfe, 0x7b]));
    desk.write("large", `[${"1,".repeat(9_000_000)}x`);
    desk.write("nul", dag("one"));
    desk.write("own", dag("one"));
    const own = defineWorkflow("own", () => Promise.resolve(1));
    const house = await House.open(t, { store: memoryStore(), folder: desk.path, engine: { workflows: [own] } });
    const problems = house.folder?.problems().map(({ problem }) => problem) ?? [];
    for (const part of [/not UTF-8/, /more than 16777216 bytes/, /not a file/, /device/, /of its own/]) {
      assert.ok(
        problems.some((problem) => part.test(problem)),
        `${part} in ${problems.join("\n")}`,
      );
    }
    assert.equal(problems.length, 5);
    assert.deepEqual((await house.catalogue.list({ limit: 10 })).items, []);
  });

  test("links are neither read nor written, wherever they lead", async (t) => {
    const desk = new Desk(t);
    const outside = temporaryFolder(t);
    writeFileSync(join(outside, "dag-spec.json"), JSON.stringify(dag("outside")));
    symlinkSync(outside, join(desk.path, "folder-out"));
    mkdirSync(join(desk.path, "file-out"));
    symlinkSync(join(outside, "dag-spec.json"), desk.file("file-out"));
    desk.write("real", dag("inside"));
    mkdirSync(join(desk.path, "file-in"));
    symlinkSync(desk.file("real"), desk.file("file-in"));
    symlinkSync("loop", join(desk.path, "loop"));
    const house = await House.open(t, { store: memoryStore(), folder: desk.path });
    const { items } = await house.catalogue.list({ limit: 10 });
    assert.deepEqual(
      items.map(({ name }) => name),
      ["real"],
    );
    assert.equal(house.folder?.problems().length, 4);

    rmSync(join(outside, "dag-spec.json"));
    const saved = await house.catalogue.create({ name: "folder-out", spec: dag("one") });
    assert.match(saved.warning ?? "", /folder-out" is not a folder but a link/);
    assert.deepEqual(readdirSync(outside), []);
  });

  test("edited while nobody was there: the edit counts. Saved meanwhile: the save counts", async (t) => {
    const desk = new Desk(t);
    const store = memoryStore();
    const first = await House.open(t, { store, folder: desk.path });
    await first.catalogue.create({ name: "edited", spec: dag("one") });
    await first.catalogue.create({ name: "saved", spec: dag("one") });
    await first.catalogue.create({ name: "back", spec: dag("one") });
    await first.catalogue.update("back", { spec: dag("two") });
    await first.stop();
    desk.write("edited", dag("two"));
    desk.write("back", dag("one"));
    const without = await House.open(t, { store });
    await without.catalogue.update("saved", { spec: dag("two") });
    await without.stop();
    const second = await House.open(t, { store, folder: desk.path });
    assert.equal(await paramsOf(second, "edited"), "two");
    assert.equal(await paramsOf(second, "saved"), "two");
    assert.equal(await paramsOf(second, "back"), "one");
    assert.deepEqual(desk.read("saved"), dag("two"));
    assert.deepEqual(desk.read("back"), dag("one"));
  });

  test("a new database takes the folder as it is, and an old one does not undo it", async (t) => {
    const desk = new Desk(t);
    const old = memoryStore();
    const first = await House.open(t, { store: old, folder: desk.path });
    await first.catalogue.create({ name: "etl", spec: dag("one") });
    await first.catalogue.update("etl", { spec: dag("two") });
    await first.stop();
    const second = await House.open(t, { store: memoryStore(), folder: desk.path });
    assert.equal(await paramsOf(second, "etl"), "two");
    await second.catalogue.update("etl", { spec: dag("three") });
    await second.stop();
    const third = await House.open(t, { store: old, folder: desk.path });
    assert.equal(await paramsOf(third, "etl"), "three");
    assert.deepEqual(desk.read("etl"), dag("three"));
  });

  test("a crash after each step of a save: file and catalogue are alike again", async (t) => {
    for (let steps = 1, isCut = true; isCut; steps++) {
      const desk = new Desk(t);
      const store: Store = sqlite(join(temporaryFolder(t), "heddle.db"));
      const plug = new Plug();
      const first = await House.open(t, { store, folder: desk.path, clock: plug.clock, wrap: plug.wrap });
      await first.catalogue.create({ name: "etl", spec: dag("one") });
      plug.pullAfter(steps);
      isCut = (await plug.race(first.catalogue.update("etl", { spec: dag("two") }))) === "pulled";
      await (isCut ? first.engine.stop() : first.stop());
      const second = await House.open(t, { store, folder: desk.path });
      const { spec } = await second.catalogue.get("etl");
      assert.deepEqual(spec, dag(steps === 1 ? "one" : "two"));
      assert.deepEqual(desk.read("etl"), spec);
      assert.ok((await operations(second, "etl")).length <= 2);
      await second.stop();
    }
  });

  test("a crash after each step of a deletion: both are there, or neither", async (t) => {
    for (let steps = 1, isCut = true; isCut; steps++) {
      const desk = new Desk(t);
      const store: Store = sqlite(join(temporaryFolder(t), "heddle.db"));
      const plug = new Plug();
      const first = await House.open(t, { store, folder: desk.path, clock: plug.clock, wrap: plug.wrap });
      const { id } = await first.catalogue.create({ name: "etl", spec: dag("one") });
      plug.pullAfter(steps);
      isCut = (await plug.race(first.catalogue.delete("etl"))) === "pulled";
      await (isCut ? first.engine.stop() : first.stop());
      const second = await House.open(t, { store, folder: desk.path });
      const { items } = await second.catalogue.list({ limit: 9 });
      assert.deepEqual(
        items.map((entry) => entry.id),
        existsSync(desk.file("etl")) ? [id] : [],
      );
      await second.stop();
    }
  });

  test("a file that was deleted by hand comes back, for it is not how a workflow is deleted", async (t) => {
    const desk = new Desk(t);
    const store = memoryStore();
    const first = await House.open(t, { store, folder: desk.path });
    await first.catalogue.create({ name: "etl", spec: dag("one") });
    await first.stop();
    rmSync(join(desk.path, "etl"), { recursive: true });
    await House.open(t, { store, folder: desk.path });
    assert.ok(existsSync(desk.file("etl")));
  });
});
