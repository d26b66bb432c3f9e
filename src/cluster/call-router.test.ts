import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { EngineError, hasCode } from "../base/error.ts";
import { busTextLengthMax } from "./bus.ts";
import { TestCluster, type TestMember, watch } from "./call-router.rig.ts";
import { formatEnvelope } from "./envelope.ts";

type ClusterOptions = ConstructorParameters<typeof TestCluster>[0];

function fresh(t: TestContext, options?: ClusterOptions): TestCluster {
  const cluster = new TestCluster(options);
  t.after(async () => {
    cluster.stop();
    await cluster.clock.advance(5000);
    assert.equal(cluster.clock.timerCount, 0, "no timer is left behind");
  });
  return cluster;
}

/** a asks, b owns shard 1. */
function pair(t: TestContext, options?: ClusterOptions): { cluster: TestCluster; a: TestMember; b: TestMember } {
  const cluster = fresh(t, options);
  return { cluster, a: cluster.member("a"), b: cluster.member("b", 1) };
}

describe("a call to a shard of this member", () => {
  test("gets to the handler with the same body, and back with the same value", async (t) => {
    const cluster = fresh(t);
    const a = cluster.member("a", 1);
    const body = { now: new Date(0), circle: [] as unknown[] };
    body.circle.push(body);
    assert.equal(await a.call(1, body), body);
    assert.equal(cluster.handled[0]?.body, body);
    assert.deepEqual(cluster.lossyBus.sent, []);
    assert.deepEqual(cluster.mailboxes.posted, []);
  });

  test("fails with the very error", async (t) => {
    const cluster = fresh(t);
    const a = cluster.member("a", 1);
    const error = new RangeError("too far");
    cluster.answer = () => Promise.reject(error);
    await assert.rejects(a.call(1, {}), (thrown) => thrown === error);
  });

  test("waits where the shard is on its way, and asks its new owner", async (t) => {
    const cluster = fresh(t);
    const a = cluster.member("a");
    cluster.member("b", 1);
    a.beliefs.set(1, "a");
    const call = watch(a.call(1, "x"));
    await cluster.clock.advance(200);
    assert.equal(call.state, "waiting");
    assert.deepEqual(cluster.lossyBus.sent, []);
    a.beliefs.delete(1);
    await cluster.clock.advance(400);
    assert.deepEqual(call, { state: "resolved", value: "x" });
    assert.deepEqual(
      cluster.handled.map(({ by }) => by),
      ["b"],
    );
  });

  test("is the first of its kind only if nobody can have seen it before", async (t) => {
    const { cluster, a, b } = pair(t);
    const isFirst = async (call: Promise<unknown>): Promise<boolean | undefined> => {
      await cluster.clock.until(call);
      return cluster.handled.at(-1)?.isFirst;
    };
    assert.equal(await isFirst(b.call(1, "here")), true);
    assert.equal(await isFirst(b.call(1, "again, perhaps", { key: "k" })), false);
    assert.equal(await isFirst(a.call(1, "from afar")), false);
    a.beliefs.set(1, "c");
    const moved = watch(a.call(1, "first tried elsewhere"));
    await cluster.clock.advance(10);
    a.beliefs.delete(1);
    cluster.owners.set(1, "a");
    await cluster.clock.advance(2000);
    assert.equal(moved.state, "resolved");
    assert.equal(cluster.handled.at(-1)?.isFirst, false);
  });

  test("is given up although its handler still works on it", async (t) => {
    const cluster = fresh(t);
    const a = cluster.member("a", 1);
    const { promise, resolve } = Promise.withResolvers<unknown>();
    cluster.answer = () => promise;
    const call = watch(a.call(1, "x", { timeoutMs: 5000 }));
    await cluster.clock.advance(5000);
    assert.ok(hasCode(call.value, "CALL_UNANSWERED"));
    resolve("late");
    await cluster.clock.settle();
    assert.equal(call.state, "rejected");
  });
});

