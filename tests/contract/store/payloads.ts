import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hasCode } from "../../../src/base/error.ts";
import { payloadBytesMax } from "../../../src/kernel/payload.ts";
import { fresh, Owner } from "./subject.ts";
import type { MakeStore } from "./subject.ts";

export function payloadsSuite(name: string, makeStore: MakeStore): void {
  describe(`${name}: payloads`, () => {
    test("they come in the order asked for, as often as asked for", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      const payloads = [1, 2, 3].map((ref) => ({ instance: 1, ref, body: `"${ref}"` }));
      await owner.commit({ payloads: [...payloads, { instance: 2, ref: 1, body: '"other"' }] });
      assert.deepEqual(await store.loadPayloads(1, [3, 1, 3]), ['"3"', '"1"', '"3"']);
      assert.deepEqual(await store.loadPayloads(2, [1]), ['"other"']);
      assert.deepEqual(await store.loadPayloads(1, []), []);
    });

    test("a missing one is STORE_DATA", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      await owner.commit({ payloads: [{ instance: 1, ref: 1, body: "1" }] });
      await assert.rejects(store.loadPayloads(1, [1, 2]), (error) => hasCode(error, "STORE_DATA"));
      await assert.rejects(store.loadPayloads(2, [1]), (error) => hasCode(error, "STORE_DATA"));
    });

    test("one of the largest size comes back whole", async (t) => {
      const store = await fresh(t, makeStore);
      const owner = await Owner.claim(store);
      const body = JSON.stringify(`${"x".repeat(payloadBytesMax - 6)}😀`);
      await owner.commit({ payloads: [{ instance: 1, ref: 1, body }] });
      const [read] = await store.loadPayloads(1, [1]);
      assert.ok(read === body, "the body is the one that was written");
    });
  });
}
