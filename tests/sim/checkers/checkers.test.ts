import assert from "node:assert/strict";
import { test } from "node:test";
import { checkers } from "./all.ts";
import { goodRun } from "./scene.ts";

for (const isCluster of [false, true]) {
  test(`nothing is wrong with a good run, ${isCluster ? "in a cluster" : "alone"}`, () => {
    const { scene } = goodRun({ isCluster });
    for (const [name, check] of Object.entries(checkers)) assert.deepEqual(check(scene.evidence), [], name);
  });
}
