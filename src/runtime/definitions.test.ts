import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { hasCode } from "../base/error.ts";
import type { DagSpec } from "../kernel/dag/dag-spec.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import { type DefinitionRow, noChanges } from "../stores/store.ts";
import { Definitions } from "./definitions.ts";
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
    assert.equal(definitions.rowToStore(first, 5), undefined, "the store has it");
  });

  test("that nobody has are an error that names them", async () => {
    const load = new Definitions(store).load("w", "7");
    await assert.rejects(
      load,
      (error) => hasCode(error, "WORKFLOW_UNKNOWN") && /"w" has no version 7/.test(error.message),
    );
  });

  test("are written until the store has them", () => {
    const definitions = new Definitions(store);
    const definition = definitions.add("w", "1", spec);
    assert.equal(definitions.add("w", "1", spec), definition);
    const first = definitions.rowToStore(definition, 5);
    assert.equal(first?.createdAt, 5);
    assert.equal(definitions.rowToStore(definition, 6), first, "the same row, so that one commit holds it once");
    definitions.noteStored("w", "1");
    assert.equal(definitions.rowToStore(definition, 7), undefined);
  });

  test("are written again once it is forgotten that the store has them", () => {
    const definitions = new Definitions(store);
    const definition = definitions.add("w", "1", spec);
    definitions.noteStored("w", "1");
    assert.equal(definitions.rowToStore(definition, 5), undefined);
    definitions.forgetStored();
    assert.equal(definitions.rowToStore(definition, 6)?.name, "w");
  });

  test("that the store was asked for before that are written again too, whenever the answer comes", async () => {
    await save(row("read", "1"));
    const definitions = new Definitions(store);
    const saved = definitions.add("saved", "1", spec);
    const saving = definitions.save([saved], 5);
    const loading = definitions.load("read", "1");
    definitions.forgetStored();
    await saving;
    const read = await loading;
    assert.equal(definitions.rowToStore(saved, 6)?.name, "saved");
    assert.equal(definitions.rowToStore(read, 6)?.name, "read");
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

  test("are forgotten when there are very many, and written again if need be", () => {
    const definitions = new Definitions(store);
    const first = definitions.add("w0", "1", spec);
    definitions.noteStored("w0", "1");
    for (let place = 1; place <= 1000; place++) definitions.add(`w${place}`, "1", spec);
    assert.equal(definitions.find("w0", "1"), undefined);
    assert.notEqual(definitions.find("w1", "1"), undefined);
    assert.notEqual(definitions.rowToStore(first, 1), undefined);
  });
});
