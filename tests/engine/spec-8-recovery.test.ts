/** Spec §5.4 for code workflows: kill -9 at any moment, start again. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { defineJob, hasCode } from "../../src/index.ts";
import { sqlite } from "../../src/sqlite.ts";
import { delivery, order } from "./children/orders.ts";
import { startEngine } from "./rig.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** Runs orders in a process that is killed as soon as so many were accepted; gives back the numbers of those. */
async function runAndKill(
  t: TestContext,
  { file, log, first, killAfter }: { file: string; log: string; first: number; killAfter: number },
): Promise<number[]> {
  const program = fileURLToPath(new URL("./children/order-process.ts", import.meta.url));
  const child = spawn(process.execPath, [program, file, log, String(first), "1000"], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  t.after(() => child.kill("SIGKILL"));
  const accepted: number[] = [];
  for await (const line of createInterface(child.stdout)) {
    accepted.push(Number(line));
    if (accepted.length === killAfter) child.kill("SIGKILL");
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  return accepted;
}

/** As another program would read it: attempts that have succeeded, by their ids. Those of an earlier generation are over. */
function completedAttempts(file: string): Set<string> {
  const db = new DatabaseSync(file, { readOnly: true });
  const rows = db
    .prepare(
      `WITH chosen AS (
         SELECT key, id, generation, history FROM instance
         UNION ALL SELECT key, id, generation, history FROM finished
       ),
       turns (id, generation, events) AS (
         SELECT chosen.id, generation, events FROM chosen JOIN history ON history.instance = chosen.key
         UNION ALL SELECT chosen.id, generation, turn.value -> 4 FROM chosen JOIN json_each(chosen.history) AS turn
       )
       SELECT turns.id, generation, event.value ->> 1 AS task, event.value ->> 2 AS attempt
       FROM turns JOIN json_each(turns.events) AS event
       WHERE event.value ->> 0 IN ('D', 'F')`,
    )
    .all();
  db.close();
  return new Set(rows.map((row) => [row["id"], row["generation"], row["task"], row["attempt"]].map(String).join(":")));
}

test("5.4 code workflows survive kills, one after the other: all end, nothing completed runs again", async (t) => {
  const folder = temporaryFolder(t);
  const [file, log] = [join(folder, "heddle.db"), join(folder, "calls")];
  writeFileSync(log, "");
  const accepted: number[] = [];
  const completed = new Set<string>();
  for (const killAfter of [15, 25, 20]) {
    const calls = readFileSync(log, "utf8").split("\n").length - 1;
    accepted.push(...(await runAndKill(t, { file, log, first: accepted.length * 10, killAfter })));
    const since = readFileSync(log, "utf8").split("\n").slice(calls);
    assert.deepEqual(
      since.filter((line) => completed.has(line.split(" ")[0] ?? "")),
      [],
    );
    for (const attempt of completedAttempts(file)) completed.add(attempt);
  }

  const again: string[] = [];
  const executed: string[] = readFileSync(log, "utf8").split("\n").filter(Boolean);
  const work = defineJob("work", (what: string, ctx) => {
    if (completed.has(ctx.attemptId)) again.push(ctx.attemptId);
    executed.push(`${ctx.attemptId} ${what}`);
    return what;
  });
  const engine = await startEngine(t, { storage: sqlite(file), jobs: [work], workflows: [order, delivery] });
  for (const n of accepted) {
    const result = await engine.awaitWorkflowInstance(`order-${n}`).catch((error: unknown) => error);
    const wasRefunded = executed.some((line) => line.endsWith(` refund ${n}`));
    assert.equal(wasRefunded, n % 3 === 0, `order ${n}`);
    if (n % 3 === 0) assert.ok(hasCode(result, "WORKFLOW_FAILED") && result.message.includes("is not wanted"));
    else assert.equal((result as { shipped: string }).shipped, `ship ${n}`);
  }
  assert.deepEqual(again, []);
  assert.ok(accepted.length >= 60 && completed.size > 0);
  t.diagnostic(`${accepted.length} accepted, ${completed.size} attempts on record as completed before the last start`);
});
