import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { EngineError, type ErrorCode, hasCode } from "../base/error.ts";
import { silentLogger } from "../base/logger.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import { type Batch, type Changes, type HistoryRow, noChanges } from "../stores/store.ts";
import { TestClock } from "../testing/test-clock.ts";
import { type Commitment, Committer } from "./committer.ts";

/** Says no to certain instances, and to everything for a while. */
class PickyStore extends MemoryStore {
  readonly sentAt: number[] = [];
  readonly sent: Batch[] = [];
  readonly bad = new Set<number>();
  readonly errors: ErrorCode[] = [];
  readonly #clock: TestClock;

  constructor(clock: TestClock) {
    super();
    this.#clock = clock;
  }

  override async commit(batch: Batch): Promise<void> {
    this.sentAt.push(this.#clock.now());
    this.sent.push(structuredClone(batch));
    const code = this.errors.shift();
    if (code !== undefined) throw new EngineError(code, "not now");
    if (batch.changes.history.some(({ instance }) => this.bad.has(instance)))
      throw new EngineError("STORE_DATA", "never");
    await super.commit(batch);
  }
}

class Turn implements Commitment {
  readonly instance: number;

  constructor(instance: number) {
    this.instance = instance;
  }

  addTo(changes: Changes): void {
    changes.history.push({ instance: this.instance, turn: 0, firstEvent: 0, at: 1, events: "[]" });
  }
}

describe("the committer", () => {
  let clock: TestClock;
  let store: PickyStore;
  let committer: Committer;
  let health: string[];

  beforeEach(async () => {
    clock = new TestClock();
    store = new PickyStore(clock);
    health = [];
    await store.open();
    const claim = await store.claimShard(0, "me");
    const onHealth = (problem: unknown): void => void health.push(problem === undefined ? "well" : "ill");
    committer = new Committer({ store, clock, logger: silentLogger, shard: 0, claim, onHealth });
  });

  async function stored(instances: readonly number[]): Promise<number[]> {
    const rows: HistoryRow[] = await store.loadHistory(instances);
    return rows.map(({ instance }) => instance);
  }

  test("writes many commitments in one commit, and numbers its commits", async () => {
    assert.deepEqual(await committer.commit([new Turn(1), new Turn(2)], noChanges()), []);
    assert.deepEqual(await committer.commit([new Turn(3)], noChanges()), []);
    assert.deepEqual(
      store.sent.map(({ number }) => number),
      [1, 2],
    );
    assert.deepEqual(await stored([1, 2, 3]), [1, 2, 3]);
  });

  test("sends the same commit again, waiting longer each time, at most 5 s", async () => {
    store.errors.push(...new Array<ErrorCode>(12).fill("STORE_UNAVAILABLE"));
    await clock.until(committer.commit([new Turn(1)], noChanges()));
    const waits = store.sentAt.slice(1).map((at, place) => at - (store.sentAt[place] ?? 0));
    assert.deepEqual(waits, [50, 100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000, 5000, 5000]);
    for (const batch of store.sent) assert.deepEqual(batch, store.sent[0]);
    assert.deepEqual(health, ["ill", "well"]);
  });

  test("says nothing of a store that comes back at once", async () => {
    store.errors.push("STORE_UNAVAILABLE", "STORE_UNAVAILABLE");
    await clock.until(committer.commit([new Turn(1)], noChanges()));
    assert.deepEqual(health, []);
  });

  test("after the third failure it says that the store is ill", async () => {
    store.errors.push("STORE_UNAVAILABLE", "STORE_UNAVAILABLE", "STORE_UNAVAILABLE");
    const done = committer.commit([new Turn(1)], noChanges());
    await clock.advance(149);
    assert.deepEqual(health, []);
    await clock.advance(1);
    assert.deepEqual(health, ["ill"]);
    await clock.until(done);
    assert.deepEqual(health, ["ill", "well"]);
  });

  test("once told to give up it does, and says why", async () => {
    store.errors.push("STORE_UNAVAILABLE", "STORE_UNAVAILABLE");
    const done = committer.commit([new Turn(1)], noChanges());
    await clock.settle();
    committer.giveUp();
    await assert.rejects(clock.until(done), (error) => hasCode(error, "STORE_UNAVAILABLE"));
    assert.equal(store.sent.length, 2);
  });

  test("stops at once when somebody else owns the shard", async () => {
    store.errors.push("STORE_FENCED");
    const done = committer.commit([new Turn(1), new Turn(2)], noChanges());
    await assert.rejects(done, (error) => hasCode(error, "STORE_FENCED"));
    assert.equal(store.sent.length, 1);
  });

  for (const bad of [[1], [8], [3, 6], [1, 2, 3, 4, 5, 6, 7, 8], []]) {
    test(`finds those to blame among eight: ${bad.join(", ") || "nobody"}`, async () => {
      for (const instance of bad) store.bad.add(instance);
      const turns = [1, 2, 3, 4, 5, 6, 7, 8].map((instance) => new Turn(instance));
      const rejected = await committer.commit(turns, noChanges());
      assert.deepEqual(
        rejected.map(({ commitment }) => commitment.instance),
        bad,
      );
      const good = turns.map(({ instance }) => instance).filter((instance) => !bad.includes(instance));
      assert.deepEqual(await stored(turns.map(({ instance }) => instance)), good);
      await committer.commit([new Turn(9)], noChanges());
      assert.deepEqual(await stored([9]), [9], "the numbers still fit");
    });
  }

  test("what belongs to no commitment is written once, whoever is to blame", async () => {
    store.bad.add(1);
    const mark = { shard: 0, source: 2, number: 5 };
    await committer.commit([new Turn(1), new Turn(2)], { ...noChanges(), marks: [mark] });
    assert.deepEqual(await store.loadMarks(0), [mark]);
  });

  test("a refusal is an answer too: the store is there again", async () => {
    store.errors.push("STORE_UNAVAILABLE", "STORE_UNAVAILABLE", "STORE_UNAVAILABLE", "STORE_DATA");
    const rejected = await clock.until(committer.commit([new Turn(1)], noChanges()));
    assert.equal(rejected.length, 1);
    assert.deepEqual(health, ["ill", "well"]);
  });

  test("its own changes are not narrowed down: they fail as they are", async () => {
    store.errors.push("STORE_DATA");
    await assert.rejects(committer.commit([], noChanges()), (error) => hasCode(error, "STORE_DATA"));
  });

  test("its last word marks the shard as left in good order", async () => {
    await committer.commit([new Turn(1)], noChanges());
    await committer.close(noChanges());
    assert.equal(store.sent.at(-1)?.clean, true);
    assert.equal((await store.claimShard(0, "next")).clean, true);
  });
});
