import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../support/temporary-folder.ts";

test("a move takes no more memory than a page", { timeout: 120_000 }, (t) => {
  const script = join(import.meta.dirname, "children/move-large.ts");
  const args = ["--disable-warning=ExperimentalWarning", "--max-old-space-size=32", script, temporaryFolder(t)];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  assert.equal(status, 0, stderr);
  const moved = JSON.parse(stdout) as {
    bytes: number;
    rows: { finished: number; history: number };
    residentBytes: number;
  };
  t.diagnostic(`${Math.round(moved.bytes / 1e6)} MB moved with ${Math.round(moved.residentBytes / 1e6)} MB`);
  assert.ok(moved.bytes > 80_000_000);
  assert.equal(moved.rows.finished, 5000);
  assert.equal(moved.rows.history, 105_000);
});
