import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { CommittedTurn } from "../runtime/message.ts";
import { TestClock } from "../testing/test-clock.ts";
import { type FollowRequest, RelaySource } from "./relay-source.ts";
import { topicsOf } from "./relay-topics.ts";
import { WorkerListeners } from "./worker-listeners.ts";
import { silentLogger } from "../base/logger.ts";

/** A source whose turns the test makes up. */
function newSource() {
  const clock = new TestClock();
  const listeners = new Set<(turn: CommittedTurn) => void>();
  const region = {
    subscribe: (listener: (turn: CommittedTurn) => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    shardsOpened: 3,
  };
  const workers = new WorkerListeners();
  const source = new RelaySource({ region, workers, clock });
  const tell = (worker: string, namespace: string): void =>
    workers.notify({ type: "connected", worker, member: "m", at: 5 }, namespace, silentLogger);
  const commit = (instanceId: string, turn: number, reason = ""): void => {
    const state = { status: "Running", reason, size: 0, trigger: { type: "api" } };
    const machine = { kind: "dag", state } as unknown as CommittedTurn["machine"];
    for (const listener of listeners) {
      listener({ instanceId, workflow: "w", turn, firstEvent: turn, at: turn, events: [], machine });
    }
  };
  return { clock, source, region, commit, tell, listeners };
}

const topics = topicsOf(["instance:x"], []);
const first: FollowRequest = { follower: "f", version: 1, topics, after: 0 };
const next = (after: number): FollowRequest => ({ follower: "f", version: 1, after });
const turnsOf = (changes: readonly string[]): number[] =>
  changes.map((text) => (JSON.parse(text) as { turn: number }).turn);

describe("a source of relayed changes", () => {
  test("listens to turns only while somebody follows, and sends what is followed", async () => {
    const { clock, source, commit, listeners } = newSource();
    assert.equal(listeners.size, 0);
    assert.deepEqual(await source.follow(first), { changes: [], last: 0, shardsOpened: 3 });
    assert.equal(listeners.size, 1);
    const held = source.follow(next(0));
    commit("x", 0);
    commit("other", 0);
    commit("x", 1);
    await clock.advance(0);
    const { changes, last } = await held;
    assert.deepEqual([turnsOf(changes), last], [[0, 1], 2]);
    await clock.advance(60_000);
    assert.deepEqual([source.followers, listeners.size, clock.timerCount], [0, 0, 0]);
  });

  test("tells with the turns how many shards it has opened", async () => {
    const { source, region, commit } = newSource();
    await source.follow(first);
    region.shardsOpened++;
    commit("x", 7);
    const { changes, shardsOpened } = await source.follow(next(0));
    assert.deepEqual([turnsOf(changes), shardsOpened], [[7], 4]);
    source.stop();
  });

  test("sends events of the workers of followed namespaces, in order with the turns", async () => {
    const { clock, source, commit, tell } = newSource();
    tell("m/early", "acme");
    await source.follow({ ...first, topics: topicsOf(["instance:x", "worker:acme"], []) });
    const held = source.follow(next(0));
    commit("x", 0);
    tell("m/w", "acme");
    tell("m/other", "default");
    await clock.advance(0);
    const { changes, last } = await held;
    const event = { type: "connected", worker: "m/w", member: "m", at: 5 };
    assert.deepEqual(JSON.parse(changes[1] ?? ""), { workerEvent: event, namespace: "acme" });
    assert.deepEqual([changes.length, last], [2, 2]);
    source.stop();
  });

  test("sends again what was not confirmed, and nothing that was", async () => {
    const { source, commit } = newSource();
    await source.follow(first);
    for (const turn of [0, 1, 2]) commit("x", turn);
    assert.deepEqual(turnsOf((await source.follow(next(0))).changes), [0, 1, 2]);
    assert.deepEqual(turnsOf((await source.follow(next(0))).changes), [0, 1, 2]);
    assert.deepEqual(turnsOf((await source.follow(next(2))).changes), [2]);
    source.stop();
  });

  test("answers after a while without news", async () => {
    const { clock, source } = newSource();
    await source.follow(first);
    const held = source.follow(next(0));
    await clock.advance(2000);
    assert.deepEqual(await held, { changes: [], last: 0, shardsOpened: 3 });
    source.stop();
  });

  test("says that changes were lost, until the follower knows it", async () => {
    const { source, commit } = newSource();
    await source.follow(first);
    for (let turn = 0; turn < 10; turn++) commit("x", turn, "r".repeat(1024 * 1024));
    const { isLost, last } = await source.follow(next(0));
    assert.equal(isLost, true);
    assert.equal((await source.follow(next(0))).isLost, true);
    assert.equal((await source.follow(next(last))).isLost, undefined);
    source.stop();
  });

  test("asks for topics that it does not know, and tells a follower that it forgot of the loss", async () => {
    const { source } = newSource();
    assert.equal((await source.follow(next(7))).needsTopics, true);
    const { isLost, last } = await source.follow({ ...first, after: 7 });
    assert.equal(isLost, true);
    assert.equal((await source.follow({ ...first, after: last })).isLost, undefined);
    source.stop();
  });

  test("ignores a late copy of a request with earlier topics", async () => {
    const { source, commit } = newSource();
    await source.follow({ ...first, version: 2, topics: topicsOf(["namespace:default"], []) });
    assert.deepEqual(await source.follow(first), { changes: [], last: 0 });
    commit("other", 0);
    const { changes } = await source.follow({ follower: "f", version: 2, after: 0 });
    assert.deepEqual(turnsOf(changes), [0]);
    source.stop();
  });
});
