/** Spec §8.1: plain code, which may start several things and await them one after the other. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

test("a promise that fails before the code comes to it does not end the process; one outside of workflows still does", () => {
  const script = fileURLToPath(new URL("children/lone-rejection.ts", import.meta.url));
  const { status, stdout, stderr } = spawnSync(process.execPath, [script], { encoding: "utf8" });
  assert.equal(stdout, 'caught: activity "broken" failed: no\n');
  assert.match(stderr, /failed while nobody waited for it: await what is started, or gather it with ctx\.all\(\)/);
  assert.match(stderr, /Error: nobody's/);
  assert.equal(status, 1);
});
