import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLogger } from "../../src/base/logger.ts";
import { RequestKeys } from "../../src/server/http/request-keys.ts";
import { memoryStore, TestClock } from "../../src/testing.ts";

const request = { operation: "make", target: "t", key: "k", content: { a: 1 }, isSecret: false };
const hourMs = 3_600_000;

test("12.1 a request with a key is carried out once, until its key is forgotten after a day", async (t) => {
  const store = memoryStore();
  await store.open();
  const clock = new TestClock();
  const keys = new RequestKeys({ store, clock, logger: silentLogger });
  keys.start();
  t.after(() => keys.stop());
  let runs = 0;
  const run = async (): Promise<number> => ++runs;
  assert.deepEqual(await Promise.all([keys.once(request, run), keys.once(request, run)]), [1, 1]);
  await clock.advance(23 * hourMs);
  assert.equal(await keys.once(request, run), 1);
  await assert.rejects(keys.once({ ...request, content: { a: 2 } }, run), /used for another request/);
  assert.equal(await keys.once({ ...request, target: "other" }, run), 2);
  await clock.advance(3 * hourMs);
  assert.equal(await keys.once(request, run), 3);
});

test("12.1 one that was begun elsewhere, and was never answered, is carried out as a repetition", async () => {
  const store = memoryStore();
  await store.open();
  const clock = new TestClock();
  const gone = new RequestKeys({ store, clock, logger: silentLogger });
  const begun = Promise.withResolvers<void>();
  void gone.once(request, () => {
    begun.resolve();
    return new Promise(() => undefined);
  });
  await begun.promise;
  const keys = new RequestKeys({ store, clock, logger: silentLogger });
  assert.equal(await keys.once(request, async (isRepeat) => isRepeat), true);
  assert.equal(await keys.once(request, async () => assert.fail("it was answered")), true);
});
