import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { defineJob } from "./job.ts";
import { paramsFromText, validateParams, validateParamsNow } from "./job-params.ts";
import type { StandardSchema } from "./standard-schema.ts";

const extract = defineJob(
  "extract",
  { input: z.object({ table: z.string(), limit: z.number().default(10) }) },
  () => 1,
);
const exists = defineJob(
  "exists",
  { input: z.string().refine(async (name) => name !== "gone", "no such table") },
  () => 1,
);
const free = defineJob("free", () => 1);

function schema(validate: StandardSchema["~standard"]["validate"]): StandardSchema {
  return { "~standard": { version: 1, vendor: "test", validate } };
}

test("the function receives what the schema makes of the params", async () => {
  assert.deepEqual(await validateParams(extract, { table: "t" }), { ok: true, value: { table: "t", limit: 10 } });
  assert.deepEqual(await validateParams(free, 7), { ok: true, value: 7 });
});

test("every issue is told with its path", async () => {
  const verdict = await validateParams(extract, { limit: "x" });
  assert.ok(!verdict.ok);
  assert.match(verdict.issues, /^table: .*string.*; limit: .*number/);

  const keyed = schema(() => ({ issues: [{ message: "odd", path: [{ key: "a" }, 0] }, { message: "whole" }] }));
  const job = defineJob("keyed", { input: keyed }, () => 1);
  assert.deepEqual(await validateParams(job, {}), { ok: false, issues: "a.0: odd; whole" });
});

test("a schema that answers later is asked before a run, and has no say while building", async () => {
  assert.deepEqual(await validateParams(exists, "gone"), { ok: false, issues: "no such table" });
  assert.deepEqual(await validateParams(exists, "here"), { ok: true, value: "here" });
  assert.equal(validateParamsNow(exists, "gone"), undefined);
});

test("a schema that throws has not accepted", async () => {
  const broken = defineJob(
    "broken",
    {
      input: schema(() => {
        throw new Error("oops");
      }),
    },
    () => 1,
  );
  const expected = { ok: false, issues: "the schema itself failed: oops" };
  assert.deepEqual(await validateParams(broken, 1), expected);
  assert.deepEqual(validateParamsNow(broken, 1), expected);
});

test("a schema that rejects later does no harm while building", async () => {
  const late = defineJob("late", { input: schema(() => Promise.reject(new Error("later"))) }, () => 1);
  assert.equal(validateParamsNow(late, 1), undefined);
  assert.deepEqual(await validateParams(late, 1), { ok: false, issues: "the schema itself failed: later" });
});

test("a node's text is JSON, or itself", () => {
  assert.deepEqual(paramsFromText('{"a":1}'), { a: 1 });
  assert.equal(paramsFromText('"text"'), "text");
  assert.equal(paramsFromText("--date ${day}"), "--date ${day}");
  for (const none of [undefined, null, "", "  "]) assert.equal(paramsFromText(none), undefined);
});
