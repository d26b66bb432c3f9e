import assert from "node:assert/strict";
import { chmodSync, copyFileSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, test, type TestContext } from "node:test";
import { hasCode } from "../../src/base/error.ts";
import { defineJob, Engine, TaskBuilder, WorkflowBuilder } from "../../src/index.ts";
import { sqlite } from "../../src/sqlite.ts";
import { fileCheckEveryMs } from "../../src/stores/sqlite/file-identity.ts";
import { LogBook } from "../../src/testing/log-book.rig.ts";
import { temporaryFile, temporaryFolder } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";

const noop = defineJob("noop", async () => 1);
const one = new WorkflowBuilder().withName("one").withTask(new TaskBuilder("t").withJobFunction(noop, {})).build();
const onPosix = { skip: process.platform === "win32" && "Windows does not let open files be deleted", timeout: 60_000 };

async function start(t: TestContext, file: string): Promise<{ engine: Engine; log: LogBook }> {
  const log = new LogBook();
  const engine = new Engine({ storage: sqlite(file), jobs: [noop], logger: log });
  await engine.start();
  t.after(async () => {
    if (engine.health.status !== "stopped") await engine.stop().catch(() => undefined);
  });
  return { engine, log };
}

describe("a database file that is taken away under the engine", () => {
  const ways: Record<string, (file: string) => void> = {
    deleted: (file) => rmSync(file),
    "deleted with all that belongs to it": (file) => ["", "-wal", "-shm"].forEach((end) => rmSync(file + end)),
    "replaced by a copy": (file) => {
      copyFileSync(file, `${file}.copy`);
      renameSync(`${file}.copy`, file);
    },
    "robbed of its log": (file) => rmSync(`${file}-wal`),
  };

  for (const [way, take] of Object.entries(ways)) {
    test(`${way}: after a moment nothing is acknowledged any more, and health and log say why`, onPosix, async (t) => {
      const file = temporaryFile(t);
      const { engine, log } = await start(t, file);
      await (await engine.submitWorkflow(one)).result();
      take(file);
      const takenAt = performance.now();
      await until(() => performance.now() - takenAt >= fileCheckEveryMs);
      const acknowledged: unknown[] = [];
      void engine.submitWorkflow(one).then(
        (run) => acknowledged.push(run),
        () => undefined,
      );
      await until(() => engine.health.status === "degraded");
      assert.match(
        engine.health.problem ?? "",
        /heddle\.db(-wal)? was (deleted or moved|replaced) while it was in use/,
      );
      await assert.rejects(engine.submitWorkflow(one), (error) => hasCode(error, "STORE_GONE") && !error.retryable);
      assert.ok(log.find("error", /does not take writes|is gone/));
      assert.deepEqual(acknowledged, []);
    });
  }

  test(
    "is noticed also by an engine that has nothing to write, and it goes on when the file is back",
    onPosix,
    async (t) => {
      const file = temporaryFile(t);
      const { engine, log } = await start(t, file);
      renameSync(file, `${file}.away`);
      await until(() => engine.health.status === "degraded");
      await assert.rejects(engine.submitWorkflow(one), (error) => hasCode(error, "STORE_GONE"));
      assert.ok(log.find("error", /the database file is gone/));
      renameSync(`${file}.away`, file);
      await until(() => engine.health.status === "up");
      assert.ok(log.find("warn", /the database file is back/));
      await (await engine.submitWorkflow(one)).result();
    },
  );
});

describe("a backup that is copied into the file of a running engine", () => {
  const submit = async (engine: Engine, instanceId: string): Promise<void> => {
    await (await engine.submitWorkflow(one, { instanceId })).result();
  };
  const listed = async (engine: Engine): Promise<string[]> =>
    (await engine.listWorkflowInstances()).map(({ id }) => id).toSorted();

  for (const isBusy of [false, true]) {
    test(`stays as it is when the ${isBusy ? "busy" : "idle"} engine stops`, onPosix, async (t) => {
      const file = temporaryFile(t);
      const { engine } = await start(t, file);
      await submit(engine, "before");
      const reader = new DatabaseSync(file, { readOnly: true });
      reader.exec(`VACUUM INTO '${file}.backup'`);
      reader.close();
      for (let number = 0; number < 20; number++) await submit(engine, `after ${number}`);
      const inode = statSync(file).ino;
      copyFileSync(`${file}.backup`, file);
      for (const end of ["-wal", "-shm"]) rmSync(file + end);
      assert.equal(statSync(file).ino, inode);
      if (isBusy) void engine.submitWorkflow(one, { instanceId: "late" }).catch(() => undefined);
      await until(() => engine.health.status === "degraded");
      await assert.rejects(engine.stop(), (error) => hasCode(error, "STORE_GONE"));
      assert.deepEqual(readFileSync(file), readFileSync(`${file}.backup`));
      const { engine: next } = await start(t, file);
      assert.deepEqual(await listed(next), ["before"]);
    });
  }

  test("and a log that is removed alone is written into the file when the engine stops", onPosix, async (t) => {
    const file = temporaryFile(t);
    const { engine } = await start(t, file);
    await submit(engine, "a");
    rmSync(`${file}-wal`);
    await until(() => engine.health.status === "degraded");
    await engine.stop().catch(() => undefined);
    const { engine: next } = await start(t, file);
    assert.deepEqual(await listed(next), ["a"]);
  });
});

describe("a database whose lock was removed, and which a second engine has taken", () => {
  test("its first engine says that it never comes back", onPosix, async (t) => {
    const file = temporaryFile(t);
    const { engine: first, log } = await start(t, file);
    await (await first.submitWorkflow(one)).result();
    rmSync(`${file}-lock`);
    const { engine: second } = await start(t, file);
    await first.submitWorkflow(one).catch(() => undefined);
    const fenced = await first.fenced;
    assert.ok(hasCode(fenced, "ENGINE_FENCED") && !fenced.retryable);
    await assert.rejects(first.submitWorkflow(one), (error) => hasCode(error, "ENGINE_FENCED"));
    assert.equal(first.health.status, "degraded");
    assert.ok(log.find("error", /no longer owns its data/));
    await (await second.submitWorkflow(one)).result();
  });
});

describe("the files of a database", () => {
  const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

  test("can be read by their owner alone, whatever the umask", onPosix, async (t) => {
    const before = process.umask(0);
    t.after(() => void process.umask(before));
    const folder = join(temporaryFolder(t), "data", "deep");
    const file = join(folder, "h.db");
    const { engine } = await start(t, file);
    await (await engine.submitWorkflow(one)).result();
    assert.deepEqual([modeOf(folder), modeOf(join(folder, ".."))], ["700", "700"]);
    const names = readdirSync(folder).toSorted();
    for (const name of ["h.db", "h.db-lock", "h.db-owner", "h.db-shm", "h.db-wal"])
      assert.ok(names.includes(name), name);
    for (const name of names) assert.equal(modeOf(join(folder, name)), "600", name);
    await engine.stop();
  });

  test("that were there keep the permissions that somebody gave them", onPosix, async (t) => {
    const file = temporaryFile(t);
    await (await start(t, file)).engine.stop();
    chmodSync(file, 0o640);
    const { engine } = await start(t, file);
    await (await engine.submitWorkflow(one)).result();
    assert.equal(modeOf(file), "640");
    assert.ok(existsSync(`${file}-wal`));
    assert.equal(modeOf(`${file}-wal`), "640");
    await engine.stop();
  });
});
