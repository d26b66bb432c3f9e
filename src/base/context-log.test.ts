import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { contextLog, type LogMethod } from "./context-log.ts";

describe("ctx.log", () => {
  const lines: unknown[][] = [];
  const { info } = contextLog((...line) => lines.push(line));
  const written = (...call: unknown[]): unknown[] | undefined => {
    (info as (...values: unknown[]) => void)(...call);
    return lines.at(-1);
  };

  test("takes a text, fields with a text, and fields alone", () => {
    assert.deepEqual(written("step 1"), ["info", {}, "step 1"]);
    assert.deepEqual(written({ rows: 2 }, "copied"), ["info", { rows: 2 }, "copied"]);
    assert.deepEqual(written({ rows: 2 }), ["info", { rows: 2 }, ""]);
  });

  test("takes an error, with a text or without", () => {
    const error = new Error("no luck");
    assert.deepEqual(written(error), ["info", { error: "no luck", stack: error.stack }, "no luck"]);
    assert.deepEqual(written(error, "again"), ["info", { error: "no luck", stack: error.stack }, "again"]);
  });

  test("writes whatever JavaScript gives it, as one line", () => {
    assert.deepEqual(written("rows", 12), ["info", {}, "rows 12"]);
    assert.deepEqual(written(12), ["info", {}, "12"]);
    assert.deepEqual(written(null), ["info", {}, "null"]);
    assert.deepEqual(written(undefined), ["info", {}, "undefined"]);
  });

  test("is typed for each of these forms", () => {
    const typed: LogMethod = info;
    typed("text");
    typed({ rows: 1 });
    typed({ rows: 1 }, "text");
    typed(new Error("no luck"), "text");
    // @ts-expect-error -- a number is no message
    typed(12);
  });
});
