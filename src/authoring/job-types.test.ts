import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { defineJob, type Job } from "./job.ts";
import type { Task } from "./task.ts";
import { TaskBuilder } from "./task-builder.ts";

/** `true` where either type stands for the other. Holding them against it is the compiler's part of these tests. */
type Same<A, B> = [A, B] extends [B, A] ? true : false;

const extract = defineJob(
  "extract",
  { input: z.object({ table: z.string(), limit: z.number().default(10) }) },
  async ({ table, limit }, ctx) => {
    true satisfies Same<typeof table, string>;
    true satisfies Same<typeof limit, number>;
    true satisfies Same<typeof ctx.signal, AbortSignal>;
    return { rows: limit };
  },
);
interface ExtractInput {
  table: string;
  limit?: number | undefined;
}
const clean = defineJob("clean", () => 1);
const copy = defineJob("copy", async (params: { from: string }) => params.from);
const count = defineJob("count", { input: z.string().transform((text) => text.length) }, (length) => length * 2);
const maybe = defineJob("maybe", { input: z.number().optional(), isolation: "inline" }, (n) => n ?? 0);

const invalid = { code: "PARAMS_INVALID" };

test("a job's types come from its schema: what a task gives, and what the function receives", () => {
  true satisfies Same<typeof extract, Job<{ table: string; limit: number }, { rows: number }, ExtractInput>>;
  true satisfies Same<typeof copy, Job<{ from: string }, string>>;
  true satisfies Same<typeof count, Job<number, number, string>>;
});

test("jobs of all kinds fit into one list", () => {
  const jobs: readonly Job[] = [extract, clean, copy, count, maybe];
  assert.equal(jobs.length, 5);
});

test("params of a job object are checked by the compiler", () => {
  const orders = new TaskBuilder("orders")
    .withTimeout(60)
    .withJobFunction(extract, { table: "orders" })
    .withRetryCount(3);
  const task = orders.build();
  true satisfies Same<typeof task, Task<ExtractInput>>;
  assert.deepEqual(task.params, { table: "orders" });

  // @ts-expect-error table is text
  assert.throws(() => new TaskBuilder("t").withJobFunction(extract, { table: 1 }).build(), invalid);
  // @ts-expect-error table is missing
  assert.throws(() => new TaskBuilder("t").withJobFunction(extract, {}).build(), invalid);
  // @ts-expect-error params are missing
  assert.throws(() => new TaskBuilder("t").withJobFunction(extract).build(), invalid);
  // @ts-expect-error the function receives a number, but a task gives the text it is made of
  assert.throws(() => new TaskBuilder("t").withJobFunction(count, 5).build(), invalid);
  // @ts-expect-error no schema checks it at run time, but the function's own type does here
  assert.ok(new TaskBuilder("t").withJobFunction(copy, { from: 1 }).build());
});

test("params may be left out where the job accepts none", () => {
  assert.equal(new TaskBuilder("t").withJobFunction(clean).build().params, undefined);
  assert.equal(new TaskBuilder("t").withJobFunction(maybe).build().params, undefined);
  assert.equal(new TaskBuilder("t").withJobFunction(maybe, 4).build().params, 4);
});

test("a name says nothing about params", () => {
  const task = new TaskBuilder("t").withJobFunction("extract", { anything: [1] }).build();
  true satisfies Same<typeof task, Task>;
});

test("updateParams is checked the same way", () => {
  const task = new TaskBuilder("t").withJobFunction(extract, { table: "orders" }).build();
  task.updateParams({ table: "customers", limit: 3 });
  // @ts-expect-error table is text
  assert.throws(() => task.updateParams({ table: 1 }), invalid);
  assert.deepEqual(task.params, { table: "customers", limit: 3 });
});
