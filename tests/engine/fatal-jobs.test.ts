/** A job that throws where nobody catches it ends the process, as in any Node program; the log names its task. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

for (const way of ["rejection", "late rejection", "timer", "tick"]) {
  test(`a job that ends its process by a ${way} is named, with its instance`, () => {
    const script = fileURLToPath(new URL("children/fatal-job.ts", import.meta.url));
    const { status, stdout, stderr } = spawnSync(process.execPath, [script, way], { encoding: "utf8" });
    assert.equal(stdout, "");
    assert.match(stderr, /task \\?"floating\\?" of instance \\?"f\\?" ends the process/);
    assert.match(stderr, /Error: floating/);
    assert.notEqual(status, 0);
  });
}
