import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { EngineError } from "../base/error.ts";
import { silentLogger } from "../base/logger.ts";
import type { CallOf } from "../runtime/call.ts";
import { TestClock } from "../testing/test-clock.ts";
import { type RenewalQuestion, ShardRenewals } from "./shard-renewals.ts";

function renewal(...attemptIds: readonly string[]): CallOf<"RenewAttempts"> {
  return { type: "RenewAttempts", host: "me", attemptIds, connections: {} };
}

describe("renewals of hosted attempts", () => {
  let clock: TestClock;
  let renewals: ShardRenewals;
  /** Calls that were made, and questions that were asked. */
  let calls: number[];
  let asked: { member: string; question: RenewalQuestion }[];
  let owners: Record<number, string | undefined>;
  let answer: (question: RenewalQuestion) => Promise<unknown>;
  let handle: (shard: number) => Promise<unknown>;

  beforeEach(() => {
    clock = new TestClock();
    calls = [];
    asked = [];
    owners = { 1: "you", 2: "you", 3: "another", 4: "me" };
    answer = async ({ renewals: each }) => each.map(({ renewal: { attemptIds } }) => attemptIds.slice(0, 1));
    handle = async () => ["x"];
    renewals = new ShardRenewals({
      clock,
      logger: silentLogger,
      member: () => "me",
      ownerOf: (shard) => owners[shard],
      newKey: () => "key",
      call: async (shard) => {
        calls.push(shard);
        return [`of call ${shard}`];
      },
      ask: async (member, question) => {
        asked.push({ member, question: question as RenewalQuestion });
        return await answer(question as RenewalQuestion);
      },
      handle: async (shard) => await handle(shard),
    });
  });

  test("those of one owner travel together; one alone is a call", async () => {
    const all = [1, 2, 3, 4, 5].map((shard) => renewals.renew(shard, renewal(`a${shard}`, "b"), 1000));
    await clock.settle();
    assert.deepEqual(await Promise.all(all), [["a1"], ["a2"], ["of call 3"], ["of call 4"], ["of call 5"]]);
    assert.deepEqual(
      calls.toSorted((a, b) => a - b),
      [3, 4, 5],
    );
    assert.deepEqual(
      asked.map(({ member, question }) => [member, question.renewals.map(({ shard }) => shard)]),
      [["you", [1, 2]]],
    );
  });

  test("a shard for which the owner has no answer, or an owner that knows no such question, gets calls", async () => {
    answer = async () => [["a1"], null];
    const first = [1, 2].map((shard) => renewals.renew(shard, renewal("a1"), 1000));
    await clock.settle();
    assert.deepEqual(await Promise.all(first), [["a1"], ["of call 2"]]);
    answer = async () => {
      throw new Error("not a request that this member knows");
    };
    const second = [1, 2].map((shard) => renewals.renew(shard, renewal("a1"), 1000));
    await clock.settle();
    assert.deepEqual(await Promise.all(second), [["of call 1"], ["of call 2"]]);
  });

  test("the owner answers for each shard, and does not wait for a slow one", async () => {
    handle = async (shard) => {
      if (shard === 1) return ["unwanted"];
      if (shard === 2) throw new EngineError("SHARD_MOVED", "it has moved");
      return await new Promise<never>(() => undefined);
    };
    const each = [1, 2, 3].map((shard) => ({ shard, renewal: renewal("unwanted") }));
    const answered = renewals.answer({ type: "RenewAttemptsByShard", key: "k", renewals: each });
    assert.ok(answered);
    await clock.advance(1000);
    assert.deepEqual(await answered.value, [["unwanted"], null, null]);
    assert.equal(renewals.answer({ type: "CountQueue" }), undefined);
    assert.equal(renewals.answer(null), undefined);
  });
});
