import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";

// The bare ceiling replays the store's own statements, so that a change of the layout can break it. These tests look at
// no speed: they run one benchmark on each storage, which fails if the replay did not write what the engine wrote.
for (const storage of ["sqlite", "postgresql", "mysql"]) {
  test(`the bench measures one-task workflows beside their bare ceiling on ${storage}`, async () => {
    const args = ["bench/main.ts", "--storage", storage, "--only", "one-task", "--quick", "--json"];
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 240_000 });
    const { name, value, ceiling } = JSON.parse(stdout) as { name: string; value: number; ceiling: number };
    assert.equal(name, "one-task");
    assert.ok(value > 0 && ceiling > 0, stdout);
  });
}
