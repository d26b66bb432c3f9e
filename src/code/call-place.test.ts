import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { lineOf, placeOfCall } from "./call-place.ts";

/** Frames below `src/` are ours, so these tests give the text of a stack. */
const stackOf = (...frames: readonly string[]): { stack: string } => ({
  stack: ["Error", ...frames.map((frame) => `    at ${frame}`)].join("\n"),
});

describe("the line of a call", () => {
  test("is the first of the user, in whatever way its script is named", () => {
    assert.deepEqual(lineOf(stackOf("order (file:///app/order.ts:41:15)")), { file: "/app/order.ts", line: 41 });
    assert.deepEqual(lineOf(stackOf("async order (/app/order.cjs:7:3)")), { file: "/app/order.cjs", line: 7 });
    assert.deepEqual(lineOf(stackOf("file:///app/or%20der.ts:3:1")), { file: "/app/or der.ts", line: 3 });
    assert.deepEqual(lineOf(stackOf("Object.<anonymous> (C:\\app\\order.js:9:1)")), {
      file: "C:\\app\\order.js",
      line: 9,
    });
  });

  test("skips frames of this library, of others and of Node", () => {
    const own = `RunContext.createTimer (${import.meta.url}:1:1)`;
    const library = "retry (file:///app/node_modules/retry/index.js:5:1)";
    const node = "process.processTicks (node:internal/process/task_queues:95:5)";
    assert.deepEqual(lineOf(stackOf(own, library, node, "order (file:///app/order.ts:41:15)")), {
      file: "/app/order.ts",
      line: 41,
    });
    assert.equal(lineOf(stackOf(own, library, node)), undefined);
  });

  test("is unknown where there is no text of a stack", () => {
    assert.equal(lineOf({}), undefined);
    assert.equal(lineOf({ stack: [] }), undefined);
  });

  test("begins with its caller, and changes no setting of the process", () => {
    const limit = Error.stackTraceLimit;
    function order(): ReturnType<typeof placeOfCall> {
      return placeOfCall();
    }
    const [, first = ""] = String(order().stack).split("\n");
    assert.match(first, /^ {4}at order \(.*call-place\.test\.ts:\d+:\d+\)$/);
    assert.equal(Error.stackTraceLimit, limit);
  });
});
