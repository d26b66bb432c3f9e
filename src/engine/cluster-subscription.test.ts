/** Spec §12.2: changes that the relay has lost are read from the store. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { InstanceSummary } from "../stores/store.ts";
import { LogBook } from "../testing/log-book.rig.ts";
import { TestClock } from "../testing/test-clock.ts";
import { ClusterSubscription } from "./cluster-subscription.ts";
import type { RelayListener } from "./relay-follower.ts";
import { StoredHistory } from "./stored-history.rig.ts";

function subscribed() {
  const clock = new TestClock({ now: 1000 });
  const history = new StoredHistory(3);
  const heard: number[] = [];
  const relay: { listener?: RelayListener } = {};
  const lists = { count: 0, isAway: false };
  const summary = { id: "i", key: 1, createdAt: 1000, endedAt: null } as InstanceSummary;
  const subscription = new ClusterSubscription(
    {
      namespace: "default",
      region: { subscribe: () => () => undefined },
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
  return { clock, heard, lists, subscription, loseChanges: () => relay.listener?.onGap() };
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
