import assert from "node:assert/strict";
import { test } from "node:test";
import { Abort } from "./abort.ts";

test("a signal that is looked at first aborts later", () => {
  const abort = new Abort();
  const { signal } = abort;
  assert.equal(signal.aborted, false);
  abort.abort(new Error("stop"));
  assert.equal(signal.aborted, true);
  assert.equal((signal.reason as Error).message, "stop");
  assert.equal(abort.signal, signal);
});

test("a signal that is looked at later is aborted already, for the first reason", () => {
  const abort = new Abort();
  assert.equal(abort.aborted, false);
  abort.abort(new Error("first"));
  abort.abort(new Error("second"));
  assert.equal(abort.aborted, true);
  assert.equal((abort.signal.reason as Error).message, "first");
});
