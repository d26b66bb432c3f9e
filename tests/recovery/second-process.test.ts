import { equal, match, ok, rejects } from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import type { TestContext } from "node:test";
import { Engine, hasCode } from "../../src/index.ts";
import { sqlite } from "../../src/sqlite.ts";
import { poisonJobs } from "./poison-jobs.ts";
import { scenes } from "./poison-scenes.ts";
import { Process } from "./process.ts";
import { SideEffectLog } from "./side-effects.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** A process that owns a database and is in the middle of its work, and an engine here that wants the same file. */
async function rivals(t: TestContext): Promise<{ first: Process; second: () => Engine }> {
  const processes: Process[] = [];
  // Hooks run in this order: the process is gone before its folder.
  t.after(() => Promise.all(processes.map((process) => process.kill())));
  const folder = temporaryFolder(t);
  const [databaseFile, logFile] = [join(folder, "heddle.db"), join(folder, "side-effects.log")];
  const first = new Process("./poison-child.ts", [databaseFile, logFile, 1, "innocent"]);
  processes.push(first);
  equal(await first.line(), "up", first.stderr);
  equal(await first.line(), "submitted", first.stderr);
  const log = new SideEffectLog(logFile, 2);
  t.after(() => log.close());
  return { first, second: () => new Engine({ storage: sqlite(databaseFile), jobs: poisonJobs(log) }) };
}

async function isRefused(engine: Engine): Promise<void> {
  await rejects(engine.start(), (error: Error) => {
    ok(hasCode(error, "STORE_LOCKED"), error.message);
    match(error.message, /in use by process \d+/);
    return true;
  });
}

test(
  "a second engine on the same file is refused while the first lives, and gets it at once when it is killed",
  { timeout: 60_000 },
  async (t) => {
    const { first, second } = await rivals(t);
    const patient = second();
    await isRefused(patient);
    await isRefused(second());

    first.signal("SIGSTOP");
    await isRefused(patient);

    await first.kill();
    const killedAt = performance.now();
    await patient.start();
    t.after(() => patient.stop());
    const tookMs = performance.now() - killedAt;
    ok(tookMs < 2000, `nothing has to run out first, it took ${Math.round(tookMs)} ms`);
    t.diagnostic(`the second engine was up ${Math.round(tookMs)} ms after the kill`);
    for (const { id } of scenes.innocent) ok(await patient.awaitWorkflowInstance(id), `${id} goes on`);
  },
);

test(
  "the first goes on unharmed after others were refused, also after it was stopped for a while",
  { timeout: 60_000 },
  async (t) => {
    const { first, second } = await rivals(t);
    first.signal("SIGSTOP");
    for (let i = 0; i < 20; i++) await isRefused(second());
    first.signal("SIGCONT");
    const { code } = await first.exit;
    equal(code, 0, first.stderr);

    const next = second();
    await next.start();
    t.after(() => next.stop());
    for (const { id } of scenes.innocent) equal((await next.getWorkflowInstanceStatus(id)).status, "Success", id);
  },
);
