import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { LineRow, Store } from "../../../src/stores/store.ts";
import { fresh, freshDurable, freshUsers } from "./subject.ts";
import type { MakeStore } from "./subject.ts";

function line(topic: string, body: string, at = 0): { topic: string; at: number; body: string } {
  return { topic, at, body };
}

async function bodies(store: Store, topic: string): Promise<string[]> {
  return (await store.listLines(topic, { limit: 10_000 })).map(({ body }) => body);
}

async function topicsLeft(store: Store, topics: readonly string[]): Promise<string[]> {
  const left = await Promise.all(topics.map((topic) => bodies(store, topic)));
  return topics.filter((_, index) => left[index]?.length);
}

function isRising(lines: readonly LineRow[]): boolean {
  return lines.every(({ number }, index) => index === 0 || number > (lines[index - 1]?.number ?? 0));
}

export function linesSuite(name: string, makeStore: MakeStore): void {
  readingSuite(name, makeStore);
  appendingSuite(name, makeStore);
  deletingSuite(name, makeStore);
}

function readingSuite(name: string, makeStore: MakeStore): void {
  describe(`${name}: lines are read`, () => {
    test("of one topic, in the order they came, whatever the clock said", async (t) => {
      const store = await fresh(t, makeStore);
      await store.appendLines([line("log:a", "1", 500), line("log:b", "2"), line("log:a", "3", 100)]);
      await store.appendLines([line("log:a", "1", 300)]);
      const lines = await store.listLines("log:a", { limit: 10 });
      assert.deepEqual(
        lines.map(({ topic, at, body }) => [topic, at, body]),
        [
          ["log:a", 500, "1"],
          ["log:a", 100, "3"],
          ["log:a", 300, "1"],
        ],
      );
      assert.deepEqual(Object.keys(lines[0] ?? {}).sort(), ["at", "body", "number", "topic"]);
      assert.ok(isRising(lines) && (lines[0]?.number ?? 0) > 0);
      for (const other of ["log:", "log", "LOG:A", "log:a ", ""]) assert.deepEqual(await bodies(store, other), []);
    });

    test("after a number, a page at a time", async (t) => {
      const store = await fresh(t, makeStore);
      await store.appendLines(Array.from({ length: 10 }, (_, index) => line(index % 2 ? "b" : "a", `${index}`)));
      const seen: string[] = [];
      for (let after = 0; ;) {
        const page = await store.listLines("a", { after, limit: 2 });
        if (page.length === 0) break;
        seen.push(...page.map(({ body }) => body));
        after = page.at(-1)?.number ?? 0;
      }
      assert.deepEqual(seen, ["0", "2", "4", "6", "8"]);
    });

    test("the last ones, in the same order", async (t) => {
      const store = await fresh(t, makeStore);
      await store.appendLines(["1", "2", "3", "4"].flatMap((body) => [line("a", body), line("b", body)]));
      const last = await store.listLines("a", { last: true, limit: 2 });
      assert.deepEqual(
        last.map(({ body }) => body),
        ["3", "4"],
      );
      assert.deepEqual(await store.listLines("a", { last: true, limit: 9 }), await store.listLines("a", { limit: 9 }));
      const after = last[0]?.number ?? 0;
      assert.deepEqual(await store.listLines("a", { last: true, after, limit: 9 }), last.slice(1));
      assert.deepEqual(await store.listLines("c", { last: true, limit: 9 }), []);
      const all = await store.listLines("a", { limit: 9 });
      const before = all.at(-1)?.number ?? 0;
      assert.deepEqual(await store.listLines("a", { last: true, before, limit: 9 }), all.slice(0, -1));
      assert.deepEqual(await store.listLines("a", { last: true, before, limit: 1 }), all.slice(-2, -1));
      assert.deepEqual(await store.listLines("a", { before, limit: 1 }), all.slice(0, 1));
    });

    test("also large ones", async (t) => {
      const store = await fresh(t, makeStore);
      const large = ["x".repeat(1_000_000), `'"\\${"业".repeat(350_000)}`, "y".repeat(1_000_000)];
      await store.appendLines(large.map((body) => line("a", body)));
      const found = await bodies(store, "a");
      assert.ok(large.length === found.length && large.every((body, index) => body === found[index]));
    });

    test("for as long as the database lives", async (t) => {
      const subject = await freshDurable(t, makeStore);
      if (!subject) return;
      await subject.store.appendLines([line("a", "1"), line("a", "2")]);
      const before = await subject.store.listLines("a", { limit: 9 });
      const store = await subject.reopen();
      await store.appendLines([line("a", "3")]);
      const lines = await store.listLines("a", { limit: 9 });
      assert.deepEqual(lines.slice(0, 2), before);
      assert.ok(isRising(lines));
    });
  });
}

