import assert from "node:assert/strict";
import { test } from "node:test";
import { firstToCatch, runSeed } from "./main.ts";
import { findMutation, mutations } from "./mutations.ts";

/** Those that hardly any run survives; the others are for `npm run sim -- --mutations`. */
for (const name of ["hasty-store", "fast-clock", "endless-domains", "lost-events", "early-timers", "runs-by-start"]) {
  test(`the simulator finds the bug ${name}`, async () => {
    const mutation = findMutation(name);
    const seeds = Array.from({ length: 30 }, (_, i) => i + 1);
    const outcome = await firstToCatch(mutation, seeds, { members: "alone" }, (seed, options) =>
      runSeed(seed, { ...options, mutation }),
    );
    assert.ok(outcome, mutation.about);
  });
}

test("the simulator finds the bug impatient-member", async () => {
  const seeds = Array.from({ length: 30 }, (_, i) => i + 1);
  const mutation = findMutation("impatient-member");
  const outcome = await firstToCatch(mutation, seeds, { members: 3, workers: 2 }, (seed, options) =>
    runSeed(seed, { ...options, mutation }),
  );
  assert.ok(outcome, mutation.about);
});

test("no two bugs have one name", () => {
  assert.equal(new Set(mutations.map(({ name }) => name)).size, mutations.length);
  assert.throws(() => findMutation("none"), /no mutation is called none; there are: hasty-store/);
});
