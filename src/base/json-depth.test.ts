import assert from "node:assert/strict";
import { test } from "node:test";
import { depthMax, isTooDeep } from "./json-depth.ts";

const nested = (levels: number): string => "[".repeat(levels) + "]".repeat(levels);

test("a thousand levels are enough for everybody", () => {
  assert.equal(isTooDeep(nested(depthMax)), false);
  assert.equal(isTooDeep(nested(depthMax + 1)), true);
  assert.equal(isTooDeep(`[${Array(600).fill(nested(500)).join(",")}]`), false);
});

test("brackets in texts do not count", () => {
  assert.equal(isTooDeep(JSON.stringify(`\\"${"[{".repeat(5000)}`)), false);
  assert.equal(
    isTooDeep(JSON.stringify({ a: "\\", b: JSON.parse(nested(900)) as unknown, c: "]".repeat(3000) })),
    false,
  );
});
