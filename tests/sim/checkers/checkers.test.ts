import assert from "node:assert/strict";
import { test } from "node:test";
import { checkers, asyncCheckers } from "./all.ts";
import { goodRun } from "./evidence-builder.ts";

for (const isCluster of [false, true]) {
  test(`nothing is wrong with a good run, ${isCluster ? "in a cluster" : "alone"}`, async () => {
    const { builder } = goodRun({ isCluster });
    for (const [name, check] of Object.entries({ ...checkers, ...asyncCheckers }))
      assert.deepEqual(await check(builder.evidence), [], name);
  });
}
