import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultRetryPolicy, isRetryable, type RetryPolicy, retryDelayMs } from "./retry.ts";

function policy(changes: Partial<RetryPolicy> = {}): RetryPolicy {
  return { ...defaultRetryPolicy, ...changes };
}

test("waits 1 s, 2 s, 4 s … by default", () => {
  assert.deepEqual(
    [0, 1, 2, 3].map((used) => retryDelayMs(defaultRetryPolicy, used, 0.9)),
    [1000, 2000, 4000, 8000],
  );
});

test("no wait is longer than the maximum, however many retries there were", () => {
  assert.equal(retryDelayMs(policy({ maxMs: 5000 }), 3, 0), 5000);
  assert.equal(retryDelayMs(defaultRetryPolicy, 5000, 0), 3_600_000);
  assert.equal(retryDelayMs(policy({ maxMs: 5000, jitter: 1 }), 3, 0.99), 5000);
});

test("a policy that does not wait never begins to", () => {
  assert.equal(retryDelayMs(policy({ initialMs: 0 }), 0, 0), 0);
  assert.equal(retryDelayMs(policy({ initialMs: 0 }), 5000, 0), 0);
});

test("chance adds up to the part that the policy allows", () => {
  const waits = [0, 0.5, 0.999].map((random) => retryDelayMs(policy({ jitter: 0.2 }), 0, random));
  assert.deepEqual(waits, [1000, 1100, 1200]);
});

test("a factor of 1 waits the same every time, and waits are whole milliseconds", () => {
  assert.equal(retryDelayMs(policy({ initialMs: 250, factor: 1 }), 7, 0), 250);
  assert.equal(retryDelayMs(policy({ initialMs: 100, factor: 1.5 }), 3, 0), 338);
});

test("a failure is final if it says so or the policy lists its type", () => {
  const failure = { type: "TypeError", message: "no", retryable: true };
  assert.equal(isRetryable(defaultRetryPolicy, failure), true);
  assert.equal(isRetryable(defaultRetryPolicy, { ...failure, retryable: false }), false);
  assert.equal(isRetryable(policy({ nonRetryable: ["TypeError"] }), failure), false);
});

test("where the policy lists what is retried, nothing else is", () => {
  const failure = { type: "TypeError", message: "no", retryable: true };
  assert.equal(isRetryable(policy({ retryOn: ["TypeError", "Busy"] }), failure), true);
  assert.equal(isRetryable(policy({ retryOn: ["Busy"] }), failure), false);
  assert.equal(isRetryable(policy({ retryOn: ["TypeError"], nonRetryable: ["TypeError"] }), failure), false);
  assert.equal(isRetryable(policy({ retryOn: ["TypeError"] }), { ...failure, retryable: false }), false);
});
