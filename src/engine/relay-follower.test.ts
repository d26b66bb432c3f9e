import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import type { MemberEvent } from "../cluster/member-event.ts";
import { LogBook } from "../testing/log-book.rig.ts";
import { SeededRandom } from "../testing/seeded-random.ts";
import { TestClock } from "../testing/test-clock.ts";
import { RelayFollower } from "./relay-follower.ts";
import type { FollowAnswer, FollowRequest } from "./relay-source.ts";

type Held = FollowRequest & { answer(answer: Partial<FollowAnswer>): void };

/** A follower among members that the test answers for. */
function newFollower(t: TestContext, ...ids: string[]) {
  const clock = new TestClock();
  const members = new Set(ids);
  const asked = new Map<string, Held>();
  const listeners = new Set<(event: MemberEvent) => void>();
  const follower = new RelayFollower({
    clock,
    random: new SeededRandom(1),
    logger: new LogBook(),
    member: {
      members: () => ["self", ...members].map((id) => ({ id, isSelf: id === "self" })),
      onEvent: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      ask: (id, question) => {
        const { promise, resolve } = Promise.withResolvers<FollowAnswer>();
        const request = question as FollowRequest;
        const answer = (given: Partial<FollowAnswer>): void => resolve({ changes: [], last: request.after, ...given });
        asked.set(id, { ...request, answer });
        return promise;
      },
    },
  });
  t.after(() => follower.stop());
  const heard: string[] = [];
  const subscription = follower.subscribe({
    namespace: "default",
    withEvents: false,
    onChange: ({ instanceId, turn }) => heard.push(`${instanceId} ${turn}`),
    onProgress: ({ instanceId, progress }) => heard.push(`${instanceId} at ${progress.fraction}`),
    onLogLines: (instanceId) => heard.push(`lines of ${instanceId}`),
    onGap: () => heard.push("gap"),
    onShardsOpened: () => heard.push("shards"),
  });
  const tell = async (type: "joined" | "left", id: string): Promise<void> => {
    if (type === "joined") members.add(id);
    else members.delete(id);
    for (const listener of listeners) listener({ type, member: id, address: id });
    await clock.advance(0);
  };
  /** Answers the request that the member holds, and waits for the next. */
  const answer = async (id: string, ...changes: [instanceId: string, turn: number, createdAt?: number][]) => {
    const texts = changes.map(([instanceId, turn, createdAt = 1]) =>
      JSON.stringify({ namespace: "default", instanceId, workflowName: "w", turn, createdAt }),
    );
    const held = asked.get(id);
    held?.answer({ changes: texts, last: held.after + changes.length });
    await clock.advance(0);
  };
  return { clock, asked, heard, subscription, tell, answer };
}