describe("a call to a shard of another member", () => {
  test("goes over the bus and back, as JSON", async (t) => {
    const { cluster, a } = pair(t);
    const value = await cluster.clock.until(a.call(1, { when: new Date(0), nothing: undefined, text: "\ud800 😀" }));
    assert.deepEqual(value, { when: "1970-01-01T00:00:00.000Z", text: "\ud800 😀" });
    assert.equal(cluster.lossyBus.sent.length, 2);
    assert.deepEqual(cluster.mailboxes.posted, []);
  });

  test("may say nothing and be told nothing", async (t) => {
    const { cluster, a } = pair(t);
    assert.equal(await cluster.clock.until(a.call(1, undefined)), undefined);
  });

  test("has a key of its own, unless it was given one", async (t) => {
    const { cluster, a } = pair(t);
    await cluster.clock.until(a.call(1, "x"));
    await cluster.clock.until(a.call(1, "y"));
    await cluster.clock.until(Promise.all([a.call(1, "z", { key: "mine" }), a.call(1, "z", { key: "mine" })]));
    const keys = cluster.handled.map(({ key }) => key);
    assert.deepEqual(keys.slice(2), ["mine", "mine"], "two calls, also if they ask for the same");
    assert.equal(new Set(keys).size, 3);
  });

  test("that is made again under its key does not hear an old refusal", async (t) => {
    const { cluster, a } = pair(t);
    let times = 0;
    cluster.answer = () => {
      if (times++ === 0) throw new EngineError("QUEUE_FULL", "no room");
      return "done";
    };
    await assert.rejects(cluster.clock.until(a.call(1, {}, { key: "k" })), { code: "QUEUE_FULL" });
    assert.equal(await cluster.clock.until(a.call(1, {}, { key: "k" })), "done");
  });

  test("fails with an error of the same code and message", async (t) => {
    const { cluster, a } = pair(t);
    cluster.answer = () => Promise.reject(new EngineError("INSTANCE_UNKNOWN", "no instance x"));
    await assert.rejects(cluster.clock.until(a.call(1, {})), (error) => {
      assert.ok(error instanceof EngineError && hasCode(error, "INSTANCE_UNKNOWN"));
      return error.message === "no instance x";
    });
    cluster.answer = () => Promise.reject(new TypeError("x is not a function"));
    await assert.rejects(cluster.clock.until(a.call(1, {})), (error) => {
      assert.ok(error instanceof Error && Object.getPrototypeOf(error) === Error.prototype);
      return error.message === "x is not a function";
    });
  });

  test("fails where its body or its answer cannot be written", async (t) => {
    const { cluster, a } = pair(t);
    await assert.rejects(a.call(1, 1n), { code: "VALUE_NOT_SERIALIZABLE" });
    cluster.answer = () => 1n;
    await assert.rejects(cluster.clock.until(a.call(1, {})), { code: "VALUE_NOT_SERIALIZABLE" });
  });

  test("hears one answer, whatever arrives later or twice", async (t) => {
    const { cluster, a } = pair(t);
    cluster.lossyBus.fateOf = () => [0, 10, 2000];
    const call = watch(a.call(1, "x"));
    await cluster.clock.advance(10_000);
    assert.deepEqual(call, { state: "resolved", value: "x" });
    assert.equal(cluster.handled.length, 1);
  });

  test("goes through the store after a second of silence", async (t) => {
    const { cluster, a } = pair(t);
    cluster.lossyBus.fateOf = () => [];
    const began = cluster.clock.now();
    const call = watch(a.call(1, "x"));
    await cluster.clock.advance(999);
    assert.deepEqual(cluster.mailboxes.posted, []);
    await cluster.clock.advance(1);
    assert.deepEqual(cluster.mailboxes.posted, [{ at: began + 1000, mailbox: "shard:1" }]);
    await cluster.clock.advance(12_000);
    assert.deepEqual(call, { state: "resolved", value: "x" });
    assert.ok(cluster.mailboxes.posted.some(({ mailbox }) => mailbox === "member:a"));
    await cluster.clock.advance(12_000);
    assert.deepEqual(cluster.mailboxes.names, [], "all mail was deleted");
    assert.equal(cluster.handled.length, 1);
  });

  test("goes through the store at once if it is too long for the bus, and so does its answer", async (t) => {
    const { cluster, a } = pair(t);
    const long = "x".repeat(busTextLengthMax);
    const began = cluster.clock.now();
    assert.equal(await cluster.clock.until(a.call(1, long)), long);
    const notices = cluster.lossyBus.sent.splice(0);
    assert.deepEqual(
      notices.map(({ to, text }) => ({ to, text })),
      [
        { to: "b", text: '{"kind":"mail","from":"a"}' },
        { to: "a", text: '{"kind":"mail","from":"b"}' },
      ],
    );
    cluster.answer = () => long;
    assert.equal(await cluster.clock.until(a.call(1, "short")), long);
    const { sent, requests } = cluster.lossyBus;
    assert.equal(requests.length, 1);
    assert.deepEqual(
      sent.map(({ text }) => text.slice(0, 20)),
      ['{"kind":"request","i', '{"kind":"mail","from'],
      "the answer took the store",
    );
    assert.ok(cluster.clock.now() - began < 10, "nobody waited for a poll");
  });

  test("goes through the store at once while the bus is away, and mailboxes are polled as without a bus", async (t) => {
    const { cluster, a } = pair(t);
    await cluster.clock.advance(10);
    cluster.lossyBus.isConnected = false;
    for (let calls = 0; calls < 3; calls++) {
      const began = cluster.clock.now();
      assert.equal(await cluster.clock.until(a.call(1, calls)), calls);
      assert.ok(cluster.clock.now() - began <= 2 * 1.2 * cluster.timings.pollWithoutBusMs);
    }
    assert.deepEqual(cluster.lossyBus.sent, []);
    const lost = formatEnvelope({ kind: "request", id: "1", key: "k", from: "a", shard: 1, body: "x" });
    cluster.mailboxes.put("shard:1", lost);
    cluster.lossyBus.isConnected = true;
    await cluster.clock.settle();
    assert.equal(cluster.handled.length, 4, "a bus that is back may have lost something: the mailbox was read at once");
    const began = cluster.clock.now();
    assert.equal(await cluster.clock.until(a.call(1, "again")), "again");
    assert.ok(cluster.clock.now() - began < 10);
  });

  test("is answered within two short polls by an owner that the bus does not reach, though the caller has it", async (t) => {
    const { cluster, a } = pair(t);
    cluster.lossyBus.fateOf = () => [];
    await cluster.clock.advance(100);
    assert.equal(await cluster.clock.until(a.call(1, "x")), "x");
    // Its second call goes through the store at once: the owner polls, as it hears nothing, after a long pause.
    const began = cluster.clock.now();
    cluster.mailboxes.put("member:a", '{"kind":"hint","from":"b","body":"seen"}');
    void a.call(1, "y");
    await cluster.clock.advance(1.2 * cluster.timings.pollWithoutBusMs);
    assert.deepEqual(a.hints.at(-1)?.body, "seen");
    assert.ok(cluster.clock.now() - began < cluster.timings.pollMs / 2);
  });

  test("is repeated in turns over the bus and through the store, with growing pauses", async (t) => {
    const { cluster, a } = pair(t);
    cluster.lossyBus.fateOf = () => [];
    cluster.owners.set(1, "somebody who is gone");
    const began = cluster.clock.now();
    const call = watch(a.call(1, "x"));
    await cluster.clock.advance(59_999);
    const ways = [
      ...cluster.lossyBus.requests.map(({ at }) => ({ at: at - began, way: "bus" })),
      ...cluster.mailboxes.posted.map(({ at }) => ({ at: at - began, way: "mail" })),
    ].toSorted((x, y) => x.at - y.at);
    assert.deepEqual(
      ways.map(({ way }) => way),
      ["bus", "mail", "bus", "mail", "bus", "mail", "bus"].slice(0, ways.length),
    );
    const pauses = ways.slice(1).map(({ at }, place) => at - (ways[place]?.at ?? 0));
    const expected = [1000, 2000, 4000, 8000, 15_000, 15_000, 15_000];
    pauses.forEach((pause, place) => {
      assert.ok(Math.abs(pause / (expected[place] ?? 0) - 1) <= 0.2001, `pause ${place} is ${pause} ms`);
    });
    assert.ok(pauses.length >= 5);
    assert.equal(call.state, "waiting");
    await cluster.clock.advance(1);
    assert.ok(hasCode(call.value, "CALL_UNANSWERED"));
    assert.match(String(call.value), /shard 1 within 60000 ms; whether it was carried out is unknown/);
  });

  test("goes on for ever if it is told to", async (t) => {
    const { cluster, a } = pair(t);
    cluster.lossyBus.fateOf = () => [];
    cluster.owners.delete(1);
    const call = watch(a.call(1, "x", { timeoutMs: Infinity }));
    await cluster.clock.advance(2 * 3_600_000);
    assert.equal(call.state, "waiting");
    cluster.owners.set(1, "b");
    await cluster.clock.advance(30_000);
    assert.deepEqual(call, { state: "resolved", value: "x" });
  });

  test("survives a store that takes no mail", async (t) => {
    const { cluster, a } = pair(t, { bus: "none" });
    cluster.mailboxes.faultOf = (method) => (method === "post" ? "before" : undefined);
    const call = watch(a.call(1, "x"));
    await cluster.clock.advance(10_000);
    assert.equal(call.state, "waiting");
    assert.ok(
      a.log
        .messages("debug")
        .includes("a message could not be posted to a mailbox; it is repeated if it was a request"),
    );
    cluster.mailboxes.faultOf = () => undefined;
    await cluster.clock.advance(20_000);
    assert.deepEqual(call, { state: "resolved", value: "x" });
  });

  test("that is given up while it is written down leaves nothing behind", async (t) => {
    const { cluster, a } = pair(t, { bus: "none" });
    cluster.mailboxes.delayMsOf = (method) => (method === "post" ? 100 : 0);
    const call = watch(a.call(1, "x", { timeoutMs: 50 }));
    await cluster.clock.advance(150);
    assert.ok(hasCode(call.value, "CALL_UNANSWERED"));
    assert.equal(cluster.clock.timerCount, 2, "the mailboxes of a and b");
  });

  test("survives a bus that throws", async (t) => {
    const { cluster, a } = pair(t);
    cluster.lossyBus.fateOf = () => {
      throw new Error("not connected");
    };
    assert.equal(await cluster.clock.until(a.call(1, "x")), "x");
    assert.ok(
      a.log.messages("debug").includes("the bus refused a message; it goes through the store if somebody waits for it"),
    );
  });
});

