import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { EngineError } from "../base/error.ts";
import { failureFrom } from "./failure-from.ts";

class PaymentRefused extends Error {
  override readonly name = "PaymentRefused";
  readonly retryable = false;
}

describe("a failure made from", () => {
  test("an error has its name, message and frames", () => {
    const failure = failureFrom(new TypeError("x is not a function"));
    assert.equal(failure.type, "TypeError");
    assert.equal(failure.message, "x is not a function");
    assert.equal(failure.retryable, true);
    assert.match(failure.stack ?? "", /^ {4}at .*failure-from\.test\.ts/);
    assert.equal(failure.cause, undefined);
  });

  test("an error that says so is final", () => {
    const { type, retryable } = failureFrom(new PaymentRefused("no"));
    assert.deepEqual({ type, retryable }, { type: "PaymentRefused", retryable: false });
  });

  test("an error of ours has its code", () => {
    const { type, retryable } = failureFrom(new EngineError("SUBTASK_LIMIT", "too many"));
    assert.deepEqual({ type, retryable }, { type: "SUBTASK_LIMIT", retryable: false });
  });

  test("an error with causes has them, down to a depth of five", () => {
    const circle = new Error("circle");
    circle.cause = circle;
    let depth = 0;
    for (let failure = failureFrom(circle); failure.cause !== undefined; failure = failure.cause) depth++;
    assert.equal(depth, 5);
    assert.equal(failureFrom(new Error("outer", { cause: "inner" })).cause?.message, "inner");
    assert.equal(failureFrom(new Error("outer", { cause: null })).cause, undefined);
  });

  test("an object with a message is read as an error", () => {
    assert.deepEqual(failureFrom({ name: "Remote", message: "away" }), {
      type: "Remote",
      message: "away",
      retryable: true,
    });
  });

  for (const [thrown, message] of [
    ["just text", "just text"],
    [undefined, "the job threw undefined"],
    [null, "the job threw null"],
    [42, "the job threw 42"],
    [10n, "the job threw 10n"],
    [" ", "the job threw ' '"],
    [{ code: 7 }, "the job threw { code: 7 }"],
    [Symbol("s"), "the job threw Symbol(s)"],
  ] as const) {
    test(`what is no error says it: ${message}`, () => {
      assert.deepEqual(failureFrom(thrown), { type: "Error", message, retryable: true });
    });
  }

  test("an error without a message says that", () => {
    assert.equal(failureFrom(new RangeError()).message, "the job threw RangeError without a message");
  });

  test("something that cannot be read says that", () => {
    const hostile = new Proxy(new Error("x"), {
      get: () => {
        throw new Error("no");
      },
    });
    assert.match(failureFrom(hostile).message, /cannot be read/);
  });

  test("something huge is cut", () => {
    const { message, type, stack } = failureFrom(
      Object.assign(new Error("m".repeat(100_000)), { name: "n".repeat(999) }),
    );
    assert.equal(message.length, 8192);
    assert.ok(message.endsWith("…"));
    assert.equal(type.length, 200);
    assert.ok((stack ?? "").length <= 4096);
    assert.ok((stack ?? "").split("\n").length <= 20);
  });

  test("an error without a name or with a strange stack is still one", () => {
    const odd = Object.assign(new Error("odd"), { name: "", stack: 5 });
    assert.deepEqual(failureFrom(odd), { type: "Error", message: "odd", retryable: true });
  });
});
