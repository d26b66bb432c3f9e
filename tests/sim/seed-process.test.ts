import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { runSeed } from "./main.ts";
import { redefine } from "./redefine.ts";
import { SeedProcess } from "./seed-process.ts";

const stalledChild = fileURLToPath(import.meta.resolve("./stalled-child.ts"));

for (const [what, seed] of Object.entries({ "that spins": 1, "whose virtual time stands still": 2 })) {
  test(`the watchdog ends a run ${what}, reports its seed, and goes on with the next`, async (t) => {
    const seeds = new SeedProcess({ stallMs: 2000, module: stalledChild });
    t.after(() => seeds.stop());
    const stalled = await seeds.run({ seed });
    assert.equal(stalled.seed, seed);
    assert.match(stalled.violations.join(), /^watchdog: the run made no progress for 2 s; virtual time was 5 ms$/);
  });
}

test("a process that ends in the middle of a run is a failure of its seed, and the next seed has a new one", async (t) => {
  const seeds = new SeedProcess({ module: stalledChild });
  t.after(() => seeds.stop());
  const ended = await seeds.run({ seed: 3 });
  assert.match(ended.violations.join(), /^watchdog: its process ended with 3/);
  assert.deepEqual((await seeds.run({ seed: 4 })).violations, []);
});

test("a seed is the same run whatever the process is called", async (t) => {
  const { hash } = await runSeed(7);
  const restore = redefine(process, "pid", { value: 123_456_789 });
  t.after(restore);
  assert.equal((await runSeed(7)).hash, hash);
});

test("a seed is the same run in a process of its own", async (t) => {
  const seeds = new SeedProcess();
  t.after(() => seeds.stop());
  for (const seed of [7, 8]) assert.equal((await seeds.run({ seed })).hash, (await runSeed(seed)).hash);
});
