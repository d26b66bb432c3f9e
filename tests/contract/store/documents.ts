import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Store } from "../../../src/stores/store.ts";
import { documentRow } from "./rows.ts";
import { fresh, freshDurable, freshUsers } from "./subject.ts";
import type { MakeStore } from "./subject.ts";

/** In their order: by code point. JavaScript itself would have the emoji before the last two. */
const namesInOrder = ["", " ", "%", "A", "Z", "_", "a", "a ", "aa", "ab", "b", "é", "я", "业务域", "\ue000", "￼", "😀"];

async function names(store: Store, page: { after?: string; limit: number }): Promise<string[]> {
  return (await store.listDocuments("token", page)).map(({ name }) => name);
}

export function documentsSuite(name: string, makeStore: MakeStore): void {
  savingSuite(name, makeStore);
  racingSuite(name, makeStore);
  listingSuite(name, makeStore);
  deletingSuite(name, makeStore);
}

function savingSuite(name: string, makeStore: MakeStore): void {
  describe(`${name}: a document is saved`, () => {
    test("in revision 1 if there is none, then in the next", async (t) => {
      const store = await fresh(t, makeStore);
      assert.equal(await store.findDocument("token", "a"), undefined);
      assert.equal(await store.saveDocument(documentRow({ name: "a" })), true);
      assert.deepEqual(await store.findDocument("token", "a"), documentRow({ name: "a" }));
      const next = documentRow({ name: "a", revision: 2, at: 9, body: "next" });
      assert.equal(await store.saveDocument(next), true);
      assert.deepEqual(await store.findDocument("token", "a"), next);
    });

    test("in no other revision, and nothing is changed then", async (t) => {
      const store = await fresh(t, makeStore);
      for (const revision of [0, 2, 3]) {
        assert.equal(await store.saveDocument(documentRow({ name: "a", revision })), false, `${revision} of none`);
      }
      assert.equal(await store.findDocument("token", "a"), undefined);
      await store.saveDocument(documentRow({ name: "a" }));
      await store.saveDocument(documentRow({ name: "a", revision: 2 }));
      for (const revision of [0, 1, 2, 4]) {
        const other = documentRow({ name: "a", revision, body: "other" });
        assert.equal(await store.saveDocument(other), false, `${revision} after 2`);
      }
      assert.deepEqual(await store.findDocument("token", "a"), documentRow({ name: "a", revision: 2 }));
    });

    test("once, however often it is sent", async (t) => {
      const store = await fresh(t, makeStore);
      for (const revision of [1, 2]) {
        const document = documentRow({ name: "a", revision });
        for (let sent = 0; sent < 3; sent++) assert.equal(await store.saveDocument(document), true);
        assert.deepEqual(await store.findDocument("token", "a"), document);
      }
      assert.equal(await store.saveDocument(documentRow({ name: "a", revision: 1 })), false, "it has moved on");
    });

    test("under its kind and its name, which are kept apart", async (t) => {
      const store = await fresh(t, makeStore);
      await store.saveDocument(documentRow({ kind: "a", name: "bc", body: "1" }));
      await store.saveDocument(documentRow({ kind: "ab", name: "c", body: "2" }));
      await store.saveDocument(documentRow({ kind: "A", name: "bc", body: "3" }));
      await store.saveDocument(documentRow({ kind: "a", name: "bc ", body: "4" }));
      assert.equal((await store.findDocument("a", "bc"))?.body, "1");
      assert.equal((await store.findDocument("ab", "c"))?.body, "2");
      assert.equal((await store.findDocument("A", "bc"))?.body, "3");
      assert.equal(await store.findDocument("abc", ""), undefined);
    });

    test("also a large one", async (t) => {
      const store = await fresh(t, makeStore);
      const body = `'"\\${"业".repeat(350_000)}`;
      for (const revision of [1, 2]) {
        assert.equal(await store.saveDocument(documentRow({ name: "a", revision, body })), true);
        assert.equal(await store.saveDocument(documentRow({ name: "a", revision, body })), true);
      }
      assert.ok((await store.findDocument("token", "a"))?.body === body, "the body is the one that was saved");
    });

    test("for as long as the database lives", async (t) => {
      const subject = await freshDurable(t, makeStore);
      if (!subject) return;
      await subject.store.saveDocument(documentRow({ name: "a" }));
      const store = await subject.reopen();
      assert.deepEqual(await store.listDocuments("token", { limit: 9 }), [documentRow({ name: "a" })]);
    });
  });
}

