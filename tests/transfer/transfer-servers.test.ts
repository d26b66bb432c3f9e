/** Moves between a file and real database servers. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { mysql } from "../../src/mysql.ts";
import { postgres } from "../../src/postgres.ts";
import { MemoryStore } from "../../src/stores/memory/memory-store.ts";
import { SqliteStore } from "../../src/stores/sqlite/sqlite-store.ts";
import type { Store } from "../../src/stores/store.ts";
import { importInstances } from "../../src/transfer.ts";
import { newDatabase } from "../databases/databases.ts";
import { crashes, livedElsewhere } from "../stores/crashes.ts";
import { contents, fill } from "./random-contents.ts";
import { linesOf, told } from "./transfer-rig.ts";

describe("from SQLite to PostgreSQL, on to MySQL and back to SQLite", () => {
  test("everything comes as it was", { timeout: 120_000 }, async (t) => {
    const rich = contents.filter(({ instances, messages }) => instances.length > 5 && messages.length > 4);
    for (const [round, drawn] of fc.sample(rich, { numRuns: 4, seed: 11 }).entries()) {
      const first = new MemoryStore();
      await first.open();
      await fill(first, round + 1, drawn);
      const lines = await linesOf(first);
      const stores: Store[] = [
        new SqliteStore({ file: ":memory:" }),
        postgres(await newDatabase("postgres", t)),
        mysql(await newDatabase("mysql", t)),
        new SqliteStore({ file: ":memory:" }),
      ];
      let given = lines;
      for (const store of stores) {
        await store.open();
        try {
          await importInstances(store, given);
          given = await linesOf(store);
        } finally {
          await store.close();
        }
        assert.deepEqual(told(given), told(lines));
      }
    }
  });

  test("instances of every kind go on after a crash", { timeout: 240_000 }, async (t) => {
    const wrong: string[] = [];
    for (const [moment, remains] of (await crashes(t, 40)).entries()) {
      const servers = [postgres(await newDatabase("postgres", t)), mysql(await newDatabase("mysql", t))] as const;
      const [one, other] = moment % 2 === 0 ? servers : servers.toReversed();
      wrong.push(...(await livedElsewhere(remains, [one, other])));
    }
    assert.deepEqual(wrong, []);
  });
});
