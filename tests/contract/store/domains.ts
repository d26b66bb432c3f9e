import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { DomainRow } from "../../../src/stores/store.ts";
import { fresh, freshUsers } from "./subject.ts";
import type { MakeStore } from "./subject.ts";

const byName = (a: DomainRow, b: DomainRow) => (a.name < b.name ? -1 : 1);

export function domainsSuite(name: string, makeStore: MakeStore): void {
  describe(`${name}: domains`, () => {
    test("they are saved and replaced by name", async (t) => {
      const store = await fresh(t, makeStore);
      assert.deepEqual(await store.loadDomains(), []);
      await store.saveDomain({ name: "b", size: 4, priority: 1 });
      await store.saveDomain({ name: "a", size: 2, priority: -1 });
      await store.saveDomain({ name: "b", size: 8, priority: 0 });
      assert.deepEqual((await store.loadDomains()).sort(byName), [
        { name: "a", size: 2, priority: -1 },
        { name: "b", size: 8, priority: 0 },
      ]);
    });

    test("every member sees them", async (t) => {
      const [one, two = one] = await freshUsers(t, makeStore, 2);
      await one.saveDomain({ name: "a", size: 1, priority: 0 });
      await two.saveDomain({ name: "a", size: 2, priority: 0 });
      assert.deepEqual(await one.loadDomains(), [{ name: "a", size: 2, priority: 0 }]);
    });

    test("what was saved is the store's own", async (t) => {
      const store = await fresh(t, makeStore);
      const domain = { name: "a", size: 1, priority: 0 };
      await store.saveDomain(domain);
      domain.size = 2;
      const [read] = await store.loadDomains();
      assert.equal(read?.size, 1);
      Object.assign(read, { size: 3 });
      assert.equal((await store.loadDomains())[0]?.size, 1);
    });
  });
}