describe("when a shard has moved", () => {
  test("the next owner is asked after a moment", async (t) => {
    const { cluster, a } = pair(t);
    cluster.member("c", 2);
    a.beliefs.set(1, "c");
    const began = cluster.clock.now();
    const call = watch(a.call(1, "x"));
    await cluster.clock.advance(10_000);
    assert.equal(call.state, "waiting");
    const asked = cluster.lossyBus.requests.map(({ at }) => at - began);
    const pauses = asked.slice(1).map((at, place) => at - (asked[place] ?? 0));
    const expected = [50, 100, 200, 400, 800, 1000, 1000];
    expected.forEach((pause, place) => {
      assert.ok(Math.abs((pauses[place] ?? 0) / pause - 1) <= 0.2001, `pause ${place} is ${pauses[place]} ms`);
    });
    assert.ok(Math.max(...pauses) <= 1200);
    assert.deepEqual(cluster.mailboxes.posted, [], "somebody answers, so the bus is there");
    a.beliefs.delete(1);
    await cluster.clock.advance(1200);
    assert.deepEqual(call, { state: "resolved", value: "x" });
  });

  test("answers that say so again do not shorten the pause", async (t) => {
    const { cluster, a } = pair(t);
    cluster.member("c", 2);
    a.beliefs.set(1, "c");
    cluster.lossyBus.fateOf = () => [0, 1, 2, 3, 4];
    watch(a.call(1, "x"));
    await cluster.clock.advance(10_000);
    assert.ok(cluster.lossyBus.requests.length < 20, `${cluster.lossyBus.requests.length} requests`);
  });

  test("a shard without an owner is waited for, and then written to", async (t) => {
    const { cluster, a } = pair(t);
    cluster.owners.delete(1);
    const early = watch(a.call(1, "early"));
    await cluster.clock.advance(300);
    cluster.owners.set(1, "b");
    await cluster.clock.advance(500);
    assert.deepEqual(early, { state: "resolved", value: "early" });
    assert.deepEqual(cluster.mailboxes.posted, []);
    cluster.owners.delete(1);
    const late = watch(a.call(1, "late"));
    await cluster.clock.advance(2000);
    assert.deepEqual(cluster.mailboxes.names, ["shard:1"]);
    a.beliefs.set(1, undefined);
    cluster.owners.set(1, "b");
    await cluster.clock.advance(12_000);
    assert.deepEqual(late, { state: "resolved", value: "late" });
  });

  test("to the member that asks, it answers itself without a message", async (t) => {
    const { cluster, a } = pair(t, { bus: "none" });
    cluster.owners.set(1, "somebody who is gone");
    a.beliefs.set(1, "somebody who is gone");
    const call = watch(a.call(1, "x"));
    await cluster.clock.advance(300);
    cluster.owners.set(1, "a");
    await cluster.clock.advance(600);
    assert.deepEqual(call, { state: "resolved", value: "x" });
    assert.deepEqual(
      cluster.mailboxes.posted.map(({ mailbox }) => mailbox),
      ["shard:1"],
    );
    assert.deepEqual(cluster.mailboxes.names, []);
  });
});

