/**
 * Database files that cannot be used, through `Engine.start()`: one clear sentence each, nothing lost, and the same
 * engine starts once the cause is gone.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { chmodSync, chownSync, copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { describe, test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { defineJob, type Engine, type EngineError, type ErrorCode } from "../../src/index.ts";
import { sqlite } from "../../src/sqlite.ts";
import { Child } from "../stores/child.ts";
import { fill, withSmallDisk } from "../stores/small-disk.ts";
import { Gate, newEngine, readsWell, says, startEngine, stillWorks, stopEngine, task, workflow } from "./rig.ts";
import { temporaryFile, temporaryFolder } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";

const echo = defineJob("echo", () => "done");

/** A database with an instance that is not finished; its job is `echo` from now on. */
async function unfinishedInstance(t: TestContext, file: string): Promise<string> {
  const engine = await startEngine(t, { storage: sqlite(file), jobs: [defineJob("echo", () => new Gate().opened)] });
  const run = await engine.submitWorkflow(workflow("w", task("t", "echo")));
  await engine.stop();
  return run.instanceId;
}

/** The refusal is one sentence with the file's name in it, and says what to do. */
async function refusesToStart(
  engine: Engine,
  code: ErrorCode,
  file: string,
  ...parts: (string | RegExp)[]
): Promise<void> {
  await assert.rejects(engine.start(), (error: unknown) => {
    says(code, file, ...parts)(error);
    assert.match((error as Error).message, /^[^\n]*[^.]$/);
    return true;
  });
  assert.equal(engine.health.status, "new");
}

async function startsNow(t: TestContext, engine: Engine, id: string): Promise<void> {
  await engine.start();
  t.after(() => stopEngine(engine));
  assert.deepEqual(await engine.awaitWorkflowInstance(id), { t: "done" });
  await stillWorks(engine);
}

describe("a database file that is", () => {
  test("held by another process", async (t) => {
    const file = temporaryFile(t);
    const id = await unfinishedInstance(t, file);
    const holder = new Child(t, "hold.ts", file);
    assert.equal(await holder.line(), "held");
    const engine = newEngine({ storage: sqlite(file), jobs: [echo] });
    await refusesToStart(engine, "STORE_LOCKED", file, `process ${holder.pid}`, "stop that one");
    await holder.kill();
    await startsNow(t, engine, id);
  });

  test("held by another engine of this process", async (t) => {
    const file = temporaryFile(t);
    const first = await startEngine(t, { storage: sqlite(file), jobs: [echo] });
    const engine = newEngine({ storage: sqlite(file), jobs: [echo] });
    await refusesToStart(engine, "STORE_LOCKED", file, "another engine of this process");
    const run = await first.submitWorkflow(workflow("w", task("t", "echo")));
    await run.result();
    await first.stop();
    await startsNow(t, engine, run.instanceId);
  });

  test("used by two engines through one store", async (t) => {
    const storage = sqlite(temporaryFile(t));
    await startEngine(t, { storage, jobs: [echo] });
    await assert.rejects(newEngine({ storage, jobs: [echo] }).start(), says("STORE_LOCKED", "open already"));
  });

  test("corrupt, and restored from a backup", async (t) => {
    const file = temporaryFile(t);
    const id = await unfinishedInstance(t, file);
    copyFileSync(file, `${file}.backup`);
    const bytes = readFileSync(file);
    writeFileSync(file, Buffer.alloc(bytes.length, "rubbish "));
    const engine = newEngine({ storage: sqlite(file), jobs: [echo] });
    await refusesToStart(engine, "STORE_CORRUPT", file, "backup");
    assert.deepEqual(readFileSync(file), Buffer.alloc(bytes.length, "rubbish "));
    copyFileSync(`${file}.backup`, file);
    await startsNow(t, engine, id);
  });

  test("corrupt somewhere inside", async (t) => {
    const file = temporaryFile(t);
    const id = await unfinishedInstance(t, file);
    copyFileSync(file, `${file}.backup`);
    const bytes = readFileSync(file);
    bytes.fill(0xff, 4096);
    writeFileSync(file, bytes);
    const engine = newEngine({ storage: sqlite(file), jobs: [echo] });
    await refusesToStart(engine, "STORE_CORRUPT", file, "backup");
    copyFileSync(`${file}.backup`, file);
    await startsNow(t, engine, id);
  });

  test("a database of another program", async (t) => {
    const file = temporaryFile(t);
    const db = new DatabaseSync(file);
    db.exec("CREATE TABLE customers (id INTEGER)");
    db.close();
    const before = readFileSync(file);
    const engine = newEngine({ storage: sqlite(file), jobs: [echo] });
    await refusesToStart(engine, "STORE_CORRUPT", file, "another program");
    assert.deepEqual(readFileSync(file), before);
  });

  test("from a newer version", async (t) => {
    const file = temporaryFile(t);
    const id = await unfinishedInstance(t, file);
    const version = setVersion(file, 99);
    const engine = newEngine({ storage: sqlite(file), jobs: [echo] });
    await refusesToStart(engine, "STORE_NEWER", file, "99", "newer");
    setVersion(file, version);
    await startsNow(t, engine, id);
  });

  /** Gives back which one it was. */
  function setVersion(file: string, version: number): number {
    const db = new DatabaseSync(file);
    const before = db.prepare("PRAGMA user_version").get()?.["user_version"];
    db.exec(`PRAGMA user_version = ${version}`);
    db.close();
    return Number(before);
  }

  test("a folder, or below a file", async (t) => {
    const folder = temporaryFolder(t);
    await refusesToStart(newEngine({ storage: sqlite(folder) }), "OPTION_INVALID", folder, "folder");
    const file = join(folder, "a-file");
    writeFileSync(file, "");
    const below = join(file, "heddle.db");
    await refusesToStart(newEngine({ storage: sqlite(below) }), "OPTION_INVALID", below);
  });

  test("read-only, itself or its folder", async (t) => {
    const folder = temporaryFolder(t);
    const inner = join(folder, "data");
    mkdirSync(inner);
    chmodSync(folder, 0o755);
    const file = join(inner, "heddle.db");
    chmodSync(inner, 0o555);
    const child = new StartingChild(t, file);
    const refused = await child.answer();
    assert.equal(refused.code, "STORE_READ_ONLY");
    assert.ok(refused.message?.includes(file), refused.message);
    readsWell(refused.message ?? "");
    assert.equal(existsSync(file), false);
    chmodSync(inner, 0o777);
    assert.deepEqual(await child.tryAgain(), { code: "worked" });

    const second = new StartingChild(t, file);
    assert.deepEqual(await second.answer(), { code: "worked" });
    if (process.getuid?.() === 0) chownSync(file, 0, 0);
    chmodSync(file, 0o444);
    const third = new StartingChild(t, file);
    const readOnly = await third.answer();
    assert.equal(readOnly.code, "STORE_READ_ONLY");
    readsWell(readOnly.message ?? "");
    chmodSync(file, 0o666);
    assert.deepEqual(await third.tryAgain(), { code: "worked" });
  });
});

