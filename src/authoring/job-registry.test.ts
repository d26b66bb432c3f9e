import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { defineJob, type Job } from "./job.ts";
import { JobRegistry } from "./job-registry.ts";
import type { StandardSchema } from "./standard-schema.ts";

const byTable = defineJob("copy", { input: z.object({ table: z.string() }) }, () => "table");
const byFile = defineJob("copy", { input: z.object({ file: z.string() }) }, () => "file");

function registryOf(...jobs: readonly Job[]): JobRegistry {
  const registry = new JobRegistry();
  for (const job of jobs) registry.register(job);
  return registry;
}

test("the id is the name and a hash of the parameters, whatever the body", () => {
  const id = new JobRegistry().register(byTable);
  assert.match(id, /^copy@[0-9a-f]{16}$/);
  assert.equal(new JobRegistry().register(defineJob("copy", { input: z.object({ table: z.string() }) }, () => 2)), id);
  assert.notEqual(new JobRegistry().register(byFile), id);
});

test("metadata holds parameter types, code path and a hash of the source", () => {
  const registry = new JobRegistry();
  const source = { module: "file:///jobs.js", export: "copy" };
  const id = registry.register(defineJob("copy", { input: z.object({ table: z.string() }), source }, () => "table"));
  const { save, changes } = registry.reconcile([], 5);
  assert.deepEqual(changes, [{ kind: "new", name: "copy", id }]);
  assert.equal(save.length, 1);
  const { parameters, sourceHash, ...rest } = save[0]!;
  assert.match(parameters, /"properties":\{"table":\{"type":"string"\}\}/);
  assert.match(sourceHash, /^[0-9a-f]{32}$/);
  const signature = id.slice("copy@".length);
  const expected = {
    id,
    name: "copy",
    signature,
    codePath: "file:///jobs.js#copy",
    createdAt: 5,
    updatedAt: 5,
    missing: false,
  };
  assert.deepEqual(rest, expected);
});

test("without a JSON Schema the function's parameter list tells signatures apart", () => {
  const plain: StandardSchema = { "~standard": { version: 1, vendor: "test", validate: (value) => ({ value }) } };
  const registry = registryOf(
    defineJob("a", (_rows: unknown) => 1),
    defineJob("a", (_table: unknown) => 1),
    defineJob("b", { input: z.object({ at: z.date() }) }, (_when) => 1),
    defineJob("c", { input: plain }, (_what) => 1),
  );
  assert.deepEqual(registry.names, ["a", "b", "c"]);
  const described = registry.reconcile([], 0).save.map(({ parameters }) => parameters);
  assert.deepEqual(described, ['"_rows"', '"_table"', '"_when"', '"_what"']);
});

test("the same name and signature twice is an error", () => {
  assert.throws(() => registryOf(byTable, byTable), { code: "JOB_DUPLICATE", message: /"copy" is already registered/ });
});

test("a plain name with one signature needs no params", () => {
  const registry = registryOf(byTable);
  assert.equal(registry.resolve({ jobName: "copy" }).job, byTable);
  assert.equal(registry.resolve({ jobName: "copy", params: "not fitting" }).job, byTable);
});

test("a plain name with several signatures needs params that fit exactly one; a full id always does", () => {
  const registry = registryOf(byTable, byFile);
  const byFileId = registry.resolve({ jobName: "copy", params: '{"file":"f"}' }).id;
  assert.equal(registry.get(byFileId)?.job, byFile);
  assert.equal(registry.resolve({ jobName: byFileId }).job, byFile);
  assert.equal(registry.resolve({ jobName: "copy", params: '{"table":"t"}' }).job, byTable);

  const both = { jobName: "copy", params: '{"table":"t","file":"f"}' };
  assert.throws(() => registry.resolve(both), {
    code: "JOB_AMBIGUOUS",
    message: /fit more than one: use one of copy@.*, copy@/,
  });
  const none = { jobName: "copy", params: "7" };
  assert.throws(() => registry.resolve(none), {
    code: "JOB_AMBIGUOUS",
    message: /fit none of them: use one of copy@.*, copy@/,
  });
});

test("without a name, jobId finds the job registered with it, else the job named by its digits", () => {
  const numbered = defineJob("numbered", { jobId: 101 }, () => 1);
  const digits = defineJob("102", () => 2);
  const registry = registryOf(numbered, digits);
  assert.equal(registry.resolve({ jobId: 101 }).job, numbered);
  assert.equal(registry.resolve({ jobId: "101", jobName: null }).job, numbered);
  assert.equal(registry.resolve({ jobId: 102 }).job, digits);
  assert.throws(() => registry.resolve({ jobId: 103 }), { code: "JOB_MISSING", message: /"103" is not registered/ });
  assert.throws(() => registry.resolve({}), { code: "JOB_MISSING", message: /names no job/ });
});

test("two names cannot share a jobId, two signatures of one name can", () => {
  const first = defineJob("a", { jobId: 1 }, (_x: unknown) => 1);
  registryOf(
    first,
    defineJob("a", { jobId: 1 }, (_y: unknown) => 1),
  );
  assert.throws(
    () =>
      registryOf(
        first,
        defineJob("b", { jobId: 1 }, () => 1),
      ),
    {
      code: "JOB_DUPLICATE",
      message: /jobId 1 belongs to job "a"/,
    },
  );
});

test("an unknown job is told with what was likely meant and what is there", () => {
  const registry = registryOf(
    byTable,
    defineJob("index", () => 1),
  );
  assert.throws(() => registry.resolve({ jobName: "cpoy" }), {
    code: "JOB_MISSING",
    message: 'job "cpoy" is not registered; did you mean "copy"? (registered: copy, index)',
  });
  assert.throws(() => new JobRegistry().resolve({ jobName: "x" }), {
    message: 'job "x" is not registered (no job is)',
  });

  const many = registryOf(...Array.from({ length: 25 }, (_, i) => defineJob(`job-${i}`, () => 1)));
  assert.throws(() => many.resolve({ jobName: "other" }), { message: / and 5 more\)$/ });
});

test("a job of an earlier start that is gone is told as that", () => {
  const stored = registryOf(byTable).reconcile([], 1).save;
  const registry = registryOf(defineJob("index", () => 1));
  registry.reconcile(stored, 2);
  const expected = { code: "JOB_MISSING", message: /was registered earlier, but its function is not here now/ };
  assert.throws(() => registry.resolve({ jobName: "copy" }), expected);
  assert.throws(() => registry.resolve({ jobName: stored[0]!.id }), expected);
});

test("something that is no job is refused, and the message says what a job is", () => {
  for (const given of [{ name: "copy" }, { name: 1, fn: () => 1 }, () => 1, null, undefined]) {
    assert.throws(() => new JobRegistry().register(given as never), {
      code: "JOB_INVALID",
      message: /^a job is what defineJob returns, or a name and a function, got /,
    });
  }
});
