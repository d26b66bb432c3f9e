/** Spec §7: the statements of docs/operations.md for people who read a store with SQL. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { Engine, TaskBuilder, WorkflowBuilder } from "../../src/index.ts";
import { silentLogger } from "../../src/base/logger.ts";
import { storage } from "../../src/storage.ts";
import { execute, newDatabase } from "../databases/databases.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** Takes the statement for a database out of the document. */
function statementFor(database: string): string {
  const page = readFileSync(new URL("../../docs/operations.md", import.meta.url), "utf8");
  const found = page.match(new RegExp(`\`\`\`sql\\n-- ${database}\\n([^\`]*(?:\`key\`[^\`]*)*)\`\`\``))?.[1];
  assert.ok(found, `docs/operations.md has a statement for ${database}`);
  return found;
}

/** Runs an instance whose history stays in its row, and one that rests before its second attempt, so that it has rows. */
async function runTwo(url: string): Promise<void> {
  const engine = new Engine({ storage: await storage(url), logger: silentLogger });
  let calls = 0;
  engine.registerJobFunction("shaky", () => {
    if (++calls === 2) throw new Error("not yet");
  });
  await engine.start();
  const task = new TaskBuilder("a").withJobFunction("shaky").withRetryCount(1).withRetryPolicy({ initialMs: 10 });
  const workflow = new WorkflowBuilder().withName("w").withTask(task).build();
  for (const instanceId of ["order-17", "rested"]) {
    await (await engine.submitWorkflow(workflow, { instanceId })).result();
  }
  await engine.stop();
}

const attempts = {
  "order-17": [["TaskSucceeded", "0", "1", ""]],
  rested: [
    ["TaskFailed", "0", "1", "not yet"],
    ["TaskSucceeded", "0", "2", ""],
  ],
};

/** Reads the file as another program would. */
function executeSqlite(url: string, sql: string): unknown[] {
  const db = new DatabaseSync(url.slice("sqlite:".length), { readOnly: true });
  try {
    return db.prepare(sql).all();
  } finally {
    db.close();
  }
}

for (const name of ["SQLite", "PostgreSQL", "MySQL and MariaDB"]) {
  test(`7.1 the attempts of an instance can be read with SQL: ${name}`, async (t) => {
    const isFile = name === "SQLite";
    const url = isFile
      ? `sqlite:${join(temporaryFolder(t), "heddle.db")}`
      : await newDatabase(name === "PostgreSQL" ? "postgres" : "mysql", t);
    await runTwo(url);
    for (const [id, expected] of Object.entries(attempts)) {
      const sql = statementFor(name).replaceAll("order-17", id);
      const rows = (isFile ? executeSqlite(url, sql) : await execute(url, sql)) as Record<string, unknown>[];
      const shown = rows.map(({ type, task, attempt, failure }) =>
        [type, task, attempt, failure].map((value) => `${(value as string | number | null) ?? ""}`),
      );
      assert.deepEqual(shown, expected, id);
      assert.ok(rows.every(({ worker, time }) => typeof worker === "string" && time !== null));
    }
  });
}
