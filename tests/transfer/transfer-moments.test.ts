/** The whole workload of the recovery tests, moved from store to store at many moments of its life. */
import { deepEqual, ok } from "node:assert/strict";
import { test } from "node:test";
import type { Store } from "../../src/stores/store.ts";
import { memoryStore } from "../../src/testing.ts";
import { crashes, livedElsewhere } from "../stores/crashes.ts";

const commitsApart = 9;
const lanes = 8;

/** As a database server would be: whoever opens it is a member of a cluster. */
function server(): Store {
  return new Proxy<Store>(memoryStore(), {
    get: (target, name) => {
      if (name === "clusters") return "always";
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? (value as () => unknown).bind(target) : value;
    },
  });
}

test("a crash and a move at any moment lose nothing and repeat nothing", { timeout: 240_000 }, async (t) => {
  const all = await crashes(t, commitsApart);
  t.diagnostic(`${all.length} moves`);
  ok(all.length > 8, "there were many moments to move at");
  const wrong: string[] = [];
  const moments = all.entries();
  const lane = async (): Promise<void> => {
    for (const [moment, remains] of moments) {
      const found = await livedElsewhere(remains, [server()]);
      wrong.push(...found.map((each) => `before commit ${moment * commitsApart}: ${each}`));
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  deepEqual(wrong, []);
});
