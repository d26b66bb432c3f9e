import assert from "node:assert/strict";
import { test } from "node:test";
import { hasCode } from "../base/error.ts";
import type { ShardRow } from "./store.ts";
import { importerName, isHalfImported, refuseHalfImported } from "./importer.ts";

test("a store is half imported until the import has given up every shard", () => {
  const row = (shard: number, owner: string, released: boolean): ShardRow => {
    return { shard, epoch: 1, owner, lastBatch: 0, released };
  };
  const importer = importerName("1");
  const half = [row(0, "host:1", true), row(1, importer, false)];
  assert.ok(isHalfImported(half));
  assert.throws(
    () => refuseHalfImported(half),
    (error) => hasCode(error, "STORE_LOCKED"),
  );
  const whole = [row(0, importer, true), row(1, importer, true)];
  assert.ok(!isHalfImported(whole));
  refuseHalfImported(whole);
  // A member may be called so.
  assert.ok(!isHalfImported([row(0, "import", false), row(1, "import:0123456789ab", false)]));
  assert.ok(!isHalfImported([]));
});
