import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { validateNow } from "./job-params.ts";
import { standardSchemaOf } from "./json-schema.ts";

function problem(schema: object, value: unknown): string {
  const verdict = validateNow(standardSchemaOf(schema), value);
  assert.ok(verdict !== undefined);
  return verdict.ok ? "" : verdict.issues;
}

test("values are compared with types, lists of values and ranges", () => {
  const cases: readonly (readonly [object, unknown, string])[] = [
    [{ type: "string" }, "a", ""],
    [{ type: "string" }, 1, "must be string, got 1"],
    [{ type: ["string", "null"] }, null, ""],
    [{ type: ["string", "null"] }, 1, "must be string or null, got 1"],
    [{ type: "integer" }, 1.5, "must be integer, got 1.5"],
    [{ type: "number" }, 1.5, ""],
    [{ type: "boolean" }, true, ""],
    [{ type: "array" }, {}, "must be array, got an object"],
    [{ type: "object" }, [], "must be object, got a list"],
    [{ type: "unheard-of" }, 1, ""],
    [{ enum: ["a", [1]] }, [1], ""],
    [{ enum: ["a", "b"] }, "c", 'must be one of "a", "b", got "c"'],
    [{ const: 3 }, 4, "must be 3, got 4"],
    [{ minimum: 1, maximum: 2 }, 0, "must be at least 1, got 0"],
    [{ minimum: 1, maximum: 2 }, 3, "must be at most 2, got 3"],
    [{ exclusiveMinimum: 1 }, 1, "must be above 1, got 1"],
    [{ exclusiveMaximum: 1 }, 1, "must be below 1, got 1"],
    [{ minLength: 2 }, "😀", "must have at least 2 characters, got 1"],
    [{ maxLength: 1 }, "ab", "must have at most 1 characters, got 2"],
    [{ minItems: 1 }, [], "must have at least 1 items, got 0"],
    [{ maxItems: 1 }, [1, 2], "must have at most 1 items, got 2"],
    [{ pattern: "^(a+)+$" }, "b", ""],
  ];
  for (const [schema, value, expected] of cases) assert.equal(problem(schema, value), expected, JSON.stringify(schema));
});

test("properties and items are told with their path", () => {
  const schema = {
    type: "object",
    properties: { size: { type: "integer" }, files: { type: "array", items: { type: "string" } } },
    required: ["size"],
    additionalProperties: false,
  };
  assert.equal(problem(schema, { size: 1, files: ["a"] }), "");
  assert.equal(problem(schema, {}), 'needs "size"');
  assert.equal(
    problem(schema, { size: "x", files: ["a", 2] }),
    'size: must be integer, got "x"; files.1: must be string, got 2',
  );
  assert.equal(problem(schema, { size: 1, more: 1 }), "more: is not allowed");
  assert.equal(problem(schema, JSON.parse('{"size":1,"__proto__":1}')), "__proto__: is not allowed");
});

test("combinations and references are followed", () => {
  const schema = {
    $defs: { "a/b": { type: "string" }, loop: { $ref: "#/$defs/loop" } },
    anyOf: [{ $ref: "#/$defs/a~1b" }, { type: "number" }],
  };
  assert.equal(problem(schema, "x"), "");
  assert.equal(problem(schema, true), "fits none of its forms");
  assert.equal(problem({ ...schema, anyOf: [{ $ref: "#/$defs/loop" }] }, 1), "");
  assert.equal(problem({ $ref: "#/nowhere/at/all" }, 1), "");
  assert.equal(
    problem({ oneOf: [{ type: "number" }, { type: "integer" }] }, 1),
    "does not fit exactly one of its forms",
  );
  assert.equal(problem({ allOf: [{ type: "number" }, { minimum: 2 }] }, 1), "must be at least 2, got 1");
});

test("what zod writes is understood", () => {
  const schema = z.toJSONSchema(z.object({ file: z.string(), size: z.number().int().default(3) }), { io: "input" });
  assert.equal(problem(schema, { file: "a" }), "");
  assert.match(problem(schema, { file: 7 }), /^file: must be string/);
});
