import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { copyAsJson, toJsonText } from "./json-text.ts";

function refused(message: RegExp) {
  return { code: "VALUE_NOT_SERIALIZABLE", message };
}

test("JSON values become the text JSON gives them", () => {
  fc.assert(fc.property(fc.jsonValue(), (value) => assert.equal(toJsonText(value, "it"), JSON.stringify(value))));
});

test("what JSON leaves out or bends is no error", () => {
  assert.equal(toJsonText(undefined, "it"), undefined);
  assert.equal(toJsonText({ a: undefined, f: () => 1, n: Number.NaN }, "it"), '{"n":null}');
  assert.equal(toJsonText(new Date(0), "it"), '"1970-01-01T00:00:00.000Z"');
  assert.equal(toJsonText({ toJSON: () => 7 }, "it"), "7");
});

test("the part to blame is named", () => {
  const refuse = (value: unknown, message: RegExp) =>
    assert.throws(() => toJsonText(value, "output"), refused(message));
  refuse(1n, /^output cannot be written as JSON: a BigInt$/);
  refuse({ rows: [0, { "total sum": 2n }] }, /: a BigInt at rows\[1\]\["total sum"\]$/);
  refuse([[], [3n]], /: a BigInt at \[1\]\[0\]$/);
  refuse(() => 1, /: it is a function$/);
  refuse(Symbol("s"), /: it is a symbol$/);
});

test("a circle is named; the same object twice is none", () => {
  const node: Record<string, unknown> = { name: "n" };
  node["self"] = { again: node };
  assert.throws(() => toJsonText({ node }, "context"), refused(/a circle at node\.self\.again, which refers back/));

  const shared = { a: 1 };
  assert.throws(() => toJsonText({ x: shared, y: shared, z: 1n }, "context"), refused(/a BigInt at z$/));
});

test("a toJSON that throws is told with its place and kept as the cause", () => {
  const value = {
    deep: {
      toJSON() {
        throw new Error("not today");
      },
    },
  };
  assert.throws(
    () => toJsonText(value, "patch"),
    (error: Error) => {
      assert.match(error.message, /toJSON at deep threw Error: not today/);
      assert.match(String(error.cause), /not today/);
      return true;
    },
  );
});

test("what is nested too deeply is refused, not a crash", () => {
  let deep: unknown = 1;
  for (let i = 0; i < 200_000; i++) deep = [deep];
  assert.throws(() => toJsonText(deep, "output"), refused(/Maximum call stack/));
});

test("a copy shares nothing with its original", () => {
  const original = { list: [1], at: new Date(0) };
  const copy = copyAsJson(original, "it");
  original.list.push(2);
  assert.deepEqual(copy, { list: [1], at: "1970-01-01T00:00:00.000Z" });
  assert.equal(copyAsJson(undefined, "it"), undefined);
});
