/** Engines on a store that an import has not finished. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Engine, hasCode } from "../../src/index.ts";
import { MemoryStore } from "../../src/stores/memory/memory-store.ts";
import { TestClock } from "../../src/testing.ts";
import { exportInstances, importInstances } from "../../src/transfer.ts";
import { LogBook } from "../../src/testing/log-book.rig.ts";

const shards = 4;

/** Lines that stop coming until they may go on. */
async function* held(lines: AsyncIterable<string>, reached: () => void, goOn: Promise<void>): AsyncGenerator<string> {
  for await (const line of lines) {
    reached();
    await goOn;
    yield line;
  }
}

async function empty(): Promise<MemoryStore> {
  const store = new MemoryStore();
  await store.open();
  return store;
}

for (const cluster of [undefined, { shards }]) {
  test(`an engine ${cluster ? "of a cluster" : "alone"} does not start before the import is through`, async () => {
    const store = await empty();
    const reached = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const lines = held(exportInstances(await empty()), () => reached.resolve(), goOn.promise);
    const imported = importInstances(store, lines, { shards: cluster?.shards ?? 1 });
    await reached.promise;
    const clock = new TestClock();
    const engine = (): Engine =>
      new Engine({
        storage: store.connect(),
        clock,
        logger: new LogBook(),
        ...(cluster && { cluster }),
      });
    await assert.rejects(clock.until(engine().start()), (error) => hasCode(error, "STORE_LOCKED"));
    goOn.resolve();
    await imported;
    const next = engine();
    await clock.until(next.start());
    await clock.until(next.stop());
  });
}

test("a member that joins just as an import begins leaves the shards alone until it is through", async () => {
  const store = await empty();
  const reached = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const lines = held(exportInstances(await empty()), () => reached.resolve(), goOn.promise);
  const storage = store.connect();
  const clock = new TestClock();
  // Between its look at the shards and its joining.
  let imported: Promise<unknown> = Promise.resolve();
  const join = storage.join.bind(storage);
  storage.join = async (member) => {
    imported = importInstances(store, lines, { shards });
    await reached.promise;
    await join(member);
  };
  const engine = new Engine({ storage, clock, logger: new LogBook(), cluster: { shards } });
  await clock.until(engine.start());
  await clock.advance(60_000);
  assert.equal(engine.members()[0]?.shards, 0);
  goOn.resolve();
  await imported;
  await clock.advance(10_000);
  assert.equal(engine.members()[0]?.shards, shards);
  await clock.until(engine.stop());
});
