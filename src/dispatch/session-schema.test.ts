import assert from "node:assert/strict";
import { test } from "node:test";
import { EngineError } from "../base/error.ts";
import { parseWorkerMessage } from "./session-schema.ts";

function parseResult(subTasks: readonly object[]): string {
  const outcome = { kind: "success", subTasks };
  const text = JSON.stringify({ type: "Result", attemptId: "a", grant: 1, startedAt: 1, outcome });
  try {
    return parseWorkerMessage(text).type;
  } catch (error) {
    if (error instanceof EngineError) return error.message;
    throw error;
  }
}

test("sub-tasks of a result are counted before any of them is looked at", () => {
  const nodes = Array.from({ length: 10_001 }, (_, nodeId) => ({ nodeId, nodeName: `n${nodeId}`, jobName: "j" }));
  assert.equal(parseResult(nodes.slice(1)), "Result");
  assert.match(parseResult(nodes), /subTasks has 10001 items, more than the 10000 allowed/);
  // Each of these is wrong as well.
  assert.match(parseResult(nodes.map(() => ({}))), /subTasks has 10001 items, more than the 10000 allowed/);
  assert.match(parseResult([{}]), /nodeId is missing/);
});