describe("when the bus was silent", () => {
  test("the next calls to that member take the store for a while", async (t) => {
    const { cluster, a } = pair(t);
    cluster.member("c", 2);
    cluster.lossyBus.fateOf = ({ to }) => (to === "b" ? [] : [0]);
    watch(a.call(1, "x"));
    await cluster.clock.advance(1000);
    cluster.lossyBus.sent.length = 0;
    watch(a.call(1, "y"));
    watch(a.call(2, "z"));
    await cluster.clock.settle();
    assert.deepEqual(
      cluster.lossyBus.requests.map(({ to }) => to),
      ["c"],
    );
    assert.equal(cluster.mailboxes.names.length, 2, "both calls to b");
    await cluster.clock.advance(30_000);
    cluster.lossyBus.sent.length = 0;
    watch(a.call(1, "y"));
    await cluster.clock.settle();
    assert.equal(cluster.lossyBus.requests.length, 1);
  });

  test("a word from that member makes it good again", async (t) => {
    const { cluster, a, b } = pair(t);
    cluster.lossyBus.fateOf = ({ to }) => (to === "b" ? [] : [0]);
    watch(a.call(1, "x"));
    await cluster.clock.advance(1000);
    b.router.hint("a", "here I am");
    await cluster.clock.advance(1);
    cluster.lossyBus.sent.length = 0;
    watch(a.call(1, "y"));
    assert.equal(cluster.lossyBus.requests.length, 1);
  });

  test("for one slow call only, others go on over it", async (t) => {
    const { cluster, a } = pair(t);
    cluster.answer = async ({ body }) => {
      if (body === "slow") await new Promise<void>((resolve) => cluster.clock.after(1500, resolve));
      return body;
    };
    const slow = watch(a.call(1, "slow"));
    await cluster.clock.advance(500);
    assert.equal(await cluster.clock.until(a.call(1, "quick")), "quick");
    await cluster.clock.advance(600);
    assert.equal(cluster.mailboxes.posted.length, 1);
    cluster.lossyBus.sent.length = 0;
    watch(a.call(1, "quick"));
    assert.equal(cluster.lossyBus.requests.length, 1);
    await cluster.clock.advance(500);
    assert.deepEqual(slow, { state: "resolved", value: "slow" });
  });
});

describe("a member with another id", () => {
  for (const { name, bus, rejoinsAtMs, answeredAtMs } of [
    { name: "a bus", rejoinsAtMs: 500, answeredAtMs: 3001 },
    { name: "mail alone", bus: "none", rejoinsAtMs: 2700, answeredAtMs: 4400 },
  ] as const) {
    test(`gets the answers to its calls with ${name}`, async (t) => {
      const { cluster, a, b } = pair(t, bus && { bus });
      cluster.answer = async ({ body }) => {
        await new Promise<void>((resolve) => cluster.clock.after(3000, resolve));
        return body;
      };
      const call = watch(a.call(1, "x"));
      await cluster.clock.advance(rejoinsAtMs);
      a.start("a2");
      await cluster.clock.advance(answeredAtMs - rejoinsAtMs);
      assert.deepEqual(call, { state: "resolved", value: "x" });
      assert.equal(b.log.messages("warn").length, 0);
      assert.equal(cluster.handled.length, 1);
    });
  }

  test("repeats also what it was about to write down", async (t) => {
    const { cluster, a } = pair(t, { bus: "none" });
    cluster.mailboxes.delayMsOf = (method) => (method === "post" ? 100 : 0);
    const call = watch(a.call(1, "x"));
    await cluster.clock.advance(50);
    a.start("a2");
    await cluster.clock.advance(1700);
    assert.deepEqual(call, { state: "resolved", value: "x" });
  });

  test("answers under it", async (t) => {
    const { cluster, a, b } = pair(t);
    b.start("b2");
    cluster.owners.set(1, "b2");
    assert.equal(await cluster.clock.until(a.call(1, "x"), { maxMs: 500 }), "x");
    a.router.hint("b", "to nobody");
    a.router.hint("b2", "to b");
    await cluster.clock.advance(1);
    assert.deepEqual(b.hints, [{ from: "a", body: "to b" }]);
  });
});

