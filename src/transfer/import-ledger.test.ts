import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { firstKey } from "../stores/instance-key.ts";
import { ImportLedger } from "./import-ledger.ts";

/** The new keys of instances that were made so, each given as its old shard, old counter and time; all in one shard. */
function numbered(...made: readonly (readonly [shard: number, counter: number, createdAt: number])[]): number[] {
  const ledger = new ImportLedger();
  const keys = made.map(([shard, counter]) => firstKey(shard) - 1 + counter);
  for (const [place, [, , createdAt]] of made.entries()) ledger.list({ key: keys[place] ?? 0, createdAt, id: "x" }, 0);
  assert.deepEqual(ledger.number([50]), new Map([[0, made.length]]));
  const found = keys.map((key) => ledger.keyOf(key));
  ledger.close();
  return found;
}

describe("new keys", () => {
  test("are given without a gap, on from the last one", () => {
    assert.deepEqual(numbered([0, 3, 10], [0, 9, 20], [0, 4, 15]), [51, 53, 52]);
  });

  test("follow the time where instances come from several shards", () => {
    assert.deepEqual(numbered([1, 1, 10], [0, 1, 20], [1, 2, 30], [0, 2, 40]), [51, 52, 53, 54]);
  });

  test("follow the old ones within a shard, though its clock was set back", () => {
    assert.deepEqual(numbered([0, 1, 100], [0, 2, 50], [0, 3, 60], [1, 1, 70]), [52, 53, 54, 51]);
  });

  test("are of the shard that an instance moves to", () => {
    const ledger = new ImportLedger();
    for (const [key, shard] of [
      [1, 1],
      [2, 0],
      [3, 1],
    ] as const)
      assert.ok(ledger.list({ key, createdAt: 1, id: "x" }, shard));
    assert.deepEqual(
      ledger.number([0, firstKey(1) - 1]),
      new Map([
        [0, 1],
        [1, 2],
      ]),
    );
    assert.deepEqual(
      [1, 2, 3].map((key) => ledger.keyOf(key)),
      [firstKey(1), 1, firstKey(1) + 1],
    );
    assert.equal(ledger.keyOf(4), 0, "nobody");
    ledger.close();
  });
});

test("what is listed or written twice is noticed", () => {
  const ledger = new ImportLedger();
  assert.ok(ledger.list({ key: 1, createdAt: 1, id: "x" }, 0));
  assert.ok(!ledger.list({ key: 1, createdAt: 2, id: "y" }, 0));
  assert.ok(ledger.recordWritten(5, "a"));
  assert.ok(!ledger.recordWritten(5, "b"));
  assert.equal(ledger.digestOf(5), "a");
  assert.equal(ledger.digestOf(6), undefined);
  assert.deepEqual(ledger.counts, { listed: 1, written: 1 });
  ledger.close();
});

test("of the definitions of a name, the last one is to be the latest", () => {
  const ledger = new ImportLedger();
  const rows = [
    ["a", "2"],
    ["a", "1"],
    ["\ud800", "1"],
  ] as const;
  for (const [name, version] of rows) ledger.addDefinition({ name, version, spec: "{}", createdAt: 1 });
  const noted = [...ledger.definitions()].map(({ row, isLatest }) => [row.name, row.version, isLatest]);
  assert.deepEqual(noted, [
    ["a", "2", false],
    ["a", "1", true],
    ["\ud800", "1", true],
  ]);
  ledger.close();
});
