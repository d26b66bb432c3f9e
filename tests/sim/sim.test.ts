/**
 * The simulator, as far as there is time for it here: the same seeds each time, and some that nobody has seen before. More
 * of it: `npm run sim -- --seeds 1000`. A seed that fails is named, and fails again: `npm run sim -- --seed 123`.
 */
import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { test, type TestContext } from "node:test";
import { runSeed } from "./main.ts";
import { SeedProcess, type SeedReport } from "./seed-process.ts";

const knownSeeds = Array.from({ length: 40 }, (_, i) => i + 1);

/** New ones are tried for this long. */
const freshMs = 8000;

for (const [population, options] of Object.entries({
  alone: { members: "alone" },
  "with 3 members": { members: 3, workers: 0 },
  "with 3 members and 2 workers": { members: 3, workers: 2 },
} as const)) {
  test(`a seed is the same run each time, ${population}`, async () => {
    for (const seed of [7, 8]) {
      const [first, second] = [await runSeed(seed, options), await runSeed(seed, options)];
      assert.equal(first.hash, second.hash, `seed ${seed}`);
      assert.equal(first.events, second.events);
      assert.notEqual(first.hash, (await runSeed(seed + 100, options)).hash);
    }
  });
}

test("all is well with the seeds that are known", async (t) => {
  const seeds = seedProcess(t);
  for (const seed of knownSeeds) expectWell(await seeds.run({ seed }));
});

test("all is well with seeds that are new", async (t) => {
  const seeds = seedProcess(t);
  const first = randomInt(2 ** 31);
  const endsAt = performance.now() + freshMs;
  let seed = first;
  for (; performance.now() < endsAt; seed++) expectWell(await seeds.run({ seed }));
  t.diagnostic(`seeds ${first} to ${seed - 1}`);
});

/** With a watchdog: a seed that does not come back fails, and is named. */
function seedProcess(t: TestContext): SeedProcess {
  const seeds = new SeedProcess();
  t.after(() => seeds.stop());
  return seeds;
}

function expectWell({ seed, about, violations, tail }: SeedReport): void {
  const said = [`seed ${seed}: ${about}`, ...violations.slice(0, 10), ...tail.slice(-30)];
  assert.equal(violations.length, 0, said.join("\n"));
}
