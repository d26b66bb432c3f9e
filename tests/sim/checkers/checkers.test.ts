import assert from "node:assert/strict";
import { test } from "node:test";
import { checkers, patientCheckers } from "./all.ts";
import { goodRun } from "./scene.ts";

for (const isCluster of [false, true]) {
  test(`nothing is wrong with a good run, ${isCluster ? "in a cluster" : "alone"}`, async () => {
    const { scene } = goodRun({ isCluster });
    for (const [name, check] of Object.entries({ ...checkers, ...patientCheckers }))
      assert.deepEqual(await check(scene.evidence), [], name);
  });
}
