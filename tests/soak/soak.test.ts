/**
 * Several members, each a process of its own, on each real server, with faults; the simulator's checkers judge. Longer,
 * or with another seed: `npm run soak`.
 */
import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { test } from "node:test";
import { soak } from "./soak.ts";

/** On each server. */
const minutes = 2.5;

for (const kind of ["postgres", "mysql"] as const) {
  test(`members on ${kind} lose nothing`, { timeout: 600_000 }, async (t) => {
    const seed = randomInt(2 ** 31);
    const { violations } = await soak({ kind, minutes, memberCount: 3, seed, say: (line) => t.diagnostic(line) });
    assert.deepEqual(violations, []);
  });
}
