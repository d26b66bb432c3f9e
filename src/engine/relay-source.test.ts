import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TaskRun } from "../dispatch/task-run.ts";
import type { CommittedTurn } from "../runtime/message.ts";
import { TestClock } from "../testing/test-clock.ts";
import { type FollowRequest, type RelayedProgress, RelaySource } from "./relay-source.ts";
import { topicsOf } from "./relay-topics.ts";
import { ProgressListeners } from "./progress-listeners.ts";
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
  const progress = new ProgressListeners();
  const source = new RelaySource({ region, workers, progress, clock });
  const tell = (worker: string, namespace: string): void =>
    workers.notify({ type: "connected", worker, member: "m", at: 5 }, namespace, silentLogger);
  const commit = (instanceId: string, turn: number, reason = ""): void => {
    const state = { status: "Running", reason, size: 0, trigger: { type: "api" } };
    const machine = { kind: "dag", state } as unknown as CommittedTurn["machine"];
    for (const listener of listeners) {
      listener({ instanceId, workflow: "w", turn, firstEvent: turn, at: turn, events: [], machine });
    }
  };
  return { clock, source, region, commit, tell, progress, listeners };
}

const none = { withEvents: [], withProgress: [] };
const topics = topicsOf(["instance:x"]);
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
    await source.follow({ ...first, topics: topicsOf(["instance:x", "worker:acme"]) });
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

  test("sends the last progress of each task of followed instances, twice a second at most", async () => {
    const { clock, source, progress } = newSource();
    const say = (instanceId: string, task: number, fraction: number): void => {
      const run = { instanceId, workflowName: "w", task, taskName: "t", attempt: 1 };
      progress.report(run as TaskRun, { fraction }, silentLogger);
    };
    const heard = async (after: number): Promise<string[]> => {
      const { changes } = await source.follow(next(after));
      return changes.map((text) => {
        const { progressOf, namespace } = JSON.parse(text) as RelayedProgress;
        return `${namespace} ${progressOf.instanceId} ${progressOf.task} ${progressOf.progress.fraction}`;
      });
    };
    await source.follow({
      ...first,
      topics: topicsOf(["instance:x", "instance:@acme/y"], { ...none, withProgress: ["default"] }),
    });
    for (const fraction of [0.1, 0.2, 0.3]) for (const id of ["x", "other", "@acme/y"]) say(id, 1, fraction);
    say("x", 2, 0.9);
    assert.deepEqual(await heard(0), ["default x 1 0.1"]);
    const held = heard(1);
    await clock.advance(500);
    assert.deepEqual(await held, ["default x 1 0.3", "default x 2 0.9"]);
    await clock.advance(60_000);
    assert.equal(clock.timerCount, 0);
  });

  test("says that lines were written to followed logs", async () => {
    const { source } = newSource();
    await source.follow({ ...first, topics: topicsOf(["log:@acme/y"]) });
    for (const id of ["x", "y", "@acme/y"]) source.onLogLines(id);
    const { changes } = await source.follow(next(0));
    assert.deepEqual(changes, [JSON.stringify({ linesOf: "y", namespace: "acme" })]);
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
    await source.follow({ ...first, version: 2, topics: topicsOf(["namespace:default"]) });
    assert.deepEqual(await source.follow(first), { changes: [], last: 0 });
    commit("other", 0);
    const { changes } = await source.follow({ follower: "f", version: 2, after: 0 });
    assert.deepEqual(turnsOf(changes), [0]);
    source.stop();
  });
});
