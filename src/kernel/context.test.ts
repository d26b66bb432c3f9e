import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { Context } from "./context.ts";
import type { ContextPatch } from "./event.ts";
import type { Payload } from "./payload.ts";

test("top-level keys overwrite, null removes, and the context before stays what it was", () => {
  const before = Context.of({ a: "1", b: `{"x":1}` });
  const after = before.patched({ a: "2", b: null, c: `"new"`, d: null });
  assert.deepEqual(
    [...after.entries],
    [
      ["a", "2"],
      ["c", `"new"`],
    ],
  );
  assert.deepEqual(
    [...before.entries],
    [
      ["a", "1"],
      ["b", `{"x":1}`],
    ],
  );
});

test("a patch without keys gives the same context", () => {
  const context = Context.of({ a: "1" });
  assert.equal(context.patched({}), context);
});

test("an empty context is two braces", () => {
  assert.equal(Context.empty.bytes, 2);
  assert.equal(Context.of({ a: "1" }).patched({ a: null }).bytes, 2);
});

test("a value that travels by reference counts with the size it has", () => {
  assert.equal(Context.of({ a: { ref: 1, bytes: 5000 } }).bytes, `{"a":}`.length + 5000);
});

test("a key like __proto__ is a key like any other", () => {
  const patch = JSON.parse(`{"__proto__":"1","constructor":"2"}`) as ContextPatch;
  const context = Context.empty.patched(patch);
  assert.deepEqual([...context.entries.keys()], ["__proto__", "constructor"]);
  assert.equal(context.bytes, `{"__proto__":1,"constructor":2}`.length);
});

test("the size is exactly that of the whole as JSON in UTF-8, after any row of patches", () => {
  const key = fc.oneof(fc.constantFrom("a", "b", "ä", "😀"), fc.string({ unit: "binary", maxLength: 6 }));
  const patch = fc.dictionary(key, fc.option(fc.jsonValue(), { freq: 4 }), { maxKeys: 5 });
  fc.assert(
    fc.property(fc.array(patch, { maxLength: 8 }), (patches) => {
      let context = Context.empty;
      const whole = new Map<string, unknown>();
      for (const patch of patches) {
        const texts: [string, Payload | null][] = [];
        for (const [key, value] of Object.entries(patch)) {
          texts.push([key, value === null ? null : JSON.stringify(value)]);
          if (value === null) whole.delete(key);
          else whole.set(key, value);
        }
        context = context.patched(Object.fromEntries(texts));
        assert.equal(context.bytes, Buffer.byteLength(JSON.stringify(Object.fromEntries(whole))));
        assert.equal(context.entries.size, whole.size);
      }
    }),
    { numRuns: 1000 },
  );
});
