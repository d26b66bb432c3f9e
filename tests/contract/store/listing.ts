import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TestContext } from "node:test";
import type { InstanceFilter, Store, StoredFilter } from "../../../src/stores/store.ts";
import { fresh, Owner } from "./subject.ts";
import type { MakeStore } from "./subject.ts";
import { finishedRow, instanceRow } from "./rows.ts";

/** Unfinished and finished ones in turn: keys 1 to 8, created at 1001 to 1008. */
async function populated(t: TestContext, makeStore: MakeStore): Promise<Store> {
  const store = await fresh(t, makeStore);
  const owner = await Owner.claim(store);
  await owner.commit({
    instances: [
      instanceRow({ key: 1, id: "order-1", status: "Running" }),
      instanceRow({ key: 3, id: "order-3", status: "Paused", workflow: "hourly" }),
      instanceRow({ key: 5, id: "invoice-5", status: "Ready" }),
      instanceRow({ key: 7, id: "order-7", status: "Running", quarantined: "broke" }),
    ],
    finished: [
      finishedRow({ key: 2, id: "order-2", status: "Failed", reason: "boom" }),
      finishedRow({ key: 4, id: "order-4", status: "Success", workflow: "hourly" }),
      finishedRow({ key: 6, id: "invoice-6", status: "Success" }),
      finishedRow({ key: 8, id: "ordeal-8", status: "Terminated" }),
    ],
  });
  return store;
}

/** Where the row of that key stands. */
function place(key: number): { createdAt: number; key: number } {
  return { createdAt: 1_000 + key, key };
}

/** What is asked, and the keys expected. */
const cases: [what: string, filter: Partial<InstanceFilter>, keys: number[]][] = [
  ["everything, newest first", {}, [8, 7, 6, 5, 4, 3, 2, 1]],
  ["a page", { limit: 3 }, [8, 7, 6]],
  ["the next page", { limit: 3, before: place(6) }, [5, 4, 3]],
  ["the last page", { limit: 3, before: place(3) }, [2, 1]],
  ["one unfinished status", { status: ["Running"] }, [7, 1]],
  ["one finished status", { status: ["Success"] }, [6, 4]],
  ["what a resume concerns", { resumable: true }, [7, 3]],
  [
    "what a resume concerns, of some statuses and a page",
    { resumable: true, status: ["Running", "Failed"], limit: 1 },
    [7],
  ],
  ["what a resume concerns, after a place", { resumable: true, before: place(7) }, [3]],
  ["what a resume concerns or not", { resumable: false, limit: 2 }, [8, 7]],
  ["several statuses, one of them twice", { status: ["Failed", "Ready", "Terminated", "Failed"] }, [8, 5, 2]],
  ["no status at all", { status: [] }, []],
  ["a page of several statuses", { status: ["Success", "Running"], limit: 2, before: place(7) }, [6, 4]],
  ["a workflow", { workflow: "hourly" }, [4, 3]],
  ["a workflow and a status", { workflow: "hourly", status: ["Success"] }, [4]],
  ["an id prefix", { idPrefix: "order-" }, [7, 4, 3, 2, 1]],
  ["an id prefix and a page", { idPrefix: "order-", before: place(7), limit: 2 }, [4, 3]],
  ["an id prefix and a status", { idPrefix: "order-", status: ["Failed", "Paused"] }, [3, 2]],
  ["an id prefix, a workflow and a status", { idPrefix: "order-", workflow: "nightly", status: ["Failed"] }, [2]],
  ["a whole id", { idPrefix: "invoice-6" }, [6]],
  ["an empty prefix", { idPrefix: "", limit: 2 }, [8, 7]],
  ["a prefix with signs that patterns use", { idPrefix: "%" }, []],
  ["from a time on", { createdFrom: 1_007 }, [8, 7]],
  ["up to a time", { createdTo: 1_002 }, [2, 1]],
  ["between two times", { createdFrom: 1_003, createdTo: 1_006, status: ["Success", "Ready"] }, [6, 5, 4]],
];