function racingSuite(name: string, makeStore: MakeStore): void {
  describe(`${name}: several save one document at once`, () => {
    for (const revision of [1, 2]) {
      test(`and one of them wins, at revision ${revision}`, async (t) => {
        const users = await freshUsers(t, makeStore, 4);
        if (revision === 2) await users[0].saveDocument(documentRow({ name: "a" }));
        const bodies = Array.from({ length: 12 }, (_, index) => `from ${index}`);
        const won = await Promise.all(
          bodies.map((body, index) =>
            (users[index % users.length] ?? users[0]).saveDocument(documentRow({ name: "a", revision, body })),
          ),
        );
        const winners = bodies.filter((_, index) => won[index]);
        assert.equal(winners.length, 1);
        assert.equal((await users[0].findDocument("token", "a"))?.body, winners[0]);
      });
    }

    test("and each that goes by the last revision gets its change in", async (t) => {
      const users = await freshUsers(t, makeStore, 4);
      await Promise.all(users.map((user, index) => addMarks(user, `${index}`)));
      const { revision, body } = (await users[0].findDocument("token", "marks")) ?? documentRow({ name: "none" });
      assert.equal(revision, 20);
      assert.equal(body.split("").sort().join(""), "00000111112222233333");
    });
  });
}

/** Five times over what is there at that time. */
async function addMarks(store: Store, mark: string): Promise<void> {
  for (let added = 0; added < 5;) {
    const { revision, body } = (await store.findDocument("token", "marks")) ?? { revision: 0, body: "" };
    const isSaved = await store.saveDocument(
      documentRow({ name: "marks", revision: revision + 1, body: `${body}${mark}` }),
    );
    if (isSaved) added++;
  }
}

function listingSuite(name: string, makeStore: MakeStore): void {
  describe(`${name}: documents are listed`, () => {
    test("by name, in any script", async (t) => {
      const store = await fresh(t, makeStore);
      for (const each of namesInOrder.toReversed()) await store.saveDocument(documentRow({ name: each }));
      assert.deepEqual(await names(store, { limit: 100 }), namesInOrder);
    });

    test("a page at a time", async (t) => {
      const store = await fresh(t, makeStore);
      for (const each of namesInOrder) await store.saveDocument(documentRow({ name: each }));
      const seen: string[] = [];
      for (;;) {
        const after = seen.at(-1);
        const page = await names(store, { limit: 3, ...(after !== undefined && { after }) });
        if (page.length === 0) break;
        seen.push(...page);
      }
      assert.deepEqual(seen, namesInOrder);
      assert.deepEqual(await names(store, { after: "", limit: 2 }), [" ", "%"]);
      assert.deepEqual(await names(store, { after: "a!", limit: 2 }), ["aa", "ab"]);
    });

    test("of one kind", async (t) => {
      const store = await fresh(t, makeStore);
      await store.saveDocument(documentRow({ kind: "token", name: "b" }));
      await store.saveDocument(documentRow({ kind: "tokens", name: "a" }));
      await store.saveDocument(documentRow({ kind: "toke", name: "c" }));
      assert.deepEqual(await store.listDocuments("token", { limit: 9 }), [documentRow({ name: "b" })]);
      assert.deepEqual(await store.listDocuments("Token", { limit: 9 }), []);
    });
  });
}

function deletingSuite(name: string, makeStore: MakeStore): void {
  describe(`${name}: a document is deleted`, () => {
    test("in the revision that is there, and in no other", async (t) => {
      const store = await fresh(t, makeStore);
      await store.saveDocument(documentRow({ name: "a" }));
      await store.saveDocument(documentRow({ name: "a", revision: 2 }));
      await store.saveDocument(documentRow({ name: "b", revision: 1 }));
      for (const revision of [0, 1, 3]) assert.equal(await store.deleteDocument("token", "a", revision), false);
      assert.equal(await store.deleteDocument("tokens", "a", 2), false);
      assert.deepEqual(await store.findDocument("token", "a"), documentRow({ name: "a", revision: 2 }));
      assert.equal(await store.deleteDocument("token", "a", 2), true);
      assert.equal(await store.deleteDocument("token", "a", 2), false);
      assert.deepEqual(await names(store, { limit: 9 }), ["b"]);
    });

    test("and begins at revision 1 if it comes back", async (t) => {
      const store = await fresh(t, makeStore);
      await store.saveDocument(documentRow({ name: "a" }));
      await store.deleteDocument("token", "a", 1);
      assert.equal(await store.saveDocument(documentRow({ name: "a", revision: 2 })), false);
      assert.equal(await store.saveDocument(documentRow({ name: "a", body: "again" })), true);
    });
  });
}
