/** Spec §12.2: changes that the relay has lost are read from the store. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { InstanceSummary } from "../stores/store.ts";
import { LogBook } from "../testing/log-book.rig.ts";
import { TestClock } from "../testing/test-clock.ts";
import type { CommittedTurn } from "../runtime/message.ts";
import { ClusterSubscription } from "./cluster-subscription.ts";
import { foldHistory } from "./folded-history.ts";
import type { RelayListener } from "./relay-follower.ts";
import { StoredHistory } from "./stored-history.rig.ts";

function subscribed({ now = 1000 } = {}) {
  const clock = new TestClock({ now });
  const history = new StoredHistory(3);
  const heard: number[] = [];
  const relay: { listener?: RelayListener } = {};
  const listeners: ((turn: CommittedTurn) => void)[] = [];
  const region = {
    shardsOpened: 1,
    subscribe: (listener: (turn: CommittedTurn) => void) => {
      listeners.push(listener);
      return () => undefined;
    },
  };
  const lists = { count: 0, isAway: false };
  const summary = { id: "i", key: 1, createdAt: 1000, endedAt: null } as InstanceSummary;
  const subscription = new ClusterSubscription(
    {
      namespace: "default",
      region,
      follower: {
        subscribe: (listener) => {
          relay.listener = listener;
          return {
            add: () => Promise.resolve(),
            delete: () => undefined,
            stop: () => undefined,
            noteOwn: () => undefined,
            unheard: [],
          };
        },
      },
      history: history.source,
      clock,
      logger: new LogBook(),
      isUp: () => true,
      mayRead: () => true,
      keyOf: () => Promise.resolve(1),
      list: async () => {
        lists.count++;
        await Promise.resolve();
        if (lists.isAway) throw new Error("the store is away");
        return [summary];
      },
    },
    ({ turn }) => heard.push(turn),
    undefined,
  );
  /** Commits the next turn of the instance, by this member or by another that sends nothing. */
  const commit = async (isOwn: boolean): Promise<void> => {
    history.append();
    const turns: CommittedTurn[] = [];
    await foldHistory(history.source, { id: "i", key: 1 }, (turn) => turns.push({ ...turn }));
    const last = turns.at(-1);
    if (isOwn && last !== undefined) for (const listener of listeners) listener(last);
  };
  const tell = { loseChanges: () => relay.listener?.onGap(), openShards: () => relay.listener?.onShardsOpened?.() };
  return { clock, heard, lists, region, subscription, commit, ...tell };
}

test("after a gap the instances are listed until the store answers, and what is missing is heard", async () => {
  const { clock, heard, lists, loseChanges } = subscribed();
  lists.isAway = true;
  loseChanges();
  await clock.advance(3000);
  assert.deepEqual(heard, []);
  assert.ok(lists.count > 1);
  lists.isAway = false;
  await clock.advance(1000);
  assert.deepEqual(heard, [0, 1, 2]);
  assert.equal(clock.timerCount, 0);
});

test("nothing is listed any more after the stop", async () => {
  const { clock, lists, subscription, loseChanges } = subscribed();
  lists.isAway = true;
  loseChanges();
  await clock.advance(0);
  subscription.stop();
  await clock.advance(3000);
  assert.deepEqual([lists.count, clock.timerCount], [1, 0]);
});

for (const who of ["this member", "another"]) {
  test(`the last turns of an owner are heard although ${who} has taken over its shards before they came`, async () => {
    const { clock, heard, region, commit, openShards } = subscribed({ now: 1003 });
    await commit(false);
    if (who === "this member") region.shardsOpened++;
    else openShards();
    await commit(true);
    await clock.advance(0);
    assert.deepEqual(heard, [3, 4]);
  });
}
