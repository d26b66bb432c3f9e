import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Store } from "../../../src/stores/store.ts";
import { fresh, freshUsers } from "./subject.ts";
import type { MakeStore } from "./subject.ts";

async function bodies(store: Store, mailboxes: readonly string[], limit = 100): Promise<string[]> {
  return (await store.listMailboxRows(mailboxes, limit)).map((mail) => mail.body);
}

/** At the times 0, 1, 2 … */
async function postAll(store: Store, mail: readonly (readonly [mailbox: string, body: string])[]): Promise<void> {
  for (const [at, [mailbox, body]] of mail.entries()) await store.post({ mailbox, body, at });
}

export function mailSuite(name: string, makeStore: MakeStore): void {
  readingSuite(name, makeStore);
  deletingSuite(name, makeStore);
}

function readingSuite(name: string, makeStore: MakeStore): void {
  describe(`${name}: mail is read`, () => {
    test("in the order it was put there, whatever the clock said", async (t) => {
      const store = await fresh(t, makeStore);
      await store.post({ mailbox: "a", body: "first", at: 500 });
      await store.post({ mailbox: "a", body: "second", at: 100 });
      await store.post({ mailbox: "a", body: "first", at: 300 });
      const mail = await store.listMailboxRows(["a"], 10);
      assert.deepEqual(
        mail.map(({ mailbox, body }) => [mailbox, body]),
        [
          ["a", "first"],
          ["a", "second"],
          ["a", "first"],
        ],
      );
      assert.deepEqual(Object.keys(mail[0] ?? {}).sort(), ["body", "id", "mailbox"]);
      assert.equal(new Set(mail.map(({ id }) => id)).size, 3);
    });

    test("from the mailboxes asked for alone, in one order for all of them", async (t) => {
      const store = await fresh(t, makeStore);
      await postAll(store, [
        ["b", "1"],
        ["a", "2"],
        ["c", "3"],
        ["ab", "4"],
        ["b", "5"],
        ["a", "6"],
      ]);
      assert.deepEqual(await bodies(store, ["a", "b"]), ["1", "2", "5", "6"]);
      assert.deepEqual(await bodies(store, ["a", "a"]), ["2", "6"]);
      assert.deepEqual(await bodies(store, ["nobody"]), []);
      assert.deepEqual(await bodies(store, []), []);
    });

    test("as much as asked for, the oldest first, and it stays where it is", async (t) => {
      const store = await fresh(t, makeStore);
      await postAll(store, [
        ["b", "1"],
        ["a", "2"],
        ["b", "3"],
        ["a", "4"],
      ]);
      assert.deepEqual(await bodies(store, ["a", "b"], 3), ["1", "2", "3"]);
      assert.deepEqual(await bodies(store, ["a", "b"], 3), ["1", "2", "3"]);
    });

    test("by everybody", async (t) => {
      const [one, two = one, three = one] = await freshUsers(t, makeStore, 3);
      await Promise.all([one.post({ mailbox: "a", body: "1", at: 0 }), two.post({ mailbox: "a", body: "2", at: 0 })]);
      assert.deepEqual((await bodies(three, ["a"])).sort(), ["1", "2"]);
    });

    test("also a large one", async (t) => {
      const store = await fresh(t, makeStore);
      const body = "x".repeat(1_000_000);
      await store.post({ mailbox: "a", body, at: 0 });
      assert.ok((await bodies(store, ["a"]))[0] === body, "the body is the one that was posted");
    });
  });
}

function deletingSuite(name: string, makeStore: MakeStore): void {
  describe(`${name}: mail is deleted`, () => {
    test("by its id", async (t) => {
      const store = await fresh(t, makeStore);
      await postAll(store, [
        ["a", "1"],
        ["a", "2"],
        ["b", "3"],
      ]);
      const [first, , third] = await store.listMailboxRows(["a", "b"], 10);
      await store.deleteMailboxRows([third?.id ?? 0, first?.id ?? 0]);
      assert.deepEqual(await bodies(store, ["a", "b"]), ["2"]);
      await store.deleteMailboxRows([]);
      assert.deepEqual(await bodies(store, ["a", "b"]), ["2"]);
    });

    test("and its id is never given to another", async (t) => {
      const store = await fresh(t, makeStore);
      await store.post({ mailbox: "a", body: "1", at: 0 });
      const ids = (await store.listMailboxRows(["a"], 1)).map((mail) => mail.id);
      await store.deleteMailboxRows(ids);
      await store.post({ mailbox: "a", body: "2", at: 0 });
      await store.deleteMailboxRows(ids);
      assert.deepEqual(await bodies(store, ["a"]), ["2"]);
    });

    test("when nobody fetched it in time, of any mailbox", async (t) => {
      const store = await fresh(t, makeStore);
      await postAll(store, [
        ["a", "at 0"],
        ["b", "at 1"],
        ["a", "at 2"],
        ["b", "at 3"],
      ]);
      await store.deleteMailboxRowsBefore(2);
      assert.deepEqual(await bodies(store, ["a", "b"]), ["at 2", "at 3"]);
      await store.deleteMailboxRowsBefore(2);
      assert.deepEqual(await bodies(store, ["a", "b"]), ["at 2", "at 3"]);
    });
  });
}
