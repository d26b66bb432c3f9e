import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { defineJob, type JobOptions } from "./job.ts";

test("a job is a name, a function and how to run it", () => {
  const run = async () => 1;
  assert.deepEqual(defineJob("extract", run), { name: "extract", fn: run, isolation: "inline" });

  const input = z.object({ table: z.string() });
  const source = { module: import.meta.url, export: "extract" };
  const job = defineJob("extract", { input, isolation: "thread", source, jobId: 101 }, run);
  assert.deepEqual(job, { name: "extract", fn: run, input, isolation: "thread", source, jobId: 101 });
});

test("a name must be text without an @", () => {
  for (const name of ["", "  ", 7 as unknown as string, undefined as unknown as string]) {
    assert.throws(() => defineJob(name, () => 1), { code: "JOB_INVALID", message: /name must be text, not blank/ });
  }
  assert.throws(() => defineJob("a@b", () => 1), { code: "JOB_INVALID", message: /"a@b" must not have an @/ });
});

test("bad options are refused with what to do", () => {
  const refuse = (options: unknown, message: RegExp) =>
    assert.throws(() => defineJob("j", options as JobOptions, () => 1), { code: "JOB_INVALID", message });
  refuse({ isolation: "thread" }, /job "j" runs in a thread.*export it and give source/);
  refuse({ isolation: "process" }, /job "j" runs in a process.*export it and give source/);
  refuse({ isolation: "vm" }, /isolation must be "inline", "thread" or "process", got "vm"/);
  refuse({ memoryLimitMb: 512 }, /memoryLimitMb, which needs isolation "process"/);
  const inProcess = { isolation: "process", source: { module: import.meta.url, export: "j" } };
  refuse({ ...inProcess, memoryLimitMb: 63 }, /memoryLimitMb must be a whole number, at least 64, got 63/);
  refuse({ ...inProcess, memoryLimitMb: 100.5 }, /memoryLimitMb must be a whole number, at least 64, got 100.5/);
  refuse({ source: { module: "", export: "j" } }, /source must be \{ module, export \}/);
  refuse({ jobId: -1 }, /jobId must be a whole number/);
  refuse({ jobId: 1.5 }, /jobId must be a whole number/);
  refuse({ input: { parse: () => 1 } }, /input must be a Standard Schema/);
});

test("what is not a function is refused", () => {
  assert.throws(() => defineJob("j", {}, undefined as never), { code: "JOB_INVALID", message: /needs a function/ });
  assert.throws(() => defineJob("j", "text" as never), { code: "JOB_INVALID", message: /needs a function/ });
  assert.throws(() => defineJob("j", null as never), { code: "JOB_INVALID", message: /needs a function/ });
});
