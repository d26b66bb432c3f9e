/**
 * An engine in a process of its own, to be killed: says the id of each code workflow that was accepted, and notes each
 * call of a job in the log file. Arguments: database file, log file, the first number, how many.
 */
import { appendFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { defineJob, Engine } from "../../../src/index.ts";
import { sqlite } from "../../../src/sqlite.ts";
import { delivery, order } from "./orders.ts";

const [, , file = "", log = "", first = "0", count = "0"] = process.argv;

const work = defineJob("work", async (what: string, ctx) => {
  appendFileSync(log, `${ctx.attemptId} ${what}\n`);
  await delay(Math.random() * 5);
  return what;
});
const engine = new Engine({ storage: sqlite(file), jobs: [work], workflows: [order, delivery] });
await engine.start();
for (let n = Number(first); n < Number(first) + Number(count); n++) {
  await engine.startWorkflow(order, n, { instanceId: `order-${n}` });
  process.stdout.write(`${n}\n`);
}
process.stdin.resume();
