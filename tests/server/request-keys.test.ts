import assert from "node:assert/strict";
import { test } from "node:test";
import { EngineError } from "../../src/base/error.ts";
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
  const again = keys.once(request, async (isRepeat) => isRepeat);
  await clock.advance(3000);
  assert.equal(await again, true);
  assert.equal(await keys.once(request, async () => assert.fail("it was answered")), true);
});

test("12.1 of two members that begin the same at the same moment, one is the first", async () => {
  const store = memoryStore();
  await store.open();
  const clock = new TestClock();
  const members = [1, 2].map(() => new RequestKeys({ store, clock, logger: silentLogger }));
  let runs = 0;
  const run = async (): Promise<number> => ++runs;
  const answers = Promise.all(members.map((keys) => keys.once(request, run)));
  await clock.advance(500);
  assert.deepEqual(await answers, [1, 1]);
});

test("12.1 the first, refused because of what a repetition elsewhere has done, finds that", async () => {
  const store = memoryStore();
  await store.open();
  const clock = new TestClock();
  const [one, other] = [1, 2].map(() => new RequestKeys({ store, clock, logger: silentLogger }));
  const made = new Set<string>();
  const make = async (isRepeat: boolean): Promise<string> => {
    if (made.has("it") && !isRepeat) throw new EngineError("WORKFLOW_DUPLICATE", "it is there");
    made.add("it");
    return "it";
  };
  const begun = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const first = one?.once(request, async (isRepeat) => {
    begun.resolve();
    await gate.promise;
    return await make(isRepeat);
  });
  await begun.promise;
  const repeated = other?.once(request, make);
  await clock.advance(3000);
  assert.equal(await repeated, "it");
  gate.resolve();
  assert.equal(await first, "it");
});

test("12.1 after an answer that leaves open whether it was done, the next try is a repetition", async () => {
  const store = memoryStore();
  await store.open();
  const clock = new TestClock();
  const keys = new RequestKeys({ store, clock, logger: silentLogger });
  const fail = (code: "QUEUE_FULL" | "STORE_UNAVAILABLE") => async (): Promise<boolean> => {
    throw new EngineError(code, "not now");
  };
  await assert.rejects(keys.once(request, fail("QUEUE_FULL")));
  const refused = { ...request, key: "unclear" };
  await assert.rejects(keys.once(refused, fail("STORE_UNAVAILABLE")));
  await clock.advance(3000);
  const run = async (isRepeat: boolean): Promise<boolean> => isRepeat;
  assert.deepEqual([await keys.once(request, run), await keys.once(refused, run)], [false, true]);
});
