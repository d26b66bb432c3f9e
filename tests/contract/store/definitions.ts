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
      assert.deepEqual(await store.loadDefinition("nightly", "a"), definitionRow({ version: "a" }));
      assert.equal(await store.loadDefinition("nightly", "c"), undefined);
      assert.equal(await store.loadDefinition("hourly", "a"), undefined);
    });

    test("a version never changes", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      await owner.commit({ definitions: [definitionRow({ version: "a" })] });
      await owner.commit({ definitions: [definitionRow({ version: "a", spec: "{}", createdAt: 9 })] });
      assert.deepEqual(await store.loadDefinition("nightly", "a"), definitionRow({ version: "a" }));
    });

    test("the latest is the one that was first seen last, whatever the clock said", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      await owner.commit({ definitions: [definitionRow({ version: "b", createdAt: 500 })] });
      await owner.commit({ definitions: [definitionRow({ version: "a", createdAt: 100 })] });
      await owner.commit({
        definitions: [definitionRow({ version: "b" }), definitionRow({ name: "z", version: "c" })],
      });
      assert.equal((await store.latestDefinition("nightly"))?.version, "a");
      assert.equal(await store.latestDefinition("hourly"), undefined);
    });

    test("they may be saved outside of a commit, and are kept as they are if present", async (t) => {
      const store = await fresh(t, makeStore);
      await store.saveDefinitions([definitionRow({ version: "a" }), definitionRow({ version: "b" })]);
      await store.saveDefinitions([definitionRow({ version: "a", spec: "{}", createdAt: 9 })]);
      await (await Owner.claim(store)).commit({ definitions: [definitionRow({ version: "b", spec: "{}" })] });
      await store.saveDefinitions([]);
      assert.deepEqual(await store.loadDefinition("nightly", "a"), definitionRow({ version: "a" }));
      assert.deepEqual(await store.latestDefinition("nightly"), definitionRow({ version: "b" }));
    });

    test("a name and a version are kept apart", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      await owner.commit({ definitions: [definitionRow({ name: "a b", version: "c" })] });
      assert.equal(await store.loadDefinition("a", "b c"), undefined);
    });
  });
}