describe("stopping", () => {
  test("rejects calls under way and later ones with the reason", async (t) => {
    const { cluster, a } = pair(t);
    cluster.lossyBus.fateOf = () => [];
    const here = cluster.member("c", 2);
    cluster.answer = () => new Promise(() => undefined);
    const calls = [a.call(1, "x"), a.call(1, "y", { timeoutMs: Infinity }), here.call(2, "z")].map(watch);
    await cluster.clock.advance(1500);
    const reason = new EngineError("MEMBER_LOST", "silent for too long");
    for (const { router } of [a, here]) void router.stop(reason);
    await cluster.clock.settle();
    assert.deepEqual(
      calls.map(({ value }) => value),
      [reason, reason, reason],
    );
    await assert.rejects(a.call(1, "x"), reason);
  });

  test("leaves no timer, and the router can start again", async (t) => {
    const { cluster, a, b } = pair(t);
    watch(a.call(1, "x"));
    await cluster.clock.settle();
    for (const { router } of [a, b]) void router.stop(new EngineError("MEMBER_LOST", "lost"));
    await cluster.clock.advance(0);
    assert.equal(cluster.clock.timerCount, 0);
    a.start("a2");
    b.start("b2");
    cluster.owners.set(1, "b2");
    assert.equal(await cluster.clock.until(a.call(1, "x")), "x");
  });

  test("closes the ears", async (t) => {
    const { cluster, a, b } = pair(t);
    void b.router.stop(new EngineError("ENGINE_STATE", "stopped"));
    a.router.hint("b", 1);
    await cluster.clock.advance(1);
    assert.deepEqual(b.hints, []);
    assert.deepEqual(cluster.mailboxes.reads, []);
  });

  test("while mail is being read leaves it unopened", async (t) => {
    const cluster = fresh(t, { bus: "none" });
    const a = cluster.member("a", 1);
    cluster.mailboxes.put(
      "shard:1",
      formatEnvelope({ kind: "request", id: "1", key: "k", from: "b", shard: 1, body: 1 }),
    );
    cluster.mailboxes.delayMsOf = (method) => (method === "listMailboxRows" ? 2000 : 0);
    await cluster.clock.advance(1000);
    void a.router.stop(new EngineError("ENGINE_STATE", "stopped"));
    await cluster.clock.advance(5000);
    assert.equal(cluster.mailboxes.reads.length, 1);
    assert.deepEqual(cluster.handled, []);
  });

  test("leaves the mail of a call that is being handled where it is", async (t) => {
    const { cluster, a, b } = pair(t, { bus: "none" });
    const { promise, resolve } = Promise.withResolvers<unknown>();
    cluster.answer = () => promise;
    const call = watch(a.call(1, "x"));
    await cluster.clock.advance(700);
    assert.equal(cluster.handled.length, 1);
    void b.router.stop(new EngineError("ENGINE_STATE", "stopped"));
    resolve("from b");
    await cluster.clock.advance(700);
    assert.deepEqual(cluster.mailboxes.names, ["shard:1"]);
    assert.equal(call.state, "waiting");
    cluster.member("c", 1);
    await cluster.clock.advance(1300);
    assert.equal(call.state, "resolved");
    assert.deepEqual(
      cluster.handled.map(({ by }) => by),
      ["b", "c"],
    );
  });

  test("before the first start there is nobody to call or to hint at", async (t) => {
    const cluster = fresh(t);
    const a = cluster.member("a");
    void a.router.stop(new EngineError("ENGINE_STATE", "stopped"));
    a.router.hint("b", 1);
    assert.deepEqual(cluster.lossyBus.sent, []);
    await assert.rejects(a.call(1, "x"), { code: "ENGINE_STATE" });
  });
});

