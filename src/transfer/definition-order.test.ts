import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hasCode } from "../base/error.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import type { DefinitionRow } from "../stores/store.ts";
import { refuseOtherOrder } from "./definition-order.ts";
import { ImportLedger } from "./import-ledger.ts";

function row(version: string, name = "nightly"): DefinitionRow {
  return { name, version, spec: "{}", createdAt: 1 };
}

/** Whether versions of one name may be moved, in this order, to a store that has those. */
async function isTaken(moved: string, there: string): Promise<boolean> {
  const store = new MemoryStore();
  await store.open();
  await store.saveDefinitions(there.split("").map((version) => row(version)));
  const ledger = new ImportLedger();
  ledger.addDefinition(row("1", "another"));
  for (const version of moved) ledger.addDefinition(row(version));
  try {
    await refuseOtherOrder(store, ledger);
  } catch (error) {
    assert.ok(hasCode(error, "OPTION_INVALID"));
    return false;
  } finally {
    ledger.close();
  }
  await store.saveDefinitions(moved.split("").map((version) => row(version)));
  assert.equal((await store.findLatestDefinition("nightly"))?.version, moved.at(-1));
  return true;
}

describe("versions of a workflow are taken", () => {
  test("by a store that has none of them", async () => {
    assert.ok(await isTaken("ab", ""));
    assert.ok(await isTaken("ab", "c"));
    assert.ok(await isTaken("ab", "ca"));
  });

  test("by one that has them all in this order, as after an import that failed", async () => {
    assert.ok(await isTaken("ab", "ab"));
    assert.ok(await isTaken("ab", "cab"));
  });

  test("not by one in which another would be the newest", async () => {
    assert.ok(!(await isTaken("ab", "ba")));
    assert.ok(!(await isTaken("ab", "bc")));
    assert.ok(!(await isTaken("ab", "b")));
    assert.ok(!(await isTaken("abc", "bc")));
  });
});
