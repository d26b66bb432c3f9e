import assert from "node:assert/strict";
import { test } from "node:test";
import { EngineError } from "../../base/error.ts";
import { memoryStore, TestClock } from "../../testing.ts";
import { StoreHealth } from "./store-health.ts";

test("13 a store that lets a sign of life wait, or refuses it, is away until one is answered", async () => {
  const clock = new TestClock();
  const store = memoryStore();
  let answer = Promise.withResolvers<{ members: []; shards: [] }>();
  const watch = new StoreHealth(Object.assign(store, { heartbeat: () => answer.promise }), clock);
  assert.equal(watch.problem, undefined);
  const late = watch.storage.heartbeat("m");
  await clock.advance(1900);
  assert.equal(watch.problem, undefined);
  await clock.advance(1200);
  assert.equal(watch.problem, "the store has not answered for 3 seconds");
  answer.reject(new EngineError("STORE_UNAVAILABLE", "the cable is out"));
  await assert.rejects(late);
  assert.equal(watch.problem, "the cable is out");
  answer = Promise.withResolvers();
  const heard = watch.storage.heartbeat("m");
  assert.equal(watch.problem, "the cable is out");
  answer.resolve({ members: [], shards: [] });
  await heard;
  assert.equal(watch.problem, undefined);
});
