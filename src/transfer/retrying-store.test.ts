import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { EngineError, hasCode } from "../base/error.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import { withRetries } from "./retrying-store.ts";

class Failing extends MemoryStore {
  calls = 0;
  readonly #failures: number;
  readonly #code: "STORE_UNAVAILABLE" | "STORE_DATA";

  constructor(failures: number, code: "STORE_UNAVAILABLE" | "STORE_DATA" = "STORE_UNAVAILABLE") {
    super();
    this.#failures = failures;
    this.#code = code;
  }

  override async settleShardCount(count: number): Promise<number> {
    if (++this.calls <= this.#failures) throw new EngineError(this.#code, "not now");
    return await super.settleShardCount(count);
  }
}

/** Lets every wait be over as soon as it begins. */
async function atOnce<T>(t: TestContext, work: Promise<T>): Promise<T> {
  const state = { isOver: false };
  const done = work.finally(() => (state.isOver = true));
  done.catch(() => undefined);
  while (!state.isOver) {
    await new Promise((resolve) => setImmediate(resolve));
    t.mock.timers.tick(5000);
  }
  return await done;
}

test("a store that is away is asked again, for most of a minute", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  const back = new Failing(14);
  await back.open();
  assert.equal(await atOnce(t, withRetries(back).settleShardCount(3)), 3);
  const gone = new Failing(Infinity);
  await gone.open();
  await assert.rejects(atOnce(t, withRetries(gone).settleShardCount(3)), (error) =>
    hasCode(error, "STORE_UNAVAILABLE"),
  );
  assert.equal(gone.calls, 15);
});

test("an answer is an answer", async () => {
  const refusing = new Failing(1, "STORE_DATA");
  await refusing.open();
  await assert.rejects(withRetries(refusing).settleShardCount(3), (error) => hasCode(error, "STORE_DATA"));
  assert.equal(refusing.calls, 1);
  assert.equal(withRetries(refusing).clusters, "possible");
});
