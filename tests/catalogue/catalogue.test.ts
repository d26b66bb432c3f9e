/** Workflows that are saved rather than part of a program: spec §12.1, §12.3. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { z } from "zod";
import { type DagSpec, defineJob, defineWorkflow, EngineError, type Store, Workflow } from "../../src/index.ts";
import { sqlite } from "../../src/sqlite.ts";
import { memoryStore } from "../../src/testing.ts";
import { says } from "../engine/rig.ts";
import { dag, House, type HouseOptions, standIn } from "./rig.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { eventually } from "../support/until.ts";

const stores: Readonly<Record<string, (t: TestContext) => Store>> = {
  "in memory": () => memoryStore(),
  "on SQLite": (t) => sqlite(join(temporaryFolder(t), "heddle.db")),
};

const hourly = "0 * * * *";

function nesting(nodeId: number, workflowName: string): DagSpec["nodes"][number] {
  return { nodeId, nodeName: `in ${nodeId}`, nodeType: 3, workflowName };
}

for (const [where, openStore] of Object.entries(stores)) {
  describe(`the catalogue ${where}`, () => {
    test("what is saved can be started by name, and comes back as it was given", async (t) => {
      const { catalogue, engine } = await House.open(t, { store: openStore(t) });
      const spec = { ...dag("one"), layout: { zoom: 2 } };
      const saved = await catalogue.create({ name: "etl", spec, by: "ann" });
      assert.equal(saved.warning, null);
      const entry = await catalogue.get("etl");
      assert.deepEqual(entry.spec, spec);
      assert.deepEqual(await catalogue.get(saved.id), entry);
      assert.equal(entry.version, Workflow.fromJSON(spec, { name: "etl" }).version);
      const { id, name, version, cronExpr, timeZone, isScheduled, updatedBy } = entry;
      assert.deepEqual([id, name, version], [saved.id, "etl", saved.version]);
      assert.deepEqual([cronExpr, timeZone, isScheduled, updatedBy], [null, null, false, "ann"]);
      const workflow = engine.findWorkflow("etl");
      assert.ok(workflow instanceof Workflow);
      const run = await engine.submitWorkflow(workflow);
      assert.deepEqual(await run.result(), { second: "one" });
    });

    test("a name that is taken, by an entry or by the program", async (t) => {
      const own = defineWorkflow("own", () => Promise.resolve(1));
      const { catalogue } = await House.open(t, { store: openStore(t), engine: { workflows: [own] } });
      await catalogue.create({ name: "etl", spec: dag("one") });
      await assert.rejects(catalogue.create({ name: "etl", spec: dag("two") }), says("WORKFLOW_DUPLICATE", '"etl"'));
      await assert.rejects(catalogue.create({ name: "own", spec: dag("two") }), says("WORKFLOW_DUPLICATE", '"own"'));
      await assert.rejects(catalogue.create({ name: "../x", spec: dag("two") }), says("WORKFLOW_INVALID"));
    });

    test("what is wrong is refused before anything is written", async (t) => {
      const store = openStore(t);
      const { catalogue } = await House.open(t, { store });
      const refused: readonly [object, Parameters<typeof says>][] = [
        [{ spec: { nodes: [] } }, ["WORKFLOW_EMPTY"]],
        [{ spec: { nodes: [{ nodeId: 1 }], edges: [{ from: 1, to: 1 }] } }, ["DEPENDENCY_SELF"]],
        [{ spec: 7 }, ["WORKFLOW_INVALID"]],
        [{ spec: null }, ["WORKFLOW_INVALID"]],
        [{ spec: wide(10_001, 0) }, ["WORKFLOW_INVALID", "10001 nodes; a saved definition has at most 10000"]],
        [{ spec: wide(400, 50_001) }, ["WORKFLOW_INVALID", "50001 edges; a saved definition has at most 50000"]],
        // What is only missing, and comes first, does not hide what is wrong.
        [
          {
            spec: {
              nodes: [
                { nodeId: 1, jobName: "later" },
                { nodeId: 2, nodeType: 2, nodeParams: "1 +" },
              ],
            },
          },
          ["DECISION_INVALID"],
        ],
        [{ spec: { nodes: [nesting(1, "nobody"), nesting(2, "etl")] } }, ["NESTING_TOO_DEEP", "etl → etl"]],
        [{ cronExpr: "61 * * * *" }, ["SCHEDULE_INVALID", "minute"]],
        [{ cronExpr: hourly, timeZone: "Mars/Base" }, ["SCHEDULE_INVALID", "Mars/Base"]],
        [{ isScheduled: true }, ["SCHEDULE_INVALID"]],
      ];
      for (const [given, error] of refused) {
        await assert.rejects(catalogue.create({ name: "etl", spec: dag("one"), ...given }), says(...error));
      }
      assert.deepEqual(await store.listDefinitions("etl", { limit: 10 }), []);
      assert.deepEqual(await store.listDocuments("workflow", { limit: 10 }), []);
      await assert.rejects(catalogue.get("etl"), says("WORKFLOW_UNKNOWN", '"etl"'));
      for (const call of [catalogue.update("etl", {}), catalogue.delete("etl"), catalogue.versions("etl")]) {
        await assert.rejects(call, says("WORKFLOW_UNKNOWN"));
      }
    });

    test("the largest definition that may be saved is saved, compared and brought back", async (t) => {
      const { catalogue } = await House.open(t, { store: openStore(t) });
      const { version } = await catalogue.create({ name: "etl", spec: wide(10_000, 50_000) });
      await catalogue.update("etl", { spec: wide(10_000, 49_999) });
      assert.deepEqual(
        (await catalogue.diff("etl", version)).map(({ op, path }) => `${op} ${path}`),
        ["removed edges/6->26"],
      );
      assert.equal((await catalogue.rollBack("etl", version)).version, version);
    });

    test("a job that is not there is a warning, and it is in force once the job is", async (t) => {
      const { catalogue, engine } = await House.open(t, { store: openStore(t) });
      const saved = await catalogue.create({
        name: "etl",
        spec: dag("one", "later"),
        cronExpr: hourly,
        isScheduled: true,
      });
      assert.match(saved.warning ?? "", /job "later"/);
      assert.equal(catalogue.warningOf("etl"), saved.warning);
      engine.registerJobFunction("later", () => 1);
      assert.equal((await catalogue.update("etl", { isScheduled: true })).warning, null);
      assert.equal((await engine.schedules.get("etl")).spec.workflow, "etl");
    });

    test("versions, their differences, and the way back", async (t) => {
      const { catalogue, engine } = await House.open(t, { store: openStore(t) });
      const one = await catalogue.create({ name: "etl", spec: dag("one"), by: "ann" });
      const two = await catalogue.update("etl", { spec: dag("two"), by: "bob" });
      const same = await catalogue.update(one.id, { spec: dag("two"), by: "eve" });
      assert.equal(same.version, two.version);
      assert.deepEqual(await catalogue.diff("etl", one.version), [
        { op: "changed", path: "nodes/2/nodeParams", before: '"one"', after: '"two"' },
      ]);
      const back = await catalogue.rollBack("etl", one.version, "cas");
      assert.equal(back.version, one.version);
      assert.deepEqual(await catalogue.diff("etl", one.version), []);
      assert.deepEqual((await catalogue.diff("etl", two.version, one.version)).length, 1);
      assert.deepEqual(
        (await catalogue.versions("etl")).map(({ version, by, operation }) => [version, by, operation]),
        [
          [one.version, "cas", "Roll back"],
          [two.version, "bob", "Update"],
          [one.version, "ann", "Create"],
        ],
      );
      assert.equal(engine.listWorkflows()[0]?.version, one.version);
      await assert.rejects(catalogue.rollBack("etl", "no-such"), says("WORKFLOW_UNKNOWN", '"no-such"'));
      await assert.rejects(catalogue.diff("etl", "no-such"), says("WORKFLOW_UNKNOWN", '"no-such"'));
    });

    test("a change on top of a version that is not the last is refused", async (t) => {
      const { catalogue } = await House.open(t, { store: openStore(t) });
      const one = await catalogue.create({ name: "etl", spec: dag("one") });
      await catalogue.update("etl", { spec: dag("two"), ifVersion: one.version });
      const late = catalogue.update("etl", { spec: dag("three"), ifVersion: one.version });
      await assert.rejects(late, says("VERSION_CHANGED", "etl"));
      assert.deepEqual((await catalogue.get("etl")).spec, dag("two"));
    });

    test("a schedule comes, changes, pauses and goes with its workflow", async (t) => {
      const house = await House.open(t, { store: openStore(t) });
      const { catalogue, engine } = house;
      await catalogue.create({ name: "etl", spec: dag("one"), cronExpr: hourly, timeZone: "UTC", isScheduled: true });
      await house.checkInForce();
      await catalogue.setSchedule("etl", { cronExpr: "5 * * * *", enable: true }, "ann");
      assert.deepEqual((await house.checkInForce())[0]?.cronExpr, "5 * * * *");
      await catalogue.setSchedule("etl", { enable: false });
      await catalogue.setSchedule("etl", { enable: true });
      await house.checkInForce();
      await catalogue.setSchedule("etl", { enable: false });
      await house.checkInForce();
      assert.equal((await catalogue.versions("etl")).length, 1);
      await catalogue.update("etl", { cronExpr: null });
      assert.deepEqual(await engine.schedules.list(), []);
      await catalogue.setSchedule("etl", { cronExpr: hourly, enable: true });
      assert.equal((await house.checkInForce())[0]?.timeZone, Intl.DateTimeFormat().resolvedOptions().timeZone);
      await catalogue.delete("etl");
      assert.deepEqual(await house.checkInForce(), []);
      await assert.rejects(catalogue.setSchedule("etl", { enable: true }), says("WORKFLOW_UNKNOWN"));
    });

    test("a schedule has the policies that its workflow says", async (t) => {
      const house = await House.open(t, { store: openStore(t) });
      const { catalogue, engine } = house;
      const policies = async (): Promise<unknown[]> => {
        const { spec } = await engine.schedules.get("etl");
        return [spec.whenBusy, spec.whenMissed];
      };
      const cron = { cronExpr: hourly, timeZone: "UTC" };
      await catalogue.create({ name: "etl", spec: dag("one"), ...cron, isScheduled: true, whenBusy: "queue" });
      assert.deepEqual(await policies(), ["queue", undefined]);
      await catalogue.setSchedule("etl", { enable: true, whenMissed: "all" });
      assert.deepEqual(await policies(), ["queue", "all"]);
      await catalogue.update("etl", { whenBusy: null, cronExpr: "5 * * * *" });
      assert.deepEqual(await policies(), [undefined, "all"]);
      await assert.rejects(
        catalogue.setSchedule("etl", { enable: true, cronExpr: "0 0 30 2 *" }),
        says("SCHEDULE_INVALID", /"0 0 30 2 \*" is never due within 100 years/),
      );
      await house.checkInForce();
    });

    test("a schedule that shows itself as it was a moment ago is still switched as it was told", async (t) => {
      const wrap: HouseOptions["wrap"] = ({ store, engine }) => {
        const first = new Map<string, Promise<unknown>>();
        const get = (id: string): Promise<unknown> => first.get(id) ?? late(id);
        const late = async (id: string): Promise<unknown> => {
          const view = await engine.schedules.get(id);
          first.set(id, Promise.resolve(view));
          return view;
        };
        return { store, engine: standIn(engine, { schedules: standIn(engine.schedules, { get }) }) };
      };
      const house = await House.open(t, { store: openStore(t), wrap });
      await house.catalogue.create({ name: "etl", spec: dag("one"), cronExpr: hourly, isScheduled: true });
      for (const enable of [false, true, false, true]) {
        await house.catalogue.setSchedule("etl", { cronExpr: enable ? "7 * * * *" : hourly, enable });
        await house.checkInForce();
      }
    });

    test("a change of a schedule that failed is not forgotten by the next save", async (t) => {
      let isAway = false;
      const wrap: HouseOptions["wrap"] = ({ store, engine }) => {
        const change: typeof engine.schedules.change = async (...given) => {
          if (isAway) throw new EngineError("STORE_UNAVAILABLE", "the store is away for a while");
          await engine.schedules.change(...given);
        };
        return { store, engine: standIn(engine, { schedules: standIn(engine.schedules, { change }) }) };
      };
      const house = await House.open(t, { store: openStore(t), wrap });
      await house.catalogue.create({ name: "etl", spec: dag("one"), cronExpr: hourly, isScheduled: true });
      isAway = true;
      const saved = await house.catalogue.update("etl", { cronExpr: "7 * * * *" });
      assert.match(saved.warning ?? "", /the store is away/);
      isAway = false;
      assert.equal((await house.catalogue.update("etl", { spec: dag("two") })).warning, null);
      await house.checkInForce();
    });

    test("a schedule that somebody made by hand is left alone", async (t) => {
      const { catalogue, engine } = await House.open(t, { store: openStore(t) });
      await catalogue.create({ name: "a", spec: dag("one") });
      await catalogue.create({ name: "b", spec: dag("one") });
      await engine.schedules.create("a", { workflow: "a", every: { rateMs: 3_600_000 } });
      await engine.schedules.create("b", { workflow: "a", every: { rateMs: 3_600_000 } });
      await catalogue.update("a", { spec: dag("two") });
      const saved = await catalogue.update("b", { cronExpr: hourly, isScheduled: true });
      assert.match(saved.warning ?? "", /schedule "b" starts workflow "a"/);
      await catalogue.delete("b");
      assert.equal((await engine.schedules.list()).length, 2);
    });

    test("what was deleted can be made anew, with another id", async (t) => {
      const { catalogue, engine } = await House.open(t, { store: openStore(t) });
      const first = await catalogue.create({ name: "etl", spec: dag("one") });
      await catalogue.delete(first.id);
      assert.equal(engine.findWorkflow("etl"), undefined);
      const second = await catalogue.create({ name: "etl", spec: dag("one") });
      assert.notEqual(second.id, first.id);
      await assert.rejects(catalogue.get(first.id), says("WORKFLOW_UNKNOWN"));
      assert.equal((await catalogue.versions("etl")).length, 1);
    });

    test("pages and searches", async (t) => {
      const { catalogue } = await House.open(t, { store: openStore(t) });
      for (const name of ["b-load", "a-load", "c-save", "d-LOAD"]) await catalogue.create({ name, spec: dag("one") });
      const names = async (page: Parameters<typeof catalogue.list>[0]): Promise<unknown> => {
        const { items, next } = await catalogue.list(page);
        return [items.map(({ name }) => name), next];
      };
      assert.deepEqual(await names({ limit: 2 }), [["a-load", "b-load"], "b-load"]);
      assert.deepEqual(await names({ limit: 2, after: "b-load" }), [["c-save", "d-LOAD"], null]);
      assert.deepEqual(await names({ limit: 2, search: "load" }), [["a-load", "b-load"], "b-load"]);
      assert.deepEqual(await names({ limit: 2, search: "load", after: "b-load" }), [["d-LOAD"], null]);
    });

    test("one nests another by name, whichever comes first", async (t) => {
      const store = openStore(t);
      const first = await House.open(t, { store });
      const spec = { nodes: [nesting(1, "z-inner")] };
      const outer = await first.catalogue.create({ name: "outer", spec, cronExpr: hourly, isScheduled: true });
      assert.match(outer.warning ?? "", /z-inner/);
      await first.catalogue.create({ name: "z-inner", spec: dag("one") });
      await first.stop();
      const second = await House.open(t, { store });
      assert.equal((await second.engine.schedules.get("outer")).spec.workflow, "outer");
      const workflow = second.engine.findWorkflow("outer");
      assert.ok(workflow instanceof Workflow);
      await (await second.engine.submitWorkflow(workflow)).result();
    });

    test("whoever would close a circle of nested workflows is refused, and the others stay", async (t) => {
      const { catalogue } = await House.open(t, { store: openStore(t) });
      await catalogue.create({ name: "a", spec: { nodes: [nesting(1, "b")] } });
      await catalogue.create({ name: "b", spec: { nodes: [nesting(1, "c")] } });
      const closing = { nodes: [nesting(1, "a")] };
      const circle = says("NESTING_TOO_DEEP", "c → a → b → c");
      await assert.rejects(catalogue.create({ name: "c", spec: closing }), circle);
      await catalogue.create({ name: "c", spec: dag("one") });
      await assert.rejects(catalogue.update("c", { spec: closing }), circle);
      assert.deepEqual((await catalogue.get("c")).spec, dag("one"));
    });

    test("a definition that is refused by now can still be switched off", async (t) => {
      const store = openStore(t);
      const first = await House.open(t, { store, engine: { jobs: [defineJob("work", () => 1)] } });
      await first.catalogue.create({ name: "etl", spec: dag("one"), cronExpr: hourly, isScheduled: true });
      await first.stop();
      const jobs = [
        defineJob("work", { input: z.object({ a: z.number() }) }, () => 1),
        defineJob("work", { input: z.object({ b: z.number() }) }, () => 1),
      ];
      const second = await House.open(t, { store, engine: { jobs } });
      await assert.rejects(second.catalogue.update("etl", { spec: dag("two") }), says("JOB_AMBIGUOUS"));
      await second.catalogue.setSchedule("etl", { enable: false });
      await eventually(async () => assert.equal((await second.engine.schedules.get("etl")).isEnabled, false));
    });

    test("many savers at once: each save is there, or its saver was told", async (t) => {
      const { catalogue } = await House.open(t, { store: openStore(t) });
      await catalogue.create({ name: "etl", spec: dag("none") });
      const saves = Array.from({ length: 10 }, (_, index) => catalogue.update("etl", { spec: dag(`${index}`) }));
      const results = await Promise.allSettled(saves);
      for (const result of results) if (result.status === "rejected") says("VERSION_CHANGED")(result.reason);
      const kept = results.filter(({ status }) => status === "fulfilled");
      assert.equal((await catalogue.versions("etl")).length, kept.length + 1);
      const creates = Array.from({ length: 5 }, () => catalogue.create({ name: "new", spec: dag("one") }));
      const made = (await Promise.allSettled(creates)).filter(({ status }) => status === "fulfilled");
      assert.equal(made.length, 1);
    });
  });
}

/** Edges lead from each of the first nodes to those after it. */
function wide(nodeCount: number, edgeCount: number): DagSpec {
  const nodes = Array.from({ length: nodeCount }, (_, place) => ({ nodeId: place + 1, jobName: "work" }));
  const edges: { from: number; to: number }[] = [];
  for (let from = 1; edges.length < edgeCount; from++) {
    for (let to = from + 1; to < nodeCount && edges.length < edgeCount; to++) edges.push({ from, to });
  }
  return { nodes, edges };
}
