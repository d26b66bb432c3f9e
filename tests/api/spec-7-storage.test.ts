/** Spec §7: what is stored, as anybody can read it with SQL. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { describe, test } from "node:test";
import { defineJob, TaskBuilder } from "../../src/index.ts";
import { sqlite } from "../../src/sqlite.ts";
import { memoryStore, TestClock } from "../../src/testing.ts";
import { Gate, says, startEngine, task, temporaryFile, until, workflow } from "./rig.ts";

const echo = defineJob("echo", (params: unknown) => params ?? "done");
const flaky = defineJob("flaky", (_: unknown, ctx) => {
  if (ctx.attempt === 1) throw new Error("first attempt");
  return "ok";
});

type Row = Record<string, unknown>;

function select(file: string, sql: string, ...values: string[]): Row[] {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    return db.prepare(sql).all(...values);
  } finally {
    db.close();
  }
}

describe("7.2 what the database holds can be read with plain SQL", () => {
  test("7.2 definitions, instances, history, tasks per attempt, timers, jobs, the owner of the shard", async (t) => {
    const file = temporaryFile(t);
    const gate = new Gate();
    const wait = defineJob("wait", () => gate.opened);
    const engine = await startEngine(t, { storage: sqlite(file), jobs: [echo, flaky, wait] });
    const run = await engine.submitWorkflow(
      workflow(
        "nightly",
        task("load", "flaky").withRetryCount(1),
        new TaskBuilder("check").withDecision("outputs.load == 'ok'").withDependency("load"),
        task("hold", "wait").withDependency("check", { when: true }),
      ),
      { instanceId: "2030-01-01" },
    );
    await until(engine, run.instanceId, (view) => view.tasks[2]?.status === "Running");

    const [definition] = select(file, "SELECT name, version, spec FROM definition");
    assert.equal(definition?.["name"], "nightly");
    assert.equal((JSON.parse(String(definition?.["spec"])) as { nodes: unknown[] }).nodes.length, 3);
    const [instance] = select(file, "SELECT * FROM instance");
    assert.equal(instance?.["id"], "2030-01-01");
    assert.equal(instance?.["workflow"], "nightly");
    assert.equal(instance?.["version"], definition?.["version"]);
    assert.equal(instance?.["status"], "Running");

    gate.open();
    await run.result();
    assert.deepEqual(select(file, "SELECT * FROM instance"), []);
    const [finished] = select(file, "SELECT * FROM finished WHERE id = ?", "2030-01-01");
    assert.equal(finished?.["status"], "Success");
    assert.equal(finished?.["tasks"], 3);
    assert.ok(Number(finished?.["ended_at"]) >= Number(finished?.["created_at"]));

    const tasks = select(
      file,
      "SELECT name, type, attempt, status, retry_count, worker, error FROM task ORDER BY task, attempt",
    );
    assert.deepEqual(
      tasks.map((row) => [row["name"], row["type"], row["attempt"], row["status"], row["retry_count"]]),
      [
        ["load", 1, 1, "Failed", 0],
        ["load", 1, 2, "Success", 1],
        ["check", 2, 1, "Success", 0],
        ["hold", 1, 1, "Success", 0],
      ],
    );
    assert.match(String(tasks[0]?.["error"]), /first attempt/);
    assert.match(String(tasks[0]?.["worker"]), new RegExp(`:${process.pid}$`));

    const events = select(file, "SELECT events FROM history ORDER BY turn").flatMap(
      (row) => JSON.parse(String(row["events"])) as { type: string }[],
    );
    assert.equal(events[0]?.type, "InstanceCreated");
    assert.equal(events.at(-1)?.type, "InstanceEnded");
    const history = await engine.getWorkflowInstanceHistory(run.instanceId);
    assert.deepEqual(
      history.flatMap((entry) => entry.events),
      events,
    );
    assert.deepEqual(
      select(file, "SELECT name FROM job ORDER BY name").map((row) => row["name"]),
      ["echo", "flaky", "wait"],
    );
    assert.equal(select(file, "SELECT * FROM shard").length, 1);
  });

  test("7.2 a due timer is on record", async (t) => {
    const file = temporaryFile(t);
    const engine = await startEngine(t, { storage: sqlite(file), jobs: [flaky] });
    const run = await engine.submitWorkflow(
      workflow("w", task("t", "flaky").withRetryCount(1).withRetryPolicy({ initialMs: 60_000 })),
    );
    const view = await until(engine, run.instanceId, ({ tasks }) => tasks[0]?.retryAt !== undefined);
    const [row] = select(file, "SELECT wake FROM instance");
    assert.equal(row?.["wake"], view.tasks[0]?.retryAt);
  });

  test("7.2 large values are rows of their own", async (t) => {
    const file = temporaryFile(t);
    const engine = await startEngine(t, { storage: sqlite(file), jobs: [echo] });
    const big = "x".repeat(100_000);
    const run = await engine.submitWorkflow(
      workflow("w", task("a", "echo", big), task("b", "echo").withDependency("a")),
      { params: { big } },
    );
    assert.deepEqual(await run.result(), { a: big, b: "done" });
    assert.deepEqual(
      select(file, "SELECT length(body) AS length FROM payload").map((row) => row["length"]),
      [100_002, 100_002],
    );
    assert.deepEqual((await engine.getWorkflowInstanceBreakpoint(run.instanceId)).context, { big });
  });
});

test("7.3 a newer schema than the program knows is refused, and the file is untouched", async (t) => {
  const file = temporaryFile(t);
  await (await startEngine(t, { storage: sqlite(file), jobs: [echo] })).stop();
  const db = new DatabaseSync(file);
  db.exec("PRAGMA user_version = 99");
  db.close();
  await assert.rejects(
    startEngine(t, { storage: sqlite(file), jobs: [echo] }),
    says("STORE_NEWER", file, "99", "newer"),
  );
  assert.equal(select(file, "PRAGMA user_version")[0]?.["user_version"], 99);
});

describe("7.4 retention", () => {
  test("7.4 finished instances are purged after 7 days by default; 0 keeps them for ever", async (t) => {
    const clock = new TestClock();
    const engine = await startEngine(t, {
      jobs: [echo],
      clock,
      storage: memoryStore(),
      retentionMs: { Terminated: 0, Failed: 60_000 },
      poolSize: 1,
    });
    const fail = defineJob("fail", () => {
      throw new Error("no");
    });
    engine.registerJobFunction("fail", fail.fn);
    engine.registerJobFunction("never", () => new Promise<never>(() => undefined));
    const ended = async (job: string) => await engine.submitWorkflow(workflow(job, task("t", job)));
    await (await ended("echo")).result();
    await assert.rejects((await ended("fail")).result());
    await (await ended("never")).terminate("enough");
    const left = async (): Promise<string[]> => (await engine.listWorkflowInstances()).map(({ workflow }) => workflow);
    assert.deepEqual(await left(), ["never", "fail", "echo"]);
    await clock.advance(3 * 60_000);
    assert.deepEqual(await left(), ["never", "echo"]);
    await clock.advance(7 * 24 * 3_600_000);
    assert.deepEqual(await left(), ["never"]);
  });

  test("7.4 purging one instance removes everything about it, and nothing else", async (t) => {
    const file = temporaryFile(t);
    const engine = await startEngine(t, { storage: sqlite(file), jobs: [echo] });
    const submit = async () =>
      await engine.submitWorkflow(workflow("w", task("t", "echo", "x".repeat(10_000))), { params: { a: 1 } });
    const [gone, stays] = [await submit(), await submit()];
    await gone.result();
    await stays.result();
    const counts = (): unknown =>
      ["finished", "history", "task", "payload"].map(
        (table) => select(file, `SELECT count(*) AS n FROM ${table}`)[0]?.["n"],
      );
    const before = counts() as number[];
    assert.equal(await engine.purgeWorkflowInstances({ instanceId: gone.instanceId }), 1);
    assert.deepEqual(
      counts(),
      before.map((n) => n / 2),
    );
    assert.deepEqual(await stays.result(), { t: "x".repeat(10_000) });
    await assert.rejects(gone.result(), says("INSTANCE_UNKNOWN", gone.instanceId));
  });
});
