import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { EngineError, type ErrorCode, hasCode } from "../base/error.ts";
import { silentLogger } from "../base/logger.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import type { Batch, Changes, HistoryRow } from "../stores/store.ts";
import { TestClock } from "../testing/test-clock.ts";
import { type CommitPart, Committer } from "./committer.ts";
import { FencingToken } from "./fencing-token.ts";

/** Says no to certain instances, and to everything for a while. It may lose an answer, and think while it has none. */
class PickyStore extends MemoryStore {
  readonly sentAt: number[] = [];
  readonly sent: Batch[] = [];
  readonly bad = new Set<number>();
  readonly errors: ErrorCode[] = [];
  /** The answer to the next commit is lost; this happens before it is sent again. */
  onLostAnswer: (() => Promise<void>) | undefined;
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
    const { onLostAnswer } = this;
    if (onLostAnswer === undefined) return;
    this.onLostAnswer = undefined;
    await onLostAnswer();
    throw new EngineError("STORE_UNAVAILABLE", "the answer was lost");
  }
}

class Turn implements CommitPart {
  readonly token: FencingToken;
  readonly instance: number;

  constructor(token: FencingToken, instance: number) {
    this.token = token;
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
  let tokens: FencingToken[];

  beforeEach(async () => {
    clock = new TestClock();
    store = new PickyStore(clock);
    health = [];
    await store.open();
    tokens = [await claim(0), await claim(1), await claim(2)];
    const onHealth = (problem: unknown): void => void health.push(problem === undefined ? "well" : "ill");
    committer = new Committer({ store, clock, logger: silentLogger, onHealth });
  });

  async function claim(shard: number, owner = "me"): Promise<FencingToken> {
    const claimed = await store.claimShard(shard, owner);
    assert.ok(claimed);
    return new FencingToken(shard, claimed);
  }

  function turn(instance: number, shard = 0): Turn {
    const token = tokens[shard];
    assert.ok(token);
    return new Turn(token, instance);
  }

  function turns(count: number, shard?: (place: number) => number): Turn[] {
    return Array.from({ length: count }, (_, place) => turn(place + 1, shard?.(place)));
  }

  async function stored(instances: readonly number[]): Promise<number[]> {
    const rows: HistoryRow[] = await store.loadHistory(instances);
    return rows.map(({ instance }) => instance);
  }

  /** Of all commits that were sent: the shards, each with its number. */
  function fences(): string[] {
    return store.sent.map((batch) => batch.fences.map(({ shard, number }) => `${shard}#${number}`).join(" "));
  }

  test("writes many parts in one commit, and numbers its commits", async () => {
    assert.deepEqual(await committer.commit([turn(1), turn(2)]), []);
    assert.deepEqual(await committer.commit([turn(3)]), []);
    assert.deepEqual(fences(), ["0#1", "0#2"]);
    assert.deepEqual(await stored([1, 2, 3]), [1, 2, 3]);
  });

  test("sends the same commit again, waiting longer each time, at most 5 s", async () => {
    store.errors.push(...new Array<ErrorCode>(12).fill("STORE_UNAVAILABLE"));
    await clock.until(committer.commit([turn(1), turn(2, 1)]));
    const waits = store.sentAt.slice(1).map((at, place) => at - (store.sentAt[place] ?? 0));
    assert.deepEqual(waits, [50, 100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000, 5000, 5000]);
    for (const batch of store.sent) assert.deepEqual(batch, store.sent[0]);
    assert.deepEqual(health, ["ill", "well"]);
  });

  test("says nothing of a store that comes back at once", async () => {
    store.errors.push("STORE_UNAVAILABLE", "STORE_UNAVAILABLE");
    await clock.until(committer.commit([turn(1)]));
    assert.deepEqual(health, []);
  });

  test("after the third failure it says that the store is ill", async () => {
    store.errors.push("STORE_UNAVAILABLE", "STORE_UNAVAILABLE", "STORE_UNAVAILABLE");
    const done = committer.commit([turn(1)]);
    await clock.advance(149);
    assert.deepEqual(health, []);
    await clock.advance(1);
    assert.deepEqual(health, ["ill"]);
    await clock.until(done);
    assert.deepEqual(health, ["ill", "well"]);
  });

  test("once told to give up it does, and says why", async () => {
    store.errors.push("STORE_UNAVAILABLE", "STORE_UNAVAILABLE");
    const done = committer.commit([turn(1)]);
    await clock.settle();
    committer.giveUp();
    await assert.rejects(clock.until(done), (error) => hasCode(error, "STORE_UNAVAILABLE"));
    assert.equal(store.sent.length, 2);
  });

  test("having given up a commit that may have landed, it sends nothing more: another one would be taken for it", async () => {
    store.onLostAnswer = async () => committer.giveUp();
    await assert.rejects(committer.commit([turn(1)]), (error) => hasCode(error, "STORE_UNAVAILABLE"));
    await assert.rejects(committer.commit([turn(2)]), (error) => hasCode(error, "STORE_UNAVAILABLE"));
    assert.equal(store.sent.length, 1);
    assert.deepEqual(await stored([1, 2]), [1]);
  });

  test("stops at once when somebody else owns the shard", async () => {
    await claim(0, "somebody else");
    const rejected = await committer.commit([turn(1), turn(2)]);
    assert.deepEqual(instances(rejected), [1, 2]);
    for (const { error } of rejected) assert.ok(hasCode(error, "STORE_FENCED"));
    assert.equal(store.sent.length, 1);
    assert.deepEqual(await stored([1, 2]), []);
  });

  for (const bad of [[1], [8], [3, 6], [1, 2, 3, 4, 5, 6, 7, 8], []]) {
    test(`finds those to blame among eight: ${bad.join(", ") || "nobody"}`, async () => {
      for (const instance of bad) store.bad.add(instance);
      const rejected = await committer.commit(turns(8));
      assert.deepEqual(instances(rejected), bad);
      for (const { error } of rejected) assert.ok(hasCode(error, "STORE_DATA"));
      const all = [1, 2, 3, 4, 5, 6, 7, 8];
      assert.deepEqual(
        await stored(all),
        all.filter((instance) => !bad.includes(instance)),
      );
      await committer.commit([turn(9)]);
      assert.deepEqual(await stored([9]), [9], "the numbers still fit");
    });
  }

  test("rows that are no turn's are written once, whoever is to blame", async () => {
    store.bad.add(1);
    const offset = { shard: 0, source: 2, number: 5 };
    const [token] = tokens;
    assert.ok(token);
    const rows: CommitPart = { token, addTo: (changes) => void changes.offsets.push(offset) };
    const rejected = await committer.commit([turn(1), turn(2), rows]);
    assert.equal(rejected.length, 1);
    assert.deepEqual(await store.loadOffsets(0), [offset]);
  });

  test("a refusal is an answer too: the store is there again", async () => {
    store.errors.push("STORE_UNAVAILABLE", "STORE_UNAVAILABLE", "STORE_UNAVAILABLE", "STORE_DATA");
    const rejected = await clock.until(committer.commit([turn(1)]));
    assert.equal(rejected.length, 1);
    assert.deepEqual(health, ["ill", "well"]);
  });

  test("that a shard is lost is an answer too", async () => {
    store.errors.push("STORE_UNAVAILABLE", "STORE_UNAVAILABLE", "STORE_UNAVAILABLE");
    await claim(0, "somebody else");
    const rejected = await clock.until(committer.commit([turn(1)]));
    assert.equal(rejected.length, 1);
    assert.deepEqual(health, ["ill", "well"]);
  });

  test("its last word offsets the shard as left in good order", async () => {
    await committer.commit([turn(1), turn(2, 1)]);
    await committer.release(turn(3));
    assert.deepEqual(
      store.sent.at(-1)?.fences.map(({ shard, released }) => ({ shard, released })),
      [{ shard: 0, released: true }],
    );
    assert.equal((await store.claimShard(0, "next"))?.released, true);
    assert.equal((await store.claimShard(1, "next"))?.released, false);
  });

  test("its last word for a shard that was lost before is refused", async () => {
    await claim(0, "somebody else");
    await assert.rejects(committer.release(turn(1)), (error) => hasCode(error, "STORE_FENCED"));
  });

  describe("with several shards", () => {
    test("writes them in one commit with a fence for each, and each has its own numbers", async () => {
      await committer.commit([turn(1, 1)]);
      await committer.commit([turn(2, 0), turn(3, 1), turn(4, 0), turn(5, 2)]);
      await committer.commit([turn(6, 2), turn(7, 0)]);
      assert.deepEqual(fences(), ["1#1", "0#1 1#2 2#1", "2#2 0#2"]);
      assert.deepEqual(await stored([1, 2, 3, 4, 5, 6, 7]), [1, 2, 3, 4, 5, 6, 7]);
    });

    test("leaves out the one that is lost, and writes the others", async () => {
      await claim(1, "somebody else");
      const rejected = await committer.commit(turns(6, (place) => place % 3));
      assert.deepEqual(instances(rejected), [2, 5]);
      for (const { error } of rejected) assert.ok(hasCode(error, "STORE_FENCED"));
      assert.deepEqual(await stored([1, 2, 3, 4, 5, 6]), [1, 3, 4, 6]);
      await committer.commit([turn(7, 0), turn(8, 2)]);
      assert.deepEqual(await stored([7, 8]), [7, 8], "the numbers of the others still fit");
      assert.deepEqual(fences(), ["0#1 1#1 2#1", "0#1 2#1", "0#2 2#2"]);
    });

    test("leaves out all that are lost at once, and sends nothing more if none is left", async () => {
      await claim(0, "somebody else");
      await claim(2, "somebody else");
      assert.deepEqual(instances(await committer.commit(turns(6, (place) => place % 3))), [1, 3, 4, 6]);
      assert.deepEqual(fences(), ["0#1 1#1 2#1", "1#1"]);
      await claim(1, "somebody else");
      assert.equal((await committer.commit(turns(3, (place) => place))).length, 3);
      assert.equal(store.sent.length, 3);
    });

    test("a commit that had landed is recognised although one of its shards was lost before the answer came", async () => {
      store.onLostAnswer = async () => void (await claim(1, "somebody else"));
      const rejected = await clock.until(committer.commit([turn(1, 0), turn(2, 1), turn(3, 2)]));
      assert.deepEqual(instances(rejected), [2], "whoever waits for it cannot be told that it is durable");
      assert.deepEqual(await stored([1, 2, 3]), [1, 2, 3], "nothing was written twice, and nothing is missing");
      await committer.commit([turn(4, 0), turn(5, 2)]);
      assert.deepEqual(await stored([4, 5]), [4, 5]);
      assert.deepEqual(fences(), ["0#1 1#1 2#1", "0#1 1#1 2#1", "0#1 2#1", "0#2 2#2"]);
    });

    test("a commit that had landed and was answered by nobody is written once", async () => {
      store.onLostAnswer = async () => undefined;
      assert.deepEqual(await clock.until(committer.commit([turn(1, 0), turn(2, 1)])), []);
      assert.deepEqual(fences(), ["0#1 1#1", "0#1 1#1"]);
      await committer.commit([turn(3, 0), turn(4, 1)]);
      assert.deepEqual(await stored([1, 2, 3, 4]), [1, 2, 3, 4]);
    });

    test("finds who is to blame across shards, and the numbers of all of them still fit", async () => {
      for (const instance of [2, 7]) store.bad.add(instance);
      assert.deepEqual(instances(await committer.commit(turns(9, (place) => place % 3))), [2, 7]);
      assert.deepEqual(await stored([1, 2, 3, 4, 5, 6, 7, 8, 9]), [1, 3, 4, 5, 6, 8, 9]);
      await committer.commit([turn(10, 0), turn(11, 1), turn(12, 2)]);
      assert.deepEqual(await stored([10, 11, 12]), [10, 11, 12]);
    });

    test("tells those that are to blame from those whose shard was lost meanwhile", async () => {
      store.bad.add(1);
      await claim(1, "somebody else");
      const rejected = await committer.commit(turns(6, (place) => place % 3));
      const codes = rejected.map(({ part, error }) => {
        return `${part.instance} ${hasCode(error, "STORE_FENCED") ? "lost" : "refused"}`;
      });
      assert.deepEqual(codes.toSorted(), ["1 refused", "2 lost", "5 lost"]);
      assert.deepEqual(await stored([1, 2, 3, 4, 5, 6]), [3, 4, 6]);
    });
  });
});

function instances(rejected: readonly { part: Turn | CommitPart }[]): number[] {
  return rejected.map(({ part }) => (part instanceof Turn ? part.instance : 0));
}
