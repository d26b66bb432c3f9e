/** Spec §6.4: ready-made jobs that wait for an instance, take values of theirs, and meet what a killed worker has left. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { HeddleClient } from "../../src/client.ts";
import { defineJob, Engine, TaskBuilder, WorkflowBuilder } from "../../src/index.ts";
import { readyMadeJobs } from "../../src/jobs.ts";
import { sqlite } from "../../src/sqlite.ts";
import { ServerRig } from "../client/server-rig.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";
import { JobsRig } from "./rig.ts";

describe("6.4 wait-for an instance", () => {
  test("waits for one that nobody has started yet until it has succeeded; fails with one that fails", async (t) => {
    const server = await ServerRig.start(t);
    const rig = await JobsRig.start(t, readyMadeJobs());
    const waitFor = (id: string) => ({ instance: { id, server: server.url }, everySeconds: 0.1 });
    const run = await rig.begin("wait-for", waitFor("later"));
    await until(() => rig.lines.length > 0);
    const client = new HeddleClient({ url: server.url });
    await client.start("talk", {}, { instanceId: "later" });
    const { "wait-for": found } = (await run.result()) as Record<string, { checks: number; status: string }>;
    assert.ok(found && found.checks > 1);
    assert.equal(found.status, "Success");
    await client.start("fall", {}, { instanceId: "fallen" });
    const failed = await rig.fail("wait-for", waitFor("fallen"));
    assert.match(failed.message, /instance fallen ended with Failed/);
    assert.equal(failed.retryable, false);
  });
});

describe("6.4 values of the instance", () => {
  const count = defineJob("count", () => ({ rows: [{ id: 7 }, { id: 8 }], text: "two rows" }));

  test("are taken from the context and from outputs, by path; what is not there is final", async (t) => {
    const { engine } = await JobsRig.start(t, [...readyMadeJobs({ allowShell: true }), count]);
    const shell = (name: string, value: object): TaskBuilder =>
      new TaskBuilder(name)
        .withJobFunction("shell", { command: 'printf %s "$VALUE"', env: { VALUE: value } })
        .withDependency("count")
        .withRetryCount(3)
        .withSkipWhenFailed();
    const workflow = new WorkflowBuilder()
      .withName("values")
      .withTask(new TaskBuilder("count").withJobFunction(count))
      .withTask(shell("second", { output: "count", path: "rows.1.id" }))
      .withTask(shell("text", { output: "count", path: "text" }))
      .withTask(shell("key", { context: "day" }))
      .withTask(shell("inner", { context: "range", path: "from" }))
      .withTask(shell("missing", { context: "night" }))
      .withTask(shell("beyond", { output: "count", path: "rows.2.id" }))
      .build();
    const run = await engine.submitWorkflow(workflow, { params: { day: "monday", range: { from: "1" } } });
    const result = (await run.result()) as Record<string, { stdout: string }>;
    assert.deepEqual(
      ["second", "text", "key", "inner"].map((name) => result[name]?.stdout),
      ["8", "two rows", "monday", "1"],
    );
    const { tasks } = await run.getStatus();
    const failureOf = (name: string): string | undefined => tasks.find((task) => task.name === name)?.failure?.message;
    assert.match(failureOf("missing") ?? "", /there is no context key "night"/);
    assert.match(failureOf("beyond") ?? "", /there is no output of task "count" with the path rows\.2\.id/);
    assert.ok(tasks.every(({ attempt }) => attempt === 1));
  });
});

function isAlive(pid: number): boolean {
  try {
    return !/^\S+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

const onLinux = { skip: process.platform !== "linux" && "processes are found in /proc" };

test("6.4 what a killed worker has left running is killed before its command runs again", onLinux, async (t) => {
  const folder = temporaryFolder(t);
  const database = join(folder, "heddle.db");
  const command = [
    `if [ -e ${folder}/again ]; then exit 0; fi`,
    `setsid sleep 302 & echo $! > ${folder}/daemon`,
    `touch ${folder}/ready`,
    "wait",
  ].join("\n");
  const module = (path: string): string => JSON.stringify(import.meta.resolve(path));
  const script = `
    import { Engine } from ${module("../../src/index.ts")};
    import { readyMadeJobs } from ${module("../../src/jobs.ts")};
    import { sqlite } from ${module("../../src/sqlite.ts")};
    const engine = new Engine({ storage: sqlite(${JSON.stringify(database)}), jobs: readyMadeJobs({ allowShell: true }) });
    await engine.start();
    await engine.runJob("shell", { command: ${JSON.stringify(command)} }, { instanceId: "i", timeoutSeconds: 600 });`;
  const worker = spawn(process.execPath, ["--input-type=module", "--eval", script], { stdio: "inherit" });
  t.after(() => worker.kill("SIGKILL"));
  await until(() => existsSync(join(folder, "ready")));
  const daemon = Number(readFileSync(join(folder, "daemon"), "utf8"));
  assert.ok(isAlive(daemon));
  t.after(() => isAlive(daemon) && process.kill(daemon, "SIGKILL"));
  worker.kill("SIGKILL");
  await new Promise((resolve) => worker.once("exit", resolve));
  assert.ok(isAlive(daemon), "a daemon outlives its worker");
  writeFileSync(join(folder, "again"), "");
  const engine = new Engine({ storage: sqlite(database), jobs: readyMadeJobs({ allowShell: true }) });
  await engine.start();
  try {
    await engine.awaitWorkflowInstance("i");
    assert.ok(!isAlive(daemon));
  } finally {
    await engine.stop();
  }
});
