import assert from "node:assert/strict";
import { test } from "node:test";
import { UndoFailed, UndoScope } from "./undo-scope.ts";

test("the last thing first, one after the other", async () => {
  const seen: number[] = [];
  const scope = new UndoScope();
  for (const n of [1, 2, 3]) {
    scope.add(async () => {
      seen.push(n);
      await Promise.resolve();
      seen.push(n * 10);
    });
  }
  assert.deepEqual(await scope.undo(), []);
  assert.deepEqual(seen, [3, 30, 2, 20, 1, 10]);
});

test("nothing is undone twice; what is added meanwhile is undone too", async () => {
  const seen: string[] = [];
  const scope = new UndoScope();
  scope.add(() => void seen.push("first"));
  scope.add(() => {
    seen.push("second");
    scope.add(() => void seen.push("added"));
  });
  await scope.undo();
  await scope.undo();
  assert.deepEqual(seen, ["second", "added", "first"]);
});

test("one that fails does not keep the others from running", async () => {
  const scope = new UndoScope();
  scope.add(() => Promise.reject(new Error("one")));
  scope.add(() => {
    throw new Error("two");
  });
  assert.deepEqual(await scope.undo(), ["two", "one"]);
});

test("without anything to undo nothing happens", async () => {
  assert.deepEqual(await new UndoScope().undo(), []);
});

test("a failure of both kinds has both in its message, and what it began with as its cause", () => {
  const cause = new Error("no");
  const error = new UndoFailed(cause, ["one", "two"]);
  assert.deepEqual(
    [error.name, error.message, error.cause],
    ["UndoFailed", "no; and not everything could be undone: one; two", cause],
  );
});
