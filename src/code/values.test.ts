import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { hasCode } from "../base/error.ts";
import { accepted, fitting, parsed } from "./values.ts";

test("no text is no value", () => {
  assert.deepEqual([parsed(undefined), parsed("null"), parsed('{"a":1}')], [undefined, null, { a: 1 }]);
});

test("a value is what its schema makes of it, or is refused with what is wrong", async () => {
  assert.equal(await fitting(z.coerce.number(), "5", "it"), 5);
  await assert.rejects(
    fitting(z.object({ n: z.number() }), { n: "x" }, "the input"),
    (error) => hasCode(error, "INPUT_INVALID") && error.message.startsWith("the input does not fit its schema: n: "),
  );
  assert.equal(accepted({ ok: true, value: 1 }, "it"), 1);
});