/** An engine in a process to whose user file modes apply. */
class StartingChild {
  readonly #process;
  readonly #lines: AsyncIterator<string>;

  constructor(t: TestContext, file: string) {
    const program = fileURLToPath(new URL("./children/start-unprivileged.ts", import.meta.url));
    this.#process = spawn(process.execPath, [program, file], { stdio: ["pipe", "pipe", "inherit"] });
    this.#lines = createInterface(this.#process.stdout)[Symbol.asyncIterator]();
    t.after(() => this.#process.kill("SIGKILL"));
  }

  async answer(): Promise<{ code: string; message?: string }> {
    const line = await this.#lines.next();
    return JSON.parse(String(line.value)) as { code: string; message?: string };
  }

  async tryAgain(): Promise<{ code: string; message?: string }> {
    this.#process.stdin.write("again\n");
    return await this.answer();
  }
}

describe("a disk that is full", () => {
  test("at the first start", async (t) => {
    await withSmallDisk(t, async (disk) => {
      const file = join(disk, "heddle.db");
      const free = fill(disk, 0);
      const engine = newEngine({ storage: sqlite(file), jobs: [echo] });
      await refusesToStart(engine, "STORE_FULL", file, "space", "free");
      free();
      await engine.start();
      await stillWorks(engine);
      await engine.stop();
    });
  });

  test("at a later start: what was accepted goes on when there is space again", async (t) => {
    await withSmallDisk(t, async (disk) => {
      const file = join(disk, "heddle.db");
      const id = await unfinishedInstance(t, file);
      const free = fill(disk, 0);
      const engine = newEngine({ storage: sqlite(file), jobs: [echo] });
      await assert.rejects(engine.start(), (error: EngineError) => {
        assert.ok(error.code === "STORE_FULL" || error.code === "STORE_UNAVAILABLE", error.stack);
        assert.ok(error.message.includes(file));
        assert.match(error.message, /space|full/);
        readsWell(error.message);
        return true;
      });
      assert.equal(engine.health.status, "new");
      free();
      await engine.start();
      assert.deepEqual(await engine.awaitWorkflowInstance(id), { t: "done" });
      await engine.stop();
    });
  });

  test("while it runs: no new work is taken, nothing accepted is lost, and it goes on when there is space", async (t) => {
    await withSmallDisk(t, async (disk) => {
      const file = join(disk, "heddle.db");
      const gate = new Gate();
      const engine = newEngine({ storage: sqlite(file), jobs: [defineJob("wait", () => gate.opened), echo] });
      await engine.start();
      const run = await engine.submitWorkflow(workflow("w", task("a", "wait"), task("b", "echo").withDependency("a")));
      await until(() => engine.health.runningTasks === 1);
      const free = fill(disk, 0);
      const submits = Promise.allSettled(
        Array.from({ length: 20 }, () =>
          engine.submitWorkflow(workflow("big", task("t", "echo", "x".repeat(100_000)))),
        ),
      );
      await until(() => engine.health.status === "degraded");
      await assert.rejects(
        engine.submitWorkflow(workflow("v", task("t", "echo"))),
        says("STORE_UNAVAILABLE", file, "full", "no new work"),
      );
      gate.open();
      free();
      await until(() => engine.health.status === "up");
      assert.deepEqual(await run.result(), { b: "done" });
      assert.ok((await submits).every(({ status }) => status === "fulfilled"));
      await stillWorks(engine);
      await engine.stop();
    });
  });
});
