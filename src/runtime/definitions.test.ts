import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { hasCode } from "../base/error.ts";
import type { DagSpec } from "../kernel/dag/dag-spec.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import { type DefinitionRow, noChanges } from "../stores/store.ts";
import { type Definition, Definitions } from "./definitions.ts";
import { FencingToken } from "./fencing-token.ts";

const spec: DagSpec = { nodes: [{ nodeId: 1, nodeName: "a", jobName: "work" }], edges: [] };

describe("definitions", () => {
  let store: MemoryStore;
  let reads: number;

  beforeEach(async () => {
    store = new MemoryStore();
    reads = 0;
    await store.open();
    const load = store.findDefinition.bind(store);
    store.findDefinition = async (name, version) => {
      reads++;
      return await load(name, version);
    };
  });

  async function save(row: DefinitionRow): Promise<void> {
    const claim = await store.claimShard(0, "me");
    assert.ok(claim);
    const fences = [new FencingToken(0, claim).fence(false)];
    await store.commit({ fences, changes: { ...noChanges(), definitions: [row] } });
  }

  /** The names of those that are saved because the store may lack them. */
  async function savedBy(definitions: Definitions, ...given: readonly Definition[]): Promise<string[]> {
    const names: string[] = [];
    const write = store.saveDefinitions.bind(store);
    store.saveDefinitions = async (rows) => {
      names.push(...rows.map(({ name }) => name));
      await write(rows);
    };
    await definitions.save(given, 5);
    store.saveDefinitions = write;
    return names;
  }

  function row(name: string, version: string): DefinitionRow {
    return { name, version, spec: JSON.stringify(spec), createdAt: 1 };
  }

  test("are read from the store once", async () => {
    await save(row("w", "1"));
    const definitions = new Definitions(store);
    const first = await definitions.load("w", "1");
    assert.equal(await definitions.load("w", "1"), first);
    assert.equal(reads, 1);
    assert.equal(first.kind === "dag" && first.graph.size, 1);
    assert.deepEqual(await savedBy(definitions, first), [], "the store has it");
  });

  test("that nobody has are an error that names them", async () => {
    const load = new Definitions(store).load("w", "7");
    await assert.rejects(
      load,
      (error) => hasCode(error, "WORKFLOW_UNKNOWN") && /"w" has no version 7/.test(error.message),
    );
  });

  test("are saved until the store has them", async () => {
    const definitions = new Definitions(store);
    const definition = definitions.add("w", "1", spec);
    assert.equal(definitions.add("w", "1", spec), definition);
    const first = definitions.rowOf(definition, 5);
    assert.equal(first.createdAt, 5);
    assert.equal(definitions.rowOf(definition, 6), first, "the same row, so that one commit holds it once");
    assert.deepEqual(await savedBy(definitions, definition, definition), ["w"]);
    assert.deepEqual(await savedBy(definitions, definition), []);
  });

  test("are saved again once it is forgotten that the store has them", async () => {
    const definitions = new Definitions(store);
    const definition = definitions.add("w", "1", spec);
    definitions.noteStored("w", "1");
    assert.deepEqual(await savedBy(definitions, definition), []);
    definitions.forgetStored();
    assert.deepEqual(await savedBy(definitions, definition), ["w"]);
  });

  test("that the store was asked for before that are saved again too, whenever the answer comes", async () => {
    await save(row("read", "1"));
    const definitions = new Definitions(store);
    const saved = definitions.add("saved", "1", spec);
    const saving = definitions.save([saved], 5);
    const loading = definitions.load("read", "1");
    definitions.forgetStored();
    await saving;
    const read = await loading;
    assert.deepEqual(await savedBy(definitions, saved, read), ["saved", "read"]);
    assert.deepEqual(definitions.all, [saved, read]);
  });

  test("the latest is the one saved last", async () => {
    const definitions = new Definitions(store);
    assert.equal(await definitions.latest("w"), undefined);
    await save(row("w", "1"));
    await save(row("w", "2"));
    assert.equal((await definitions.latest("w"))?.version, "2");
  });

  test("do not take each other's place, whatever their names", () => {
    const definitions = new Definitions(store);
    const [one, other] = [definitions.add("b c", "1", spec), definitions.add("c", "1", spec)];
    assert.notEqual(one, other);
    assert.equal(definitions.find("b c", "1"), one);
    assert.equal(definitions.find("c", "2"), undefined);
  });

  test("are forgotten when there are very many, and saved again if need be", async () => {
    const definitions = new Definitions(store);
    const first = definitions.add("w0", "1", spec);
    definitions.noteStored("w0", "1");
    assert.equal(definitions.areStored([first]), true);
    for (let place = 1; place <= 1000; place++) definitions.add(`w${place}`, "1", spec);
    assert.equal(definitions.find("w0", "1"), undefined);
    assert.notEqual(definitions.find("w1", "1"), undefined);
    const again = definitions.add("w0", "1", spec);
    assert.equal(definitions.areStored([first, again]), false);
    assert.deepEqual(await savedBy(definitions, first, again), ["w0"]);
  });

  test("come with those of nested workflows, of the same namespace and at any depth, each once", async () => {
    const nesting = (...names: string[]): DagSpec => ({
      nodes: names.map((name, place) => ({
        nodeId: place,
        nodeName: `n${place}`,
        nodeType: 3,
        workflowName: name,
        workflowVersion: "1",
      })),
      edges: [],
    });
    for (const [name, given] of [
      ["@acme/deep", spec],
      ["@acme/inner", nesting("deep")],
    ] as const) {
      await save({ ...row(name, "1"), spec: JSON.stringify(given) });
    }
    const definitions = new Definitions(store);
    const outer = definitions.add("@acme/outer", "1", nesting("inner", "deep", "inner"));
    const names = (await definitions.withNested(outer)).map(({ name }) => name);
    assert.deepEqual(names, ["@acme/outer", "@acme/inner", "@acme/deep"]);
    assert.equal(await definitions.withNested(outer), await definitions.withNested(outer));
    const lacking = definitions.add("@acme/lacking", "1", nesting("gone"));
    await assert.rejects(definitions.withNested(lacking), { code: "WORKFLOW_UNKNOWN" });
  });
});
