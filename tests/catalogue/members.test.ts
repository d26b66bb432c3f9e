/** Several members on one store: each has what any of them has saved, and one of them has the folder. */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { DocumentLock } from "../../src/catalogue/document-lock.ts";
import { inProcessBus, type Store } from "../../src/index.ts";
import { memoryStore, TestClock } from "../../src/testing.ts";
import { dag, House, type HouseOptions, standIn } from "./rig.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { eventually } from "../support/until.ts";

/** Two members, each with a definition folder of its own or the same one. */
async function openPair(
  t: TestContext,
  folders: { first?: string; second?: string } = {},
  options: Partial<HouseOptions> = {},
): Promise<[House, House]> {
  const store = memoryStore();
  const bus = inProcessBus();
  const open = (storage: Store, folder: string | undefined): Promise<House> => {
    const own = { store: storage, ...(folder !== undefined && { folder }) };
    return House.open(t, { ...own, pace: 10, engine: { cluster: { bus, shards: 4 } }, ...options });
  };
  const first = await open(store, folders.first);
  return [first, await open(store.connect(), folders.second)];
}

describe("several members", () => {
  test("hear of each other's saves, schedules and deletions", async (t) => {
    const [first, second] = await openPair(t);
    await first.catalogue.create({ name: "etl", spec: dag("one"), cronExpr: "0 * * * *", isScheduled: true });
    await eventually(() => second.checkInForce().then((entries) => assert.equal(entries.length, 1)));
    const { version } = await second.catalogue.update("etl", { spec: dag("two"), cronExpr: "5 * * * *" });
    await eventually(() => first.checkInForce().then(([entry]) => assert.equal(entry?.version, version)));
    await first.catalogue.delete("etl");
    await eventually(() => second.checkInForce().then((entries) => assert.deepEqual(entries, [])));
    assert.equal(second.engine.findWorkflow("etl"), undefined);
  });

  test("find out by themselves what they were not told of", async (t) => {
    const appendLines = (): Promise<never> => Promise.reject(new Error("it has just died"));
    const wrap: HouseOptions["wrap"] = ({ engine, store }) => ({ engine, store: standIn(store, { appendLines }) });
    const [first, second] = await openPair(t, {}, { pace: 100, wrap });
    await first.catalogue.create({ name: "etl", spec: dag("one") });
    await eventually(() => second.checkInForce().then((entries) => assert.equal(entries.length, 1)));
    const { version } = await first.catalogue.update("etl", { spec: dag("two") });
    await eventually(() => second.checkInForce().then(([entry]) => assert.equal(entry?.version, version)));
    await first.catalogue.delete("etl");
    await eventually(() => second.checkInForce().then((entries) => assert.deepEqual(entries, [])));
    assert.ok(first.lines.find("warn", /could not be notified of a saved workflow/));
  });

  test("saving the same at once do not lose a save", async (t) => {
    const houses = await openPair(t);
    await houses[0].catalogue.create({ name: "etl", spec: dag("none") });
    const saves = Array.from({ length: 10 }, (_, index) =>
      (houses[index % 2] as House).catalogue.update("etl", { spec: dag(`${index}`) }),
    );
    const kept = (await Promise.allSettled(saves)).filter(({ status }) => status === "fulfilled");
    assert.equal((await houses[1].catalogue.versions("etl")).length, kept.length + 1);
    for (const house of houses) await eventually(() => house.checkInForce().then(() => undefined));
  });

  test("one of them has the folder, and another takes over when it leaves", async (t) => {
    const path = temporaryFolder(t);
    const [first, second] = await openPair(t, { first: path, second: path });
    const file = join(path, "etl/dag-spec.json");
    await second.catalogue.create({ name: "etl", spec: dag("one") });
    await eventually(() => assert.deepEqual(JSON.parse(readFileSync(file, "utf8")), dag("one")));
    await second.catalogue.update("etl", { spec: dag("two") });
    await eventually(() => assert.deepEqual(JSON.parse(readFileSync(file, "utf8")), dag("two")));
    await first.stop();
    writeFileSync(file, JSON.stringify(dag("three")));
    await eventually(async () => assert.deepEqual((await second.catalogue.get("etl")).spec, dag("three")));
    assert.deepEqual(
      (await second.catalogue.versions("etl")).map(({ operation }) => operation),
      ["Edit", "Update", "Create"],
    );
    await second.checkInForce();
  });

  test("what one deletes and makes anew is not undone by the folder of another", async (t) => {
    const path = temporaryFolder(t);
    const [, second] = await openPair(t, { first: path, second: path });
    const file = join(path, "etl/dag-spec.json");
    await second.catalogue.create({ name: "etl", spec: dag("one") });
    await eventually(() => assert.deepEqual(JSON.parse(readFileSync(file, "utf8")), dag("one")));
    await second.catalogue.delete("etl");
    await second.catalogue.create({ name: "etl", spec: dag("two") });
    await eventually(() => assert.deepEqual(JSON.parse(readFileSync(file, "utf8")), dag("two")));
    assert.equal((await second.catalogue.versions("etl")).length, 1);
  });

  test("a folder that is out of date is brought up to date by whoever takes over, and undoes nothing", async (t) => {
    const folders = { first: temporaryFolder(t), second: temporaryFolder(t) };
    const stale = new House({ store: memoryStore(), folder: folders.second });
    await stale.start();
    await stale.stop();
    const [first, second] = await openPair(t, folders);
    await first.catalogue.create({ name: "etl", spec: dag("one") });
    await first.stop();
    const file = join(folders.second, "etl/dag-spec.json");
    await eventually(() => assert.deepEqual(JSON.parse(readFileSync(file, "utf8")), dag("one")));
    mkdirSync(join(folders.second, "more"));
    writeFileSync(join(folders.second, "more/dag-spec.json"), JSON.stringify(dag("two")));
    await eventually(async () => assert.equal((await second.catalogue.list({ limit: 9 })).items.length, 2));
  });

  test("a lock is one member's, until it is released or stands still", async () => {
    const store = memoryStore();
    await store.open();
    const clock = new TestClock();
    const lockOf = (): DocumentLock => new DocumentLock({ store, clock, name: "thing" });
    const [one, other] = [lockOf(), lockOf()];
    assert.ok(await one.take());
    for (let seconds = 0; seconds < 60; seconds += 10) {
      assert.ok(await one.take());
      assert.ok(!(await other.take()));
      await clock.advance(10_000);
    }
    assert.ok(one.isHeld);
    await one.release();
    assert.ok(!one.isHeld);
    assert.ok(await other.take());
    assert.ok(!(await one.take()));
    await clock.advance(25_000);
    assert.ok(!other.isHeld, "it has stopped before anybody begins");
    assert.ok(!(await one.take()));
    await clock.advance(5000);
    assert.ok(await one.take());
    assert.ok(!(await other.take()));
  });
});
