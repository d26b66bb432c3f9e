/** The form of an input, from its JSON Schema. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { problemsOf, refusedFields } from "../../console/src/schema/input-problems.ts";
import { fieldOf, initialValue, type JsonSchema, schemaOfContext } from "../../console/src/schema/json-schema.ts";

const order: JsonSchema = {
  type: "object",
  properties: {
    customer: { $ref: "#/$defs/customer" },
    amount: { type: "number", exclusiveMinimum: 0, maximum: 100 },
    currency: { type: "string", enum: ["EUR", "CNY"], default: "CNY" },
    tags: { type: "array", items: { type: "string", minLength: 2 }, maxItems: 2 },
    note: { anyOf: [{ type: "string" }, { type: "null" }] },
    level: { anyOf: [{ const: "low" }, { const: "high" }] },
    anything: {},
  },
  required: ["customer", "amount", "currency"],
  $defs: { customer: { type: "object", properties: { name: { type: "string" } }, required: ["name"] } },
};

const kinds = (schema: JsonSchema): Record<string, string> =>
  Object.fromEntries(Object.entries(schema.properties ?? {}).map(([name, each]) => [name, fieldOf(each, schema).kind]));

describe("the form of an input schema", () => {
  test("12.4 has a field for each type, and JSON for what no field fits", () => {
    assert.deepEqual(kinds(order), {
      customer: "object",
      amount: "number",
      currency: "choice",
      tags: "list",
      note: "text",
      level: "choice",
      anything: "json",
    });
    assert.equal(fieldOf({ anyOf: [{ type: "string" }, { type: "null" }] }, order).mayBeNull, true);
    assert.deepEqual(fieldOf({ anyOf: [{ const: "low" }, { const: "high" }] }, order).choices, ["low", "high"]);
    assert.equal(fieldOf({ type: ["string", "number"] }, order).kind, "json");
    assert.equal(fieldOf({ $ref: "#/$defs/loop" }, { $defs: { loop: { $ref: "#/$defs/loop" } } }).kind, "json");
    assert.equal(fieldOf({ $ref: "https://example.com/schema" }, order).kind, "json");
  });

  test("12.4 begins with the defaults, and with the objects that are required", () => {
    assert.deepEqual(initialValue(order, order, true), { customer: {}, currency: "CNY" });
    assert.equal(initialValue({ type: "integer" }, order, true), undefined);
  });

  test("12.4 the start values of a DAG's context are the fields of its form", () => {
    const schema = schemaOfContext({ day: "monday", rows: 3, dry: false, filter: { a: 1 } });
    assert.ok(schema);
    assert.deepEqual(kinds(schema), { day: "text", rows: "number", dry: "boolean", filter: "json" });
    assert.deepEqual(initialValue(schema, schema, true), { day: "monday", rows: 3, dry: false, filter: { a: 1 } });
    assert.equal(schemaOfContext({}), undefined);
  });

  test("12.4 names each problem by the path of its field", () => {
    const wrong = {
      customer: {},
      amount: 0,
      currency: "USD",
      tags: ["ok", "x"],
      note: 1,
    };
    assert.deepEqual(Object.fromEntries(problemsOf(order, wrong)), {
      "customer.name": { kind: "missing" },
      amount: { kind: "above", limit: 0 },
      currency: { kind: "choice" },
      "tags.1": { kind: "short", limit: 2 },
      note: { kind: "type" },
    });
    const right = { customer: { name: "Ann" }, amount: 100, currency: "EUR", note: null, level: "low", anything: [1] };
    assert.equal(problemsOf(order, right).size, 0);
    assert.deepEqual([...problemsOf(order, { ...right, amount: 101 })], [["amount", { kind: "max", limit: 100 }]]);
    assert.deepEqual(
      [...problemsOf(order, { ...right, tags: ["aa", "bb", "cc"] })],
      [["tags", { kind: "many", limit: 2 }]],
    );
    assert.deepEqual([...problemsOf({ type: "integer" }, 1.5)], [["", { kind: "type" }]]);
    assert.deepEqual([...problemsOf({ type: "string", pattern: "^a+$" }, "b")], [["", { kind: "pattern" }]]);
    assert.equal(problemsOf({ type: "string", pattern: "(" }, "b").size, 0);
  });

  test("12.4 puts what the server refuses beside the fields that it names", () => {
    const message = `the input of workflow "order" does not fit its schema: customer.name: Too small; coupon: must begin with C-`;
    assert.deepEqual(Object.fromEntries(refusedFields(message)), {
      "customer.name": { kind: "server", text: "Too small" },
      coupon: { kind: "server", text: "must begin with C-" },
    });
    assert.equal(refusedFields("no workflow of this name").size, 0);
  });
});