describe("a follower of relayed changes", () => {
  test("asks nobody while nothing is followed", async (t) => {
    const { clock, asked, subscription, answer } = newFollower(t, "b");
    await clock.advance(10_000);
    assert.equal(asked.size, 0);
    const ready = subscription.add({ all: true });
    await clock.advance(0);
    await answer("b");
    await ready;
    assert.deepEqual(asked.get("b")?.topics, undefined, "confirmed topics are not sent again");
    subscription.delete({ all: true });
    await clock.advance(0);
    assert.deepEqual(asked.get("b")?.topics?.namespaces, []);
  });

  test("is ready when every member has confirmed, or after two seconds; who comes later makes a gap", async (t) => {
    const { clock, heard, subscription, answer } = newFollower(t, "b", "c");
    const ready = subscription.add({ instanceId: "x" });
    await clock.advance(0);
    await answer("b");
    assert.deepEqual(subscription.unheard, ["c"]);
    await clock.until(ready);
    assert.deepEqual(heard, []);
    await answer("c");
    assert.deepEqual([heard, subscription.unheard], [["gap"], []]);
  });

  test("delivers each turn once, and none after a later one, whoever sends them", async (t) => {
    const { clock, heard, subscription, answer } = newFollower(t, "b", "c");
    void subscription.add({ all: true });
    await clock.advance(0);
    await answer("b");
    await answer("c");
    await answer("b", ["x", 3]);
    await answer("c", ["x", 5], ["x", 5]);
    await answer("b", ["x", 4], ["y", 0]);
    await answer("b", ["x", 0, 2]);
    subscription.noteOwn({ namespace: "default", instanceId: "y", createdAt: 1, turn: 2 });
    await answer("c", ["y", 1]);
    assert.deepEqual(heard, ["x 3", "x 5", "y 0", "x 0"]);
  });

  test("passes on progress and news of logs to who follows the instance, or its log", async (t) => {
    const { clock, asked, heard, subscription, answer } = newFollower(t, "b");
    void subscription.add({ instanceId: "x" });
    void subscription.add({ logsOf: "y" });
    await clock.advance(0);
    const { topics } = asked.get("b") ?? {};
    assert.deepEqual([topics?.instances, topics?.logs, topics?.withProgress], [["x"], ["y"], ["default"]]);
    await answer("b");
    const progressOf = (instanceId: string) => ({ instanceId, task: 1, progress: { fraction: 0.5 } });
    const news = [
      ...["x", "y"].map((id) => ({ progressOf: progressOf(id), namespace: "default" })),
      ...["x", "y"].map((linesOf) => ({ linesOf, namespace: "default" })),
      { linesOf: "y", namespace: "acme" },
    ];
    asked.get("b")?.answer({ changes: news.map((each) => JSON.stringify(each)), last: news.length });
    await clock.advance(0);
    assert.deepEqual(heard, ["x at 0.5", "lines of y"]);
  });

  test("reports a gap if a member has lost changes, has joined, or is gone", async (t) => {
    const { clock, asked, heard, subscription, tell, answer } = newFollower(t, "b");
    void subscription.add({ all: true });
    await clock.advance(0);
    await answer("b");
    asked.get("b")?.answer({ isLost: true, last: 9 });
    await clock.advance(0);
    assert.deepEqual([heard, asked.get("b")?.after], [["gap"], 9]);
    await tell("joined", "c");
    await answer("c");
    assert.deepEqual(heard, ["gap", "gap"]);
    await tell("left", "b");
    assert.deepEqual(heard, ["gap", "gap", "gap"]);
  });

  test("reports a gap if a member has forgotten it, although it has sent no change yet", async (t) => {
    const { clock, asked, heard, subscription, answer } = newFollower(t, "b");
    void subscription.add({ all: true });
    await clock.advance(0);
    await answer("b");
    asked.get("b")?.answer({ needsTopics: true });
    await clock.advance(0);
    const { topics, after } = asked.get("b") ?? {};
    assert.deepEqual([topics?.namespaces, after, heard], [["default"], 0, []]);
    await answer("b", ["x", 3]);
    assert.deepEqual(heard, ["gap", "x 3"]);
  });

  test("reports a gap before the changes that come after it", async (t) => {
    const { clock, asked, heard, subscription, answer } = newFollower(t, "b");
    const ready = subscription.add({ all: true });
    await clock.until(ready);
    await answer("b", ["x", 4]);
    assert.deepEqual(heard, ["gap", "x 4"]);
    const text = JSON.stringify({ namespace: "default", instanceId: "x", workflowName: "w", turn: 7, createdAt: 1 });
    asked.get("b")?.answer({ isLost: true, changes: [text], last: 9 });
    await clock.advance(0);
    assert.deepEqual(heard, ["gap", "x 4", "gap", "x 7"]);
  });

  test("reports before the changes of a member that it has opened shards since its last answer", async (t) => {
    const { clock, asked, heard, subscription } = newFollower(t, "b");
    const text = (turn: number): string =>
      JSON.stringify({ namespace: "default", instanceId: "x", workflowName: "w", turn, createdAt: 1 });
    void subscription.add({ all: true });
    for (const [last, shardsOpened] of [3, 3, 5, 5].entries()) {
      await clock.advance(0);
      asked.get("b")?.answer({ changes: last === 0 ? [] : [text(last)], last, shardsOpened });
    }
    await clock.advance(0);
    assert.deepEqual(heard, ["x 1", "shards", "x 2", "x 3"]);
  });

  test("gives up a request whose topics have changed, and fetches the same changes again", async (t) => {
    const { clock, asked, heard, subscription, answer } = newFollower(t, "b");
    void subscription.add({ instanceId: "x" });
    await clock.advance(0);
    await answer("b");
    const before = asked.get("b");
    void subscription.add({ instanceId: "y" });
    await clock.advance(0);
    before?.answer({
      changes: [JSON.stringify({ namespace: "default", instanceId: "x", turn: 0, createdAt: 1 })],
      last: 1,
    });
    await clock.advance(0);
    assert.deepEqual([heard, asked.get("b")?.after, asked.get("b")?.topics?.instances], [[], 0, ["x", "y"]]);
  });
});
