/** Spec §6: the job registry, over restarts. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { describe, test } from "node:test";
import { z } from "zod";
import { defineJob, Engine, TaskBuilder } from "../../src/index.ts";
import { sqlite } from "../../src/sqlite.ts";
import { Gate, newEngine, says, startEngine, task, taskOf, workflow, untilInstance } from "./rig.ts";
import { LogBook } from "../../src/testing/log-book.rig.ts";
import { temporaryFile } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";

interface JobRow {
  readonly id: string;
  readonly name: string;
  readonly parameters: string;
  readonly code_path: string | null;
  readonly source_hash: string;
  readonly created_at: number;
  readonly updated_at: number;
  readonly missing: number;
}

function jobRows(file: string): JobRow[] {
  const db = new DatabaseSync(file, { readOnly: true });
  const rows = db.prepare("SELECT * FROM job ORDER BY id").all() as unknown as JobRow[];
  db.close();
  return rows;
}

const byTable = { input: z.object({ table: z.string() }) };
const byNumber = { input: z.object({ number: z.number() }) };

describe("6.1 registerJobFunction", () => {
  test("6.1 returns the id: name and hash of the parameter signature", () => {
    const engine = newEngine();
    const id = engine.registerJobFunction("copy", ({ table }: { table: string }) => table, byTable);
    assert.match(id, /^copy@[0-9a-f]{16}$/);
    const same = newEngine().registerJobFunction("copy", ({ table }: { table: string }) => `${table}!`, byTable);
    assert.equal(same, id);
    const other = newEngine().registerJobFunction("copy", ({ number }: { number: number }) => number, byNumber);
    assert.notEqual(other, id);
  });

  test("6.1 stores the metadata: parameter types, code path, hash of the source, times", async (t) => {
    const file = temporaryFile(t);
    const source = { module: import.meta.url, export: "copy" };
    const before = Date.now();
    const engine = await startEngine(t, {
      storage: sqlite(file),
      jobs: [defineJob("copy", { ...byTable, source }, ({ table }) => table)],
    });
    await engine.stop();
    const [row, ...others] = jobRows(file);
    assert.ok(row);
    assert.deepEqual(others, []);
    assert.equal(row.name, "copy");
    const parameters = JSON.parse(row.parameters) as { properties: unknown };
    assert.deepEqual(parameters.properties, { table: { type: "string" } });
    assert.equal(row.code_path, `${import.meta.url}#copy`);
    assert.match(row.source_hash, /^[0-9a-f]{32}$/);
    assert.ok(row.created_at >= before && row.created_at <= Date.now());
    assert.equal(row.updated_at, row.created_at);
    assert.equal(row.missing, 0);
  });

  test("6.1 same name and same signature twice is an error", () => {
    const engine = newEngine({ jobs: [defineJob("copy", byTable, ({ table }) => table)] });
    assert.throws(
      () => engine.registerJobFunction("copy", ({ table }: { table: string }) => table, byTable),
      says("JOB_DUPLICATE", '"copy"', "copy@"),
    );
    const copy = defineJob("copy", byTable, ({ table }) => table);
    assert.throws(() => newEngine({ jobs: [copy, copy] }), says("JOB_DUPLICATE", '"copy"'));
  });

  test("6.1 two signatures of one name live side by side; a plain name needs params that fit exactly one", async (t) => {
    const engine = await startEngine(t);
    const tables = engine.registerJobFunction("copy", ({ table }: { table: string }) => `table ${table}`, byTable);
    engine.registerJobFunction("copy", ({ number }: { number: number }) => `number ${number}`, byNumber);
    const run = await engine.submitWorkflow(
      workflow(
        "w",
        task("a", "copy", { table: "x" }),
        task("b", "copy", { number: 1 }),
        task("c", tables, { table: "y" }),
      ),
    );
    assert.deepEqual(await run.result(), { a: "table x", b: "number 1", c: "table y" });
    await assert.rejects(
      engine.submitWorkflow(workflow("w", task("a", "copy", { table: "x", number: 1 }))),
      says("JOB_AMBIGUOUS", '"a"', '"w"', '"copy"', "more than one", tables),
    );
    await assert.rejects(
      engine.submitWorkflow(workflow("w", task("a", "copy", {}))),
      says("JOB_AMBIGUOUS", '"a"', '"w"', '"copy"', "none", tables),
    );
  });

  test("6.1 names and functions that cannot be are refused", () => {
    const engine = newEngine();
    assert.throws(() => engine.registerJobFunction("", () => 1), says("JOB_INVALID", "name", '""'));
    assert.throws(() => engine.registerJobFunction("a@b", () => 1), says("JOB_INVALID", '"a@b"', "@"));
    assert.throws(
      () => engine.registerJobFunction("a", "code" as unknown as () => number),
      says("JOB_INVALID", '"a"', "function", '"code"'),
    );
    assert.throws(
      () => engine.registerJobFunction("a", () => 1, { input: {} as typeof byTable.input }),
      says("JOB_INVALID", '"a"', "Standard Schema"),
    );
    assert.throws(() => engine.registerJobFunction("a", () => 1, { jobId: 1.5 }), says("JOB_INVALID", '"a"', "1.5"));
  });

  test("6.1 jobs that are no jobs are refused when the engine is made", () => {
    assert.throws(
      () =>
        new Engine({
          storage: sqlite(":memory:"),
          jobs: [(() => 1) as unknown as ReturnType<typeof defineJob<never, never>>],
        }),
      says("OPTION_INVALID", '"jobs"', "defineJob", "a function"),
    );
  });
});

describe("6.2 on start", () => {
  test("6.2 same hash: mapped; another: updated and logged; the times tell", async (t) => {
    const file = temporaryFile(t);
    const engine = await startEngine(t, { storage: sqlite(file), jobs: [defineJob("a", byTable, () => 1)] });
    await engine.stop();
    const [first] = jobRows(file);
    assert.ok(first);

    const unchanged = new LogBook();
    await (
      await startEngine(t, { storage: sqlite(file), jobs: [defineJob("a", byTable, () => 1)], logger: unchanged })
    ).stop();
    assert.deepEqual(jobRows(file), [first]);
    assert.equal(unchanged.find("info", /changed/), undefined);

    const changed = new LogBook();
    await (
      await startEngine(t, { storage: sqlite(file), jobs: [defineJob("a", byTable, () => 2)], logger: changed })
    ).stop();
    const [second] = jobRows(file);
    assert.notEqual(second?.source_hash, first.source_hash);
    assert.equal(second?.created_at, first.created_at);
    assert.equal(second?.id, first.id);
    assert.equal(changed.find("info", /code has changed/)?.fields["job"], "a");
  });

  test("6.2 a new signature under the same name replaces the old, logged", async (t) => {
    const file = temporaryFile(t);
    await (await startEngine(t, { storage: sqlite(file), jobs: [defineJob("a", byTable, () => 1)] })).stop();
    const logger = new LogBook();
    await (await startEngine(t, { storage: sqlite(file), jobs: [defineJob("a", byNumber, () => 1)], logger })).stop();
    const rows = jobRows(file);
    assert.equal(rows.length, 1);
    assert.match(rows[0]?.parameters ?? "", /number/);
    assert.equal(logger.find("info", /new signature replaces the old/)?.fields["job"], "a");
  });

  test("6.2 gone: marked missing, a warning; submit refuses it as missing", async (t) => {
    const file = temporaryFile(t);
    await (await startEngine(t, { storage: sqlite(file), jobs: [defineJob("a", () => 1)] })).stop();
    const logger = new LogBook();
    const engine = await startEngine(t, { storage: sqlite(file), logger });
    assert.equal(logger.find("warn", /no function here/)?.fields["job"], "a");
    assert.equal(jobRows(file)[0]?.missing, 1);
    await assert.rejects(
      engine.submitWorkflow(workflow("w", task("t", "a"))),
      says("JOB_MISSING", '"t"', '"w"', '"a"', "registered earlier"),
    );
    await assert.rejects(
      engine.submitWorkflow(workflow("w", task("t", "never"))),
      says("JOB_MISSING", '"t"', '"w"', '"never"', "not registered"),
    );
    engine.registerJobFunction("a", () => 1);
    await (await engine.submitWorkflow(workflow("w", task("t", "a")))).result();
    await until(() => jobRows(file)[0]?.missing === 0);
  });

  test("6.2 a running instance whose job is gone waits, shows why, and goes on when it is registered", async (t) => {
    const file = temporaryFile(t);
    const gate = new Gate();
    const wait = defineJob("wait", () => gate.opened);
    const later = defineJob("later", () => "at last");
    const before = await startEngine(t, { storage: sqlite(file), jobs: [wait, later] });
    const run = await before.submitWorkflow(workflow("w", task("a", "wait"), task("b", "later").withDependency("a")));
    await before.stop();

    const logger = new LogBook();
    const engine = await startEngine(t, { storage: sqlite(file), jobs: [defineJob("wait", () => 1)], logger });
    const waiting = await untilInstance(
      engine,
      run.instanceId,
      (view) => taskOf(view, "b").wait?.text.includes("not registered") ?? false,
    );
    assert.equal(waiting.status, "Running");
    assert.equal(taskOf(waiting, "b").status, "Pending");
    assert.match(taskOf(waiting, "b").wait?.text ?? "", /job later, which is not registered/);
    assert.ok(logger.find("warn", /wait for job later, which is not registered/));
    assert.equal(engine.health.runningTasks, 0);
    engine.registerJobFunction("later", later.fn);
    assert.deepEqual(await engine.awaitWorkflowInstance(run.instanceId), { a: 1, b: "at last" });
  });

  test("6.2 one that was in the middle of the missing job waits too, and can be paused and terminated meanwhile", async (t) => {
    const file = temporaryFile(t);
    const wait = defineJob(
      "wait",
      (_: unknown, ctx) => new Promise((resolve) => ctx.signal.addEventListener("abort", resolve)),
    );
    const before = await startEngine(t, { storage: sqlite(file), jobs: [wait] });
    const run = await before.submitWorkflow(workflow("w", task("a", "wait")));
    const other = await before.submitWorkflow(workflow("w", task("a", "wait")));
    await until(() => before.health.runningTasks === 2);
    await before.stop();

    const engine = await startEngine(t, { storage: sqlite(file) });
    await untilInstance(
      engine,
      run.instanceId,
      (view) => taskOf(view, "a").wait?.text.includes("not registered") ?? false,
    );
    await engine.terminateWorkflowInstance(other.instanceId, "not needed");
    await engine.pauseWorkflowInstance(run.instanceId);
    await untilInstance(engine, run.instanceId, ({ status }) => status === "Paused");
    await engine.resumeWorkflowInstance(run.instanceId);
    engine.registerJobFunction("wait", () => "here");
    assert.deepEqual(await engine.awaitWorkflowInstance(run.instanceId), { a: "here" });
  });

  test("6.2 a changed job runs on under its new code", async (t) => {
    const file = temporaryFile(t);
    const gate = new Gate();
    const before = await startEngine(t, {
      storage: sqlite(file),
      jobs: [defineJob("wait", () => gate.opened), defineJob("next", () => "old code")],
    });
    const run = await before.submitWorkflow(workflow("w", task("a", "wait"), task("b", "next").withDependency("a")));
    await before.stop();
    const engine = await startEngine(t, {
      storage: sqlite(file),
      jobs: [defineJob("wait", () => "go"), defineJob("next", () => "new code")],
    });
    assert.deepEqual(await engine.awaitWorkflowInstance(run.instanceId), { a: "go", b: "new code" });
  });
});

describe("6.3 parameters", () => {
  test("6.3 are checked before a task runs; a mismatch fails the task without calling the function", async (t) => {
    let calls = 0;
    const strict = defineJob("strict", { input: z.object({ n: z.number() }) }, ({ n }) => {
      calls++;
      return n;
    });
    const engine = await startEngine(t, { jobs: [strict] });
    const run = await engine.submitWorkflow(workflow("w", task("t", "strict", { n: "one" }).withRetryCount(3)));
    await assert.rejects(run.result(), says("WORKFLOW_FAILED", '"t"', '"strict"', "n:"));
    const view = await run.getStatus();
    assert.equal(taskOf(view, "t").failure?.type, "PARAMS_INVALID");
    assert.equal(taskOf(view, "t").attempt, 1);
    assert.equal(calls, 0);
  });

  test("6.3 the function receives what the schema makes of them", async (t) => {
    const when = defineJob(
      "when",
      { input: z.object({ day: z.coerce.date(), n: z.number().default(7) }) },
      ({ day, n }) => [day.getUTCFullYear(), n],
    );
    const engine = await startEngine(t, { jobs: [when] });
    const run = await engine.submitWorkflow(
      workflow("w", new TaskBuilder("t").withJobFunction(when, { day: new Date(Date.UTC(2031, 1, 1)) })),
    );
    assert.deepEqual(await run.result(), { t: [2031, 7] });
  });

  test("6.3 a schema that throws, or answers late, is a mismatch or waited for", async (t) => {
    const schema = (validate: (value: unknown) => Promise<{ value: string }> | { value: string }) =>
      ({ "~standard": { version: 1, vendor: "test", validate } }) as const;
    const broken = defineJob(
      "broken",
      {
        input: schema(() => {
          throw new Error("schema is broken");
        }),
      },
      () => 1,
    );
    const slow = defineJob("slow", { input: schema(async () => ({ value: "checked" })) }, (params) => params);
    const engine = await startEngine(t, { jobs: [broken, slow] });
    const failed = await engine.submitWorkflow(workflow("w", task("t", "broken", {})));
    await assert.rejects(failed.result(), says("WORKFLOW_FAILED", '"t"', "schema is broken"));
    const run = await engine.submitWorkflow(workflow("w", task("t", "slow", {})));
    assert.deepEqual(await run.result(), { t: "checked" });
  });
});