function appendingSuite(name: string, makeStore: MakeStore): void {
  describe(`${name}: lines are appended`, () => {
    test("none, without trouble", async (t) => {
      const store = await fresh(t, makeStore);
      await store.appendLines([]);
      assert.deepEqual(await bodies(store, ""), []);
    });

    test("many at once, in order", async (t) => {
      const store = await fresh(t, makeStore);
      const many = Array.from({ length: 3000 }, (_, index) => `${index}`);
      await store.appendLines(many.map((body) => line("a", body)));
      assert.deepEqual(await bodies(store, "a"), many);
    });

    test("by several at once: each call's in its order, and no number twice", async (t) => {
      const users = await freshUsers(t, makeStore, 4);
      const calls = Array.from({ length: 40 }, (_, call) => call);
      await Promise.all(
        calls.map((call) =>
          (users[call % users.length] ?? users[0]).appendLines(
            [0, 1, 2, 3, 4].map((index) => line(index % 2 ? "a" : "b", `${call}/${index}`)),
          ),
        ),
      );
      const lines = [await users[0].listLines("a", { limit: 999 }), await users[0].listLines("b", { limit: 999 })];
      assert.ok(lines.every(isRising));
      assert.equal(new Set(lines.flat().map(({ number }) => number)).size, 200);
      const inOrder = lines.flat().sort((a, b) => a.number - b.number);
      for (const call of calls) {
        const own = inOrder.filter(({ body }) => body.startsWith(`${call}/`)).map(({ body }) => body);
        assert.deepEqual(
          own,
          [0, 1, 2, 3, 4].map((index) => `${call}/${index}`),
        );
      }
    });

    test("so that who reads on after the last number it saw misses none", async (t) => {
      const [reader, ...writers] = await freshUsers(t, makeStore, 5);
      let writing = writers.length;
      const seen: string[] = [];
      const write = async (store: Store, who: number): Promise<void> => {
        for (let index = 0; index < 25; index++) await store.appendLines([line("a", `${who}/${index}`), line("b", "")]);
        writing -= 1;
      };
      const follow = async (): Promise<void> => {
        for (let after = 0; ;) {
          const wasWriting = writing > 0;
          const page = await reader.listLines("a", { after, limit: 3 });
          seen.push(...page.map(({ body }) => body));
          after = page.at(-1)?.number ?? after;
          if (page.length === 0 && !wasWriting) return;
          await new Promise((resolve) => setImmediate(resolve));
        }
      };
      await Promise.all([follow(), ...writers.map(write)]);
      assert.equal(seen.length, 100);
      assert.equal(new Set(seen).size, 100);
      assert.deepEqual(seen, await bodies(reader, "a"));
    });
  });
}

function deletingSuite(name: string, makeStore: MakeStore): void {
  describe(`${name}: lines are deleted`, () => {
    test("from before a time", async (t) => {
      const store = await fresh(t, makeStore);
      await store.appendLines([line("a", "3", 3), line("a", "1", 1), line("a", "2", 2), line("b", "1", 1)]);
      await store.deleteLines("a", 2);
      assert.deepEqual(await bodies(store, "a"), ["3", "2"]);
      assert.deepEqual(await bodies(store, "b"), ["1"]);
      await store.deleteLines("a", 2);
      await store.deleteLines("c", 9);
      assert.deepEqual(await bodies(store, "a"), ["3", "2"]);
    });

    test("of one topic, and of none that begins like it", async (t) => {
      const store = await fresh(t, makeStore);
      const others = ["", "a", "a:10", "a:1 ", "A:1", "a:%"];
      const many = Array.from({ length: 11_000 }, (_, index) => line("a:1", `${index}`, index % 7));
      await store.appendLines([...others.map((topic) => line(topic, topic)), ...many]);
      await store.deleteTopic("a:1");
      await store.deleteTopic("b");
      assert.deepEqual(await store.listLines("a:1", { limit: 9 }), []);
      for (const topic of others) assert.deepEqual(await bodies(store, topic), [topic]);
      await store.appendLines([line("a:1", "later")]);
      assert.deepEqual(await bodies(store, "a:1"), ["later"]);
    });

    test("of all topics that begin so, taken literally", async (t) => {
      const topics = ["", "a_b", "a_", "a%b", "aXb", "A_b", "a", "a\\b", "é", "e\u0301", "业务", "a_\u{10ffff}z"];
      const left: [prefix: string, left: string[]][] = [
        ["a_", topics.filter((topic) => !topic.startsWith("a_"))],
        ["a%", topics.filter((topic) => topic !== "a%b")],
        ["%", topics],
        ["_", topics],
        ["a\\", topics.filter((topic) => topic !== "a\\b")],
        ["e", topics.filter((topic) => topic !== "e\u0301")],
        ["业", topics.filter((topic) => topic !== "业务")],
        ["", []],
      ];
      const store = await fresh(t, makeStore);
      for (const [prefix, expected] of left) {
        await store.deleteLines("", 9);
        await store.appendLines(topics.map((topic) => line(topic, "x")));
        await store.deleteLines(prefix, 1);
        assert.deepEqual(await topicsLeft(store, topics), expected, `those that begin with ${prefix}`);
      }
    });

    test("however many there are", async (t) => {
      const store = await fresh(t, makeStore);
      const at = (index: number): number => Math.floor(index / 3000);
      await store.appendLines(Array.from({ length: 2500 }, (_, index) => line("audit", "stays", at(index))));
      const logs = Array.from({ length: 10_500 }, (_, index) => line(`log:${index % 3}`, `${index}`, at(index)));
      await store.appendLines(logs.toReversed());
      await store.appendLines([line("log:1", "stays", 9), line("audit", "stays")]);
      await store.deleteLines("log:", 9);
      assert.deepEqual(await topicsLeft(store, ["log:0", "log:1", "log:2"]), ["log:1"]);
      assert.deepEqual(await bodies(store, "log:1"), ["stays"]);
      assert.equal((await bodies(store, "audit")).length, 2501);
    });

    test("and their numbers are never given to others", async (t) => {
      const store = await fresh(t, makeStore);
      await store.appendLines([line("a", "1"), line("a", "2")]);
      const last = (await store.listLines("a", { last: true, limit: 1 }))[0]?.number ?? 0;
      await store.deleteLines("", 9);
      await store.appendLines([line("a", "3")]);
      assert.deepEqual(
        (await store.listLines("a", { after: last, limit: 9 })).map(({ body }) => body),
        ["3"],
      );
    });
  });
}
