import assert from "node:assert/strict";
import { test } from "node:test";
import { types } from "node:util";
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
  assert.equal(toJsonText({ a: undefined, list: [undefined, 1] }, "it"), '{"list":[null,1]}');
  assert.equal(toJsonText(new Date(0), "it"), '"1970-01-01T00:00:00.000Z"');
  assert.equal(toJsonText({ toJSON: () => 7 }, "it"), "7");
  assert.equal(toJsonText(new URL("http://a.example/"), "it"), '"http://a.example/"');
});

class Point {
  readonly x = 1;
  get sum(): number {
    return this.x + 1;
  }
}

class Sealed {
  readonly #secret = 1;
  reveal(): number {
    return this.#secret;
  }
}

test("an object of a class is its own properties, if it has any", () => {
  assert.equal(toJsonText(new Point(), "it"), '{"x":1}');
  assert.throws(
    () => toJsonText({ sealed: new Sealed() }, "it"),
    refused(/: a Sealed at sealed, of which JSON would keep/),
  );
});

const lost: Readonly<Record<string, readonly [value: unknown, message: RegExp]>> = {
  "a Map": [new Map([["a", 1]]), /: a Map at of\[0\], of which JSON would keep nothing$/],
  "a Map with properties": [Object.assign(new Map(), { a: 1 }), /: a Map at of\[0\]/],
  "a Set": [new Set([1]), /: a Set at of\[0\]/],
  "a WeakMap": [new WeakMap(), /: a WeakMap at of\[0\]/],
  "a RegExp": [/a/, /: a RegExp at of\[0\]/],
  "an Error": [new Error("x"), /: an Error at of\[0\]: give its message, or throw it$/],
  "an Error with a code": [Object.assign(new TypeError("x"), { code: 5 }), /: an Error at/],
  "an ArrayBuffer": [new ArrayBuffer(2), /: a ArrayBuffer at of\[0\]/],
  bytes: [new Uint8Array([1]), /: bytes at of\[0\] \(Uint8Array\): give them as text, such as base64$/],
  "a DataView": [new DataView(new ArrayBuffer(2)), /: bytes at of\[0\] \(DataView\)/],
  "a promise": [Promise.resolve(1), /: a promise at of\[0\]: did you forget await\?$/],
  "a function": [() => 1, /: a function at of\[0\]$/],
  "a symbol": [Symbol("s"), /: a symbol at of\[0\]$/],
  NaN: [Number.NaN, /: NaN at of\[0\], for which JSON has no number$/],
  "-Infinity": [-Infinity, /: -Infinity at of\[0\]/],
  "a boxed NaN": [Object(Number.NaN), /: NaN at of\[0\]/],
  "an invalid Date": [new Date(Number.NaN), /: an invalid Date at of\[0\]$/],
  "a generator": [(function* () {})(), /at of\[0\], of which JSON would keep nothing$/],
  "search params": [new URLSearchParams("a=1"), /: a URLSearchParams at/],
  "what toJSON gives": [{ toJSON: () => ({ deep: new Map() }) }, /: a Map at of\[0\]\.deep/],
};
for (const [name, [value, message]] of Object.entries(lost)) {
  test(`what JSON would lose is refused: ${name}`, () => {
    assert.throws(() => toJsonText({ of: [value] }, "input"), refused(message));
    assert.throws(() => toJsonText(value, "input"), { code: "VALUE_NOT_SERIALIZABLE" });
  });
}

/** What is to come back, worked out without JSON. Throws for what is to be refused. */
function readBack(value: unknown): unknown {
  if (value instanceof Date) {
    if (Number.isNaN(value.getTime())) throw new Error("an invalid date");
    return value.toISOString();
  }
  if (types.isBoxedPrimitive(value)) return readBack(value.valueOf());
  if (typeof value === "number" && !Number.isFinite(value)) throw new Error("not a number of JSON");
  if (typeof value === "bigint" || typeof value === "symbol" || typeof value === "function") throw new Error("lost");
  if (typeof value === "number") return value + 0;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return Array.from(value, (item: unknown) => readBack(item) ?? null);
  if (value instanceof Map || value instanceof Set || ArrayBuffer.isView(value)) throw new Error("lost");
  if (value instanceof WeakMap || value instanceof WeakSet) throw new Error("lost");
  const entries = Object.entries(value).map(([key, part]) => [key, readBack(part)] as const);
  return Object.fromEntries(entries.filter(([, part]) => part !== undefined));
}

test("any value comes back as it was, or is refused", () => {
  const anything = fc.anything({
    withBigInt: true,
    withBoxedValues: true,
    withDate: true,
    withMap: true,
    withNullPrototype: true,
    withObjectString: true,
    withSet: true,
    withSparseArray: true,
    withTypedArray: true,
    maxDepth: 4,
  });
  let refusals = 0;
  fc.assert(
    fc.property(anything, (value) => {
      let expected: unknown;
      try {
        expected = readBack(value);
      } catch {
        refusals++;
        assert.throws(() => toJsonText(value, "it"), { code: "VALUE_NOT_SERIALIZABLE" });
        return;
      }
      const text = toJsonText(value, "it");
      assert.deepEqual(text === undefined ? undefined : JSON.parse(text), expected);
    }),
    { numRuns: 2000 },
  );
  assert.ok(refusals > 50, `${refusals} refusals`);
});

test("the part to blame is named", () => {
  const refuse = (value: unknown, message: RegExp) =>
    assert.throws(() => toJsonText(value, "output"), refused(message));
  refuse(1n, /^output cannot be written as JSON: a BigInt$/);
  refuse({ rows: [0, { "total sum": 2n }] }, /: a BigInt at rows\[1\]\["total sum"\]$/);
  refuse([[], [3n]], /: a BigInt at \[1\]\[0\]$/);
  refuse(() => 1, /: a function$/);
  refuse(
    {
      get broken() {
        throw new Error("no");
      },
    },
    /: what is read at broken threw Error: no$/,
  );
  refuse(Symbol("s"), /: a symbol$/);
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
  assert.throws(() => toJsonText(deep, "output"), refused(/nested deeper than 1000 levels/));
});

test("a toJSON that gives ever new objects is refused, not followed for ever", () => {
  const endless = (): unknown => ({ toJSON: () => [endless()] });
  assert.throws(() => toJsonText(endless(), "it"), /nested deeper than 1000 levels/);
});

test("a copy shares nothing with its original", () => {
  const original = { list: [1], at: new Date(0) };
  const copy = copyAsJson(original, "it");
  original.list.push(2);
  assert.deepEqual(copy, { list: [1], at: "1970-01-01T00:00:00.000Z" });
  assert.equal(copyAsJson(undefined, "it"), undefined);
});
