/**
 * An engine in a process of its own, to be killed: says the id of each workflow that was accepted, and notes each call of
 * a job in the log file. Arguments: database file, log file, how many workflows.
 */
import { appendFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { defineJob, Engine } from "../../../src/index.ts";
import { sqlite } from "../../../src/sqlite.ts";
import { shards } from "./shards.ts";

const [, , file = "", log = "", count = "0"] = process.argv;

const work = defineJob("work", async (ms: number, ctx) => {
  appendFileSync(log, `${ctx.attemptId} ${ctx.taskName}\n`);
  await delay(ms);
  return ms;
});
const engine = new Engine({ storage: sqlite(file), jobs: [work] });
await engine.start();
for (let i = 0; i < Number(count); i++) {
  const run = await engine.submitWorkflow(shards);
  process.stdout.write(`${run.instanceId}\n`);
}
process.stdin.resume();