export function listingSuite(name: string, makeStore: MakeStore): void {
  describe(`${name}: lists`, () => {
    for (const [what, filter, keys] of cases) {
      test(what, async (t) => {
        const store = await populated(t, makeStore);
        const found = await store.listInstances({ limit: 100, ...filter });
        assert.deepEqual(
          found.map((row) => row.key),
          keys,
        );
      });
    }

    test("time comes before the key, which tells those of one moment apart", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      const times: [key: number, createdAt: number][] = [
        [1, 50],
        [2, 70],
        [3, 50],
        [4, 60],
        [5, 50],
      ];
      await owner.commit({
        instances: times.slice(0, 2).map(([key, createdAt]) => instanceRow({ key, createdAt })),
        finished: times.slice(2).map(([key, createdAt]) => finishedRow({ key, createdAt })),
      });
      const seen: number[] = [];
      for (let page = await store.listInstances({ limit: 2 }); page.length > 0;) {
        seen.push(...page.map(({ key }) => key));
        const before = page.at(-1);
        assert.ok(before);
        page = await store.listInstances({ limit: 2, before });
      }
      assert.deepEqual(seen, [2, 4, 5, 3, 1]);
    });

    test("a prefix that very many share pages like a rare one", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      const keys = Array.from({ length: 21_000 }, (_, i) => i + 1);
      await owner.commit({
        finished: keys.map((key) => finishedRow({ key, id: `${key % 2 ? "odd" : "even"}-${key}` })),
      });
      const page = { idPrefix: "odd-", before: place(20_000), limit: 2 };
      const found = await store.listInstances(page);
      assert.deepEqual(
        found.map((row) => row.key),
        [19_999, 19_997],
      );
      assert.deepEqual(await store.listInstances({ ...page, status: ["Success"] }), found);
    });

    test("a list of one namespace has the instances of no other, and an application those of its own", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      await owner.commit({
        instances: [
          instanceRow({ key: 1, id: "order-1", app: "shop" }),
          instanceRow({ key: 3, id: "@acme/order-1", workflow: "@acme/nightly", app: "shop" }),
          instanceRow({ key: 5, id: "@acme-2/order-1", workflow: "@acme-2/nightly" }),
        ],
        finished: [
          finishedRow({ key: 2, id: "order-2" }),
          finishedRow({ key: 4, id: "@acme/order-2", workflow: "@acme/nightly", app: "bill" }),
          finishedRow({ key: 6, id: "@acme/order-3", workflow: "@acme/nightly", app: "shop", status: "Failed" }),
          finishedRow({ key: 8, id: "@a/order-2", workflow: "@a/nightly" }),
        ],
      });
      const keysOf = async (filter: Partial<StoredFilter>): Promise<number[]> =>
        (await store.listInstances({ limit: 10, ...filter })).map(({ key }) => key);
      assert.deepEqual(await keysOf({}), [8, 6, 5, 4, 3, 2, 1]);
      assert.deepEqual(await keysOf({ namespace: "default" }), [2, 1]);
      assert.deepEqual(await keysOf({ namespace: "acme" }), [6, 4, 3]);
      assert.deepEqual(await keysOf({ namespace: "acme", limit: 2 }), [6, 4]);
      assert.deepEqual(await keysOf({ namespace: "acme", status: ["Success"] }), [4]);
      assert.deepEqual(await keysOf({ namespace: "acme", workflow: "@acme/nightly", before: place(6) }), [4, 3]);
      assert.deepEqual(await keysOf({ namespace: "acme", idPrefix: "@acme/order-3" }), [6]);
      assert.deepEqual(await keysOf({ namespace: "acme", idPrefix: "order" }), []);
      assert.deepEqual(await keysOf({ namespace: "default", workflow: "@acme/nightly" }), []);
      assert.deepEqual(await keysOf({ namespace: "nobody" }), []);
      assert.deepEqual(await keysOf({ app: "shop" }), [6, 3, 1]);
      assert.deepEqual(await keysOf({ namespace: "acme", app: "shop", status: ["Failed", "Running"] }), [6, 3]);
    });

    test("a summary has every field", async (t) => {
      const store = await populated(t, makeStore);
      const both = await store.listInstances({ idPrefix: "order-", limit: 10 });
      const common = { workflow: "nightly", version: "v1", generation: 1 };
      assert.deepEqual(
        both.find((row) => row.key === 7),
        {
          ...common,
          key: 7,
          id: "order-7",
          status: "Running",
          createdAt: 1_007,
          endedAt: null,
          reason: null,
          quarantined: "broke",
          app: null,
        },
      );
      assert.deepEqual(
        both.find((row) => row.key === 2),
        {
          ...common,
          key: 2,
          id: "order-2",
          status: "Failed",
          createdAt: 1_002,
          endedAt: 3_002,
          reason: "boom",
          quarantined: null,
          app: null,
        },
      );
    });
  });
}
