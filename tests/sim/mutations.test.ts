import assert from "node:assert/strict";
import { test } from "node:test";
import { firstToCatch, runSeed } from "./main.ts";
import { findMutation, mutations } from "./mutations.ts";
import { SeedProcess } from "./seed-process.ts";
import { mutatedSource, sourceMutations } from "./source-mutations.ts";

/** The bugs that nearly every run finds; the others are for `npm run sim -- --mutations`. */
for (const name of [
  "early-commit-answers",
  "fast-clock",
  "unlimited-domains",
  "lost-events",
  "silent-waits",
  "early-timers",
  "runs-by-start",
]) {
  test(`the simulator finds the bug ${name}`, async () => {
    const mutation = findMutation(name);
    const seeds = Array.from({ length: 30 }, (_, i) => i + 1);
    const outcome = await firstToCatch(mutation, seeds, { members: "alone" }, (seed, options) =>
      runSeed(seed, { ...options, mutation }),
    );
    assert.ok(outcome, mutation.about);
  });
}

for (const name of ["short-worker-timeout", "ignored-tags"]) {
  test(`the simulator finds the bug ${name}`, async () => {
    const seeds = Array.from({ length: 30 }, (_, i) => i + 1);
    const mutation = findMutation(name);
    const outcome = await firstToCatch(mutation, seeds, { members: 3, workers: 2 }, (seed, options) =>
      runSeed(seed, { ...options, mutation }),
    );
    assert.ok(outcome, mutation.about);
  });
}

test("no two bugs have one name", () => {
  assert.equal(new Set(mutations.map(({ name }) => name)).size, mutations.length);
  assert.throws(() => findMutation("none"), /no mutation is called none; there are: early-commit-answers/);
});

test("every mutation of the source has its place there", () => {
  for (const { source } of sourceMutations) assert.ok(source && mutatedSource(source).length > 0);
  const missing = { file: "src/runtime/shard.ts", find: "no such text", replace: "" };
  assert.throws(() => mutatedSource(missing), /src\/runtime\/shard.ts has 0 places, not one/);
});

test("every mutation of a class has its place there", () => {
  for (const { install } of mutations) install?.()();
});

test("the simulator finds a bug that is a change of the source", async (t) => {
  const seeds = new SeedProcess();
  t.after(() => seeds.stop());
  const mutation = findMutation("messages-before-commit");
  const range = Array.from({ length: 30 }, (_, i) => i + 1);
  const report = await firstToCatch(mutation, range, {}, (seed, options) =>
    seeds.run({ ...options, seed, mutation: mutation.name }),
  );
  assert.ok(report, mutation.about);
});
