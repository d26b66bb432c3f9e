import assert from "node:assert/strict";
import { test } from "node:test";
import { formatMessage } from "../dispatch/session-message.ts";
import { parseWorkerMessage } from "../dispatch/session-schema.ts";
import type { TaskLogLine } from "../dispatch/task-log.ts";
import { loggedLine } from "./logged-line.ts";

const identity = {
  attemptId: "i:1:0:1",
  namespace: "default",
  instanceId: "i",
  workflowName: "w",
  taskName: "t",
  attempt: 1,
  at: 5,
} as const;

test("whatever a job logs, the member takes it", () => {
  const circle: Record<string, unknown> = {};
  circle["self"] = circle;
  let deep: unknown = 1;
  for (let level = 0; level < 2000; level++) deep = [deep];
  const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, key) => [`key ${key}`, "x".repeat(10)]));
  const odd: unknown[] = [{}, { a: 1 }, circle, { deep }, many, { n: 1n }, [1, 2], { long: "x".repeat(200_000) }];
  for (const fields of odd) {
    const line: TaskLogLine = {
      ...identity,
      level: "info",
      message: "m".repeat(100_000),
      fields: fields as TaskLogLine["fields"],
    };
    const text = formatMessage({ type: "Logged", lines: [loggedLine(line)] });
    assert.equal(parseWorkerMessage(text).type, "Logged");
  }
  assert.deepEqual(loggedLine({ ...identity, level: "warn", message: "hi", fields: { a: 1 } }), {
    attemptId: "i:1:0:1",
    at: 5,
    level: "warn",
    message: "hi",
    fields: { a: 1 },
  });
});
