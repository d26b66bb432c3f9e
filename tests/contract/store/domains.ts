import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { DomainRow } from "../../../src/stores/store.ts";
import { fresh, freshUsers, Owner } from "./subject.ts";
import type { MakeStore } from "./subject.ts";

const byName = (a: DomainRow, b: DomainRow) => (a.name < b.name ? -1 : 1);

export function domainsSuite(name: string, makeStore: MakeStore): void {
  describe(`${name}: domains`, () => {
    test("they are declared once, and changed by commits, by name", async (t) => {
      const store = await fresh(t, makeStore);
      assert.deepEqual(await store.loadDomains(), []);
      await store.declareDomains([
        { name: "b", size: 4, priority: 1 },
        { name: "a", size: 2, priority: -1 },
      ]);
      await store.declareDomains([{ name: "b", size: 8, priority: 0 }]);
      const owner = await Owner.claim(store);
      await owner.commit({ domains: [{ name: "a", size: 5, priority: 0 }] });
      assert.deepEqual((await store.loadDomains()).sort(byName), [
        { name: "a", size: 5, priority: 0 },
        { name: "b", size: 4, priority: 1 },
      ]);
    });

    test("a change by an earlier owner is refused", async (t) => {
      const store = await fresh(t, makeStore);
      const zombie = await Owner.claim(store);
      const owner = await Owner.claim(store);
      await owner.commit({ domains: [{ name: "a", size: 1, priority: 0 }] });
      await assert.rejects(zombie.commit({ domains: [{ name: "a", size: 9, priority: 0 }] }));
      assert.deepEqual(await store.loadDomains(), [{ name: "a", size: 1, priority: 0 }]);
    });

    test("every member sees them", async (t) => {
      const [one, two = one] = await freshUsers(t, makeStore, 2);
      await one.declareDomains([{ name: "a", size: 1, priority: 0 }]);
      await two.declareDomains([{ name: "a", size: 2, priority: 0 }]);
      assert.deepEqual(await two.loadDomains(), [{ name: "a", size: 1, priority: 0 }]);
    });

    test("what was declared is the store's own", async (t) => {
      const store = await fresh(t, makeStore);
      const domain = { name: "a", size: 1, priority: 0 };
      await store.declareDomains([domain]);
      domain.size = 2;
      const [read] = await store.loadDomains();
      assert.equal(read?.size, 1);
      Object.assign(read, { size: 3 });
      assert.equal((await store.loadDomains())[0]?.size, 1);
    });
  });
}
