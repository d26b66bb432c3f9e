import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, test } from "node:test";

const root = join(import.meta.dirname, "..");
const scripts = ["scripts/sim.ts", "scripts/soak.ts", "bench/main.ts", "bench/api.ts", "bench/push.ts"];

function call(script: string, flag: string) {
  return spawnSync(process.execPath, [join(root, script), flag], { encoding: "utf8" });
}

describe("a command of the repository", () => {
  for (const script of scripts) {
    test(`${script} explains its flags, and refuses one that it does not know`, () => {
      const asked = call(script, "--help");
      assert.deepEqual([asked.status, asked.stderr.includes("Error")], [0, false], asked.stderr);
      assert.match(asked.stdout, /--\w+/);
      const misspelt = call(script, "--hlp");
      assert.equal(misspelt.status, 2);
      assert.match(misspelt.stderr, /Unknown option '--hlp'[\s\S]*--\w+/);
      assert.doesNotMatch(misspelt.stderr, /node:internal/);
    });
  }
});
