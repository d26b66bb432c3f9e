import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { hasCode } from "../base/error.ts";
import { requireValid, validateValue, parseOptional } from "./values.ts";

test("no text is no value", () => {
  assert.deepEqual(
    [parseOptional(undefined), parseOptional("null"), parseOptional('{"a":1}')],
    [undefined, null, { a: 1 }],
  );
});

test("a value is what its schema makes of it, or is refused with what is wrong", async () => {
  assert.equal(await validateValue(z.coerce.number(), "5", "it"), 5);
  await assert.rejects(
    validateValue(z.object({ n: z.number() }), { n: "x" }, "the input"),
    (error) => hasCode(error, "INPUT_INVALID") && error.message.startsWith("the input does not fit its schema: n: "),
  );
  assert.equal(requireValid({ ok: true, value: 1 }, "it"), 1);
});
