import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fresh, Owner } from "./subject.ts";
import type { MakeStore } from "./subject.ts";
import { definitionRow } from "./rows.ts";

export function definitionsSuite(name: string, makeStore: MakeStore): void {
  describe(`${name}: definitions`, () => {
    test("one is found by name and version", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      await owner.commit({ definitions: [definitionRow({ version: "a" }), definitionRow({ version: "b" })] });
      assert.deepEqual(await store.findDefinition("nightly", "a"), definitionRow({ version: "a" }));
      assert.equal(await store.findDefinition("nightly", "c"), undefined);
      assert.equal(await store.findDefinition("hourly", "a"), undefined);
    });

    test("a version never changes", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      await owner.commit({ definitions: [definitionRow({ version: "a" })] });
      await owner.commit({ definitions: [definitionRow({ version: "a", spec: "{}", createdAt: 9 })] });
      assert.deepEqual(await store.findDefinition("nightly", "a"), definitionRow({ version: "a" }));
    });

    test("the latest is the one that was first seen last, whatever the clock said", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      await owner.commit({ definitions: [definitionRow({ version: "b", createdAt: 500 })] });
      await owner.commit({ definitions: [definitionRow({ version: "a", createdAt: 100 })] });
      await owner.commit({
        definitions: [definitionRow({ version: "b" }), definitionRow({ name: "z", version: "c" })],
      });
      assert.equal((await store.findLatestDefinition("nightly"))?.version, "a");
      assert.equal(await store.findLatestDefinition("hourly"), undefined);
    });

    test("they may be saved outside of a commit, and are kept as they are if present", async (t) => {
      const store = await fresh(t, makeStore);
      await store.saveDefinitions([definitionRow({ version: "a" }), definitionRow({ version: "b" })]);
      await store.saveDefinitions([definitionRow({ version: "a", spec: "{}", createdAt: 9 })]);
      await (await Owner.claim(store)).commit({ definitions: [definitionRow({ version: "b", spec: "{}" })] });
      await store.saveDefinitions([]);
      assert.deepEqual(await store.findDefinition("nightly", "a"), definitionRow({ version: "a" }));
      assert.deepEqual(await store.findLatestDefinition("nightly"), definitionRow({ version: "b" }));
    });

    test("all of one name are listed, newest first, a page at a time", async (t) => {
      const store = await fresh(t, makeStore);
      const versions = ["e", "b", "a", "d", "c"];
      for (const [index, version] of versions.entries()) {
        const others = [definitionRow({ name: "nightly ", version }), definitionRow({ name: "Nightly", version })];
        await store.saveDefinitions([...others, definitionRow({ version, createdAt: 50 - index })]);
      }
      await store.saveDefinitions([definitionRow({ version: "e", spec: "{}" })]);
      const all = await store.listDefinitions("nightly", { limit: 10 });
      assert.deepEqual(
        all,
        versions.toReversed().map((version, index) => ({
          ...definitionRow({ version, createdAt: 46 + index }),
          saveNumber: all[index]?.saveNumber,
        })),
      );
      assert.ok(all.every(({ saveNumber }, index) => index === 0 || saveNumber < (all[index - 1]?.saveNumber ?? 0)));
      assert.deepEqual(await store.listDefinitions("nightly", { limit: 2 }), all.slice(0, 2));
      const before = all[1]?.saveNumber ?? 0;
      assert.deepEqual(await store.listDefinitions("nightly", { before, limit: 2 }), all.slice(2, 4));
      assert.deepEqual(await store.listDefinitions("nightly", { before: all[4]?.saveNumber ?? 0, limit: 2 }), []);
      assert.deepEqual(await store.listDefinitions("hourly", { limit: 2 }), []);
    });

    test("those of one save are listed in its order", async (t) => {
      const store = await fresh(t, makeStore);
      await store.saveDefinitions(["b", "c", "a"].map((version) => definitionRow({ version })));
      await (await Owner.claim(store)).commit({ definitions: [definitionRow({ version: "A" })] });
      const listed = await store.listDefinitions("nightly", { limit: 9 });
      assert.deepEqual(
        listed.map(({ version }) => version),
        ["A", "a", "c", "b"],
      );
    });

    test("a name and a version are kept apart", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      await owner.commit({ definitions: [definitionRow({ name: "a b", version: "c" })] });
      assert.equal(await store.findDefinition("a", "b c"), undefined);
    });
  });
}
