import assert from "node:assert/strict";
import { test } from "node:test";
import { EngineError } from "../../src/base/error.ts";
import { MemoryStore } from "../../src/stores/memory/memory-store.ts";
import type { Store } from "../../src/stores/store.ts";
import { Metrics } from "../../src/telemetry/metrics.ts";
import { observedStore } from "../../src/telemetry/observed-store.ts";

test("every method of a store goes through, and is timed under its name", async () => {
  const metrics = new Metrics();
  const bare = new MemoryStore();
  const store = observedStore(bare, metrics.store);
  // Connections and backups of a memory store are not part of the interface.
  const others = ["constructor", "connect", "backUp", "restore"];
  const methods = Object.getOwnPropertyNames(MemoryStore.prototype).filter((name) => !others.includes(name));
  assert.ok(methods.length > 30);
  for (const name of methods)
    assert.equal(typeof store[name as keyof Store], typeof (bare as Store)[name as keyof Store], name);
  assert.equal(store.clusters, bare.clusters);
  assert.equal(store.lanes, bare.lanes);
  await store.open();
  assert.equal(await store.settleShardCount(4), 4);
  await store.close();
  const text = await metrics.text();
  for (const name of ["open", "settleShardCount", "close"]) {
    assert.match(text, new RegExp(`db_query_duration_seconds_count{operation="${name}"} 1\\n`));
  }
  assert.match(text, /db_connection_active 0\n/);
});

test("what the store refuses is counted by its code, and still reaches the caller", async () => {
  const metrics = new Metrics();
  const problem = new EngineError("STORE_UNAVAILABLE", "gone");
  const broken = {
    heartbeat: () => Promise.reject(problem),
    loadJobs: () => {
      throw new TypeError("no promise at all");
    },
  } as unknown as Store;
  const store = observedStore(broken, metrics.store);
  await assert.rejects(store.heartbeat("me"), problem);
  assert.throws(() => store.loadJobs(), TypeError);
  const text = await metrics.text();
  assert.match(text, /db_query_error_total{operation="heartbeat",code="STORE_UNAVAILABLE"} 1\n/);
  assert.match(text, /db_query_error_total{operation="loadJobs",code="UNKNOWN"} 1\n/);
  assert.match(text, /db_query_duration_seconds_count{operation="heartbeat"} 1\n/);
  assert.match(text, /db_connection_active 0\n/);
});

test("calls under way are seen, and the caller gets the promise of the store itself", async () => {
  const metrics = new Metrics();
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const store = observedStore({ close: () => promise } as unknown as Store, metrics.store);
  assert.equal(store.close(), promise);
  assert.match(await metrics.text(), /db_connection_active 1\n/);
  resolve(undefined);
  await promise;
  assert.match(await metrics.text(), /db_connection_active 0\n/);
});
