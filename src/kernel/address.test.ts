import assert from "node:assert/strict";
import { test } from "node:test";
import { attemptId } from "./address.ts";

test("an attempt's id names instance, generation, task and attempt", () => {
  assert.equal(attemptId({ id: "i", key: 7, generation: 2 }, 3, 4), "i:2:3:4");
});