describe("a call that comes again", () => {
  const request = formatEnvelope({ kind: "request", id: "1", key: "k", from: "a", shard: 1, body: "x" });

  test("joins the one that is being handled, and each gets its answer", async (t) => {
    const { cluster } = pair(t);
    const { promise, resolve } = Promise.withResolvers<unknown>();
    cluster.answer = () => promise;
    for (let times = 0; times < 3; times++) cluster.lossyBus.send("b", request);
    cluster.mailboxes.put("shard:1", request);
    await cluster.clock.advance(7000);
    assert.equal(cluster.handled.length, 1);
    cluster.lossyBus.sent.length = 0;
    resolve("done");
    await cluster.clock.settle();
    const [first, second, third, notice, ...more] = cluster.lossyBus.sent.map(({ text }) => text);
    for (const answer of [first, second, third]) assert.match(answer ?? "", /^{"kind":"answer"/);
    assert.match(notice ?? "", /^{"kind":"mail"/, "the fourth answer is in the mailbox, and was read");
    assert.deepEqual(more, []);
    assert.deepEqual(cluster.mailboxes.names, []);
  });

  test("is answered from memory for two minutes", async (t) => {
    const { cluster } = pair(t);
    const ask = async (): Promise<number> => {
      cluster.lossyBus.send("b", request);
      await cluster.clock.advance(0);
      return cluster.handled.length;
    };
    assert.equal(await ask(), 1);
    await cluster.clock.advance(119_000);
    assert.equal(await ask(), 1);
    assert.equal(cluster.lossyBus.sent.filter(({ to }) => to === "a").length, 2);
    await cluster.clock.advance(2000);
    assert.equal(await ask(), 2);
  });

  test("is handled anew after it was answered with SHARD_MOVED", async (t) => {
    const { cluster } = pair(t);
    cluster.owners.delete(1);
    cluster.lossyBus.send("b", request);
    await cluster.clock.advance(1);
    assert.match(cluster.lossyBus.sent.at(-1)?.text ?? "", /SHARD_MOVED/);
    cluster.owners.set(1, "b");
    cluster.lossyBus.send("b", request);
    await cluster.clock.advance(1);
    assert.match(cluster.lossyBus.sent.at(-1)?.text ?? "", /"value":"x"/);
  });

  const numbered = (id: number): string =>
    formatEnvelope({ kind: "request", id: `${id}`, key: "k", from: "a", shard: 1, body: "x" });

  test("is answered from memory if it is among the last ten thousand", async (t) => {
    const { cluster } = pair(t);
    for (let id = 0; id < 10_001; id++) cluster.mailboxes.put("shard:1", numbered(id));
    await cluster.clock.advance(7000);
    assert.equal(cluster.handled.length, 10_001);
    cluster.lossyBus.send("b", numbered(1));
    await cluster.clock.advance(1);
    assert.equal(cluster.handled.length, 10_001);
    cluster.lossyBus.send("b", numbered(0));
    await cluster.clock.advance(1);
    assert.equal(cluster.handled.length, 10_002);
  });

  test("is not answered from memory after so many long ones that there would be no room", async (t) => {
    const { cluster } = pair(t);
    const long = "x".repeat(6 * 1024 * 1024);
    cluster.answer = () => long;
    for (const id of [1, 2, 3, 3, 1]) {
      cluster.lossyBus.send("b", numbered(id));
      await cluster.clock.advance(1);
    }
    assert.equal(cluster.handled.length, 4, "the second 3 was remembered, the second 1 was not");
  });
});

describe("mail", () => {
  test("is looked for every now and then: rarely with a bus, often without", async (t) => {
    for (const [bus, intervalMs] of [
      [undefined, 5000],
      ["none", 500],
    ] as const) {
      const cluster = fresh(t, bus && { bus });
      cluster.member("a", 1, 3);
      await cluster.clock.advance(100 * intervalMs);
      const { reads } = cluster.mailboxes;
      assert.ok(Math.abs(reads.length - 100) <= 10, `${reads.length} reads`);
      assert.deepEqual(reads[0]?.mailboxes, ["member:a", "shard:1", "shard:3"]);
      assert.equal(reads[0]?.limit, 200);
      const pauses = reads.slice(1).map(({ at }, place) => at - (reads[place]?.at ?? 0));
      assert.ok(pauses.every((pause) => Math.abs(pause / intervalMs - 1) <= 0.2001));
      assert.ok(new Set(pauses).size > 50, "not in step with others");
    }
  });

  test("that fills a page is followed by the next page at once, one read at a time", async (t) => {
    const cluster = fresh(t, { bus: "none" });
    cluster.member("b", 1);
    cluster.mailboxes.delayMsOf = (method) => (method === "listMailboxRows" ? 20 : 0);
    for (let id = 0; id < 450; id++) cluster.mailboxes.put("shard:1", mail(id));
    await cluster.clock.advance(700);
    assert.equal(cluster.handled.length, 450);
    assert.equal(cluster.mailboxes.readsUnderWayMax, 1);
    assert.ok(cluster.mailboxes.names.every((name) => name === "member:a"));
  });

  test("that fills a page is followed by the next one also if there is nothing to do about it", async (t) => {
    const { cluster } = pair(t, { bus: "none" });
    for (let place = 0; place < 450; place++) cluster.mailboxes.put("shard:1", "not ours");
    await cluster.clock.advance(600);
    assert.deepEqual(cluster.mailboxes.names, []);
  });

  test("is read and deleted in one go at a time, and none of it twice", async (t) => {
    const cluster = fresh(t, { bus: "none" });
    cluster.member("b", 1);
    cluster.mailboxes.delayMsOf = (method) => (method === "post" ? 0 : 300);
    cluster.answer = ({ key }) =>
      new Promise<void>((resolve) => cluster.clock.after((Number(key) * 7) % 1400, resolve));
    for (let id = 0; id < 600; id++) cluster.mailboxes.put("shard:1", mail(id));
    await cluster.clock.advance(10_000);
    assert.equal(cluster.handled.length, 600);
    assert.equal(cluster.mailboxes.readsUnderWayMax, 1);
    const deleted = cluster.mailboxes.deletions.flat();
    assert.equal(new Set(deleted).size, 600);
    assert.equal(deleted.length, 600);
    assert.ok(cluster.mailboxes.deletions.length < 60, "many together");
  });

  test("behind calls that take long is handled too", async (t) => {
    const { cluster } = pair(t, { bus: "none" });
    const { promise, resolve } = Promise.withResolvers<unknown>();
    cluster.answer = ({ body }) => (body === "slow" ? promise : body);
    for (let id = 0; id < 500; id++) cluster.mailboxes.put("shard:1", mail(id, "slow"));
    await cluster.clock.advance(2100);
    cluster.mailboxes.put("shard:1", mail(500));
    await cluster.clock.advance(700);
    assert.equal(cluster.handled.length, 501, "each once");
    const readsBefore = cluster.mailboxes.reads.length;
    await cluster.clock.advance(6000);
    assert.ok(cluster.mailboxes.reads.length - readsBefore < 40, "and without reading all the time");
    resolve("done");
    await cluster.clock.advance(700);
    assert.equal(cluster.handled.length, 501);
    assert.ok(!cluster.mailboxes.names.includes("shard:1"));
  });

  test("is not fetched without end while nothing of it gets done", async (t) => {
    const { cluster } = pair(t, { bus: "none" });
    cluster.answer = () => new Promise(() => undefined);
    for (let id = 0; id < 3000; id++) cluster.mailboxes.put("shard:1", mail(id));
    await cluster.clock.advance(10_000);
    assert.equal(cluster.handled.length, 2000);
    assert.ok(Math.max(...cluster.mailboxes.reads.map(({ limit }) => limit)) <= 2000);
  });

  test("for a shard that has moved is left for its owner, page after page", async (t) => {
    const { cluster, b } = pair(t, { bus: "none" });
    const isOwner = cluster.isOwner.bind(cluster);
    let refused = 0;
    cluster.isOwner = (member, shard) => (member === b ? refused++ < 0 : isOwner(member, shard));
    for (let id = 0; id < 300; id++) cluster.mailboxes.put("shard:1", mail(id));
    await cluster.clock.advance(610);
    assert.equal(refused, 300, "each was tried once in this round");
    assert.equal(cluster.mailboxes.names.length, 300);
    await cluster.clock.advance(600);
    assert.ok(refused >= 600, "and again in the next");
    cluster.member("c", 1);
    await cluster.clock.advance(700);
    assert.equal(cluster.handled.length, 300);
    assert.ok(!cluster.mailboxes.names.includes("shard:1"));
  });

  test("that is left in great numbers is not read again and again", async (t) => {
    const cluster = fresh(t, { bus: "none" });
    cluster.member("b", 1);
    let refused = 0;
    cluster.isOwner = () => refused++ < 0;
    for (let id = 0; id < 2500; id++) cluster.mailboxes.put("shard:1", mail(id));
    await cluster.clock.advance(610);
    assert.equal(refused, 2000);
  });

  test("of a call that was given up is answered to nobody", async (t) => {
    const cluster = fresh(t, { bus: "none" });
    const a = cluster.member("a");
    cluster.owners.set(1, "somebody who is gone");
    const call = watch(a.call(1, "x", { timeoutMs: 100 }));
    await cluster.clock.advance(300);
    assert.ok(hasCode(call.value, "CALL_UNANSWERED"));
    cluster.owners.set(1, "a");
    await cluster.clock.advance(600);
    assert.equal(cluster.handled.length, 1);
    assert.deepEqual(cluster.mailboxes.names, []);
    assert.equal(cluster.mailboxes.posted.length, 1, "the request");
  });

  test("that no member has written is deleted, with a line in the log", async (t) => {
    const { cluster, b } = pair(t);
    for (const text of ["hello", "{}", '{"kind":"request"}']) cluster.mailboxes.put("shard:1", text);
    cluster.mailboxes.put("shard:1", mail(1));
    cluster.lossyBus.send("b", "over the bus");
    await cluster.clock.advance(7000);
    assert.equal(b.log.messages("warn").length, 4);
    assert.equal(cluster.handled.length, 1);
    assert.ok(!cluster.mailboxes.names.includes("shard:1"));
  });

  test("is deleted only when its answer is on its way, and not handled twice for that", async (t) => {
    const { cluster } = pair(t, { bus: "none" });
    cluster.mailboxes.put("shard:1", mail(1));
    cluster.mailboxes.faultOf = (method) => (method === "post" ? "before" : undefined);
    await cluster.clock.advance(3000);
    assert.deepEqual(cluster.mailboxes.names, ["shard:1"]);
    cluster.mailboxes.faultOf = () => undefined;
    await cluster.clock.advance(700);
    assert.ok(!cluster.mailboxes.names.includes("shard:1"));
    assert.equal(cluster.mailboxes.posted.filter(({ mailbox }) => mailbox === "member:a").length, 1);
    assert.equal(cluster.handled.length, 1);
  });

  test("whose deletion failed is not answered again", async (t) => {
    const { cluster, b } = pair(t, { bus: "none" });
    cluster.mailboxes.put("shard:1", mail(1));
    for (const fault of ["before", "after"] as const) {
      cluster.mailboxes.faultOf = (method) => (method === "deleteMailboxRows" ? fault : undefined);
      await cluster.clock.advance(3000);
    }
    cluster.mailboxes.faultOf = () => undefined;
    await cluster.clock.advance(700);
    assert.ok(!cluster.mailboxes.names.includes("shard:1"));
    assert.equal(cluster.mailboxes.posted.length, 1);
    assert.ok(b.log.messages("debug").some((line) => line.startsWith("mailboxes could not be read or emptied")));
  });

  test("that is deleted while it is being read is not answered again", async (t) => {
    const { cluster } = pair(t, { bus: "none" });
    let finish: (() => void) | undefined;
    cluster.answer = () => new Promise<void>((resolve) => (finish = resolve));
    cluster.mailboxes.put("shard:1", mail(1));
    await cluster.clock.advance(700);
    const read = cluster.mailboxes.listMailboxRows.bind(cluster.mailboxes);
    cluster.mailboxes.listMailboxRows = async (mailboxes, limit) => {
      const rows = await read(mailboxes, limit);
      finish?.();
      await new Promise<void>((resolve) => cluster.clock.after(100, resolve));
      return rows;
    };
    await cluster.clock.advance(2000);
    assert.equal(cluster.mailboxes.posted.length, 1);
  });

  test("is tried again when it could not be read", async (t) => {
    const { cluster, a } = pair(t, { bus: "none" });
    cluster.mailboxes.faultOf = (method) => (method === "listMailboxRows" ? "before" : undefined);
    const call = watch(a.call(1, "x"));
    await cluster.clock.advance(3000);
    assert.equal(call.state, "waiting");
    cluster.mailboxes.faultOf = () => undefined;
    await cluster.clock.advance(1300);
    assert.equal(call.state, "resolved");
  });

  test("older than an hour is deleted once an hour", async (t) => {
    const cluster = fresh(t);
    cluster.member("a");
    cluster.mailboxes.put("member:gone", "never read");
    cluster.mailboxes.faultOf = (method) => (method === "deleteMailboxRowsBefore" ? "before" : undefined);
    await cluster.clock.advance(3_610_000);
    assert.deepEqual(cluster.mailboxes.oldDeleted, []);
    cluster.mailboxes.faultOf = () => undefined;
    await cluster.clock.advance(3 * 3_600_000);
    assert.deepEqual(cluster.mailboxes.names, []);
    const { oldDeleted } = cluster.mailboxes;
    assert.equal(oldDeleted.length, 3);
    assert.ok(oldDeleted.every(({ at, before }) => at - before === 3_600_000));
  });

  test("that is abandoned is deleted and not carried out; what comes over the bus has somebody who waits", async (t) => {
    const { cluster, a, b } = pair(t);
    cluster.gone.add("a");
    cluster.mailboxes.put("shard:1", mail(1));
    await cluster.clock.advance(7000);
    assert.deepEqual([cluster.handled, cluster.mailboxes.names], [[], []]);
    assert.deepEqual(b.log.messages("warn"), ["a request was dropped because the member that sent it is gone"]);
    const call = watch(a.call(1, "x"));
    await cluster.clock.advance(100);
    assert.equal(call.value, "x");
  });

  test("of a cluster that was stopped for longer than an hour is deleted before any is opened", async (t) => {
    const cluster = fresh(t, { bus: "none" });
    cluster.mailboxes.put("shard:1", mail(1));
    await cluster.clock.advance(3_600_001);
    cluster.mailboxes.put("shard:1", mail(2));
    cluster.mailboxes.faultOf = (method) => (method === "deleteMailboxRowsBefore" ? "before" : undefined);
    cluster.member("b");
    cluster.owners.set(1, "b");
    await cluster.clock.advance(5000);
    assert.deepEqual(cluster.handled, [], "as long as the old ones cannot be told apart");
    cluster.mailboxes.faultOf = () => undefined;
    await cluster.clock.advance(5000);
    assert.deepEqual(
      cluster.handled.map(({ key }) => key),
      ["2"],
    );
    assert.ok(!cluster.mailboxes.names.includes("shard:1"));
  });

  function mail(id: number, body = "x"): string {
    return formatEnvelope({ kind: "request", id: `${id}`, key: `${id}`, from: "a", shard: 1, body });
  }
});

describe("a hint", () => {
  test("reaches those it is meant for, and a handler that throws is logged", async (t) => {
    const { cluster, a, b } = pair(t);
    const c = cluster.member("c");
    a.router.hintAll(["b", "c", "nobody"], { n: 1 });
    a.router.hint("c", "bang");
    a.router.hint("c", undefined);
    await cluster.clock.advance(0);
    assert.deepEqual(b.hints, [{ from: "a", body: { n: 1 } }]);
    assert.deepEqual(c.hints, [
      { from: "a", body: { n: 1 } },
      { from: "a", body: "bang" },
      { from: "a", body: undefined },
    ]);
    assert.deepEqual(c.log.messages("error"), ["a hint could not be handled; the member finds out by polling"]);
    assert.deepEqual(cluster.mailboxes.posted, []);
  });

  test("that is too long is dropped", async (t) => {
    const { cluster, a } = pair(t);
    a.router.hint("b", "x".repeat(busTextLengthMax));
    assert.deepEqual(cluster.lossyBus.sent, []);
    assert.equal(a.log.messages("debug").length, 1);
  });

  test("goes nowhere without a bus", async (t) => {
    const { cluster, a, b } = pair(t, { bus: "none" });
    a.router.hint("b", 1);
    await cluster.clock.advance(1000);
    assert.deepEqual(b.hints, []);
  });
});
