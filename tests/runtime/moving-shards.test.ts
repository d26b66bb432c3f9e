/** Shards that go from one member to another: in good order, after a loss, and while things happen to them. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { eventsIn } from "../../src/kernel/event-text.ts";
import { EngineError, hasCode } from "../../src/base/error.ts";
import { defineJob } from "../../src/authoring/job.ts";
import { defaultTimings } from "../../src/cluster/timings.ts";
import type { Call } from "../../src/runtime/call.ts";
import { RegionClusterRig, type RigMember, shardCount } from "./region-cluster-rig.ts";
import { Gate } from "./faulty-store.ts";
import { turnsOf } from "../../src/stores/batch-turns.rig.ts";
import { HandJob } from "./hand-job.ts";
import { watch } from "./world.ts";
import { builder, chain, nested, task, workflow } from "./workflows.ts";

/** Its tasks may take long. */
const one = workflow("one", task("a").withTimeout(3600));

const gone = new EngineError("MEMBER_LOST", "taken for lost");

describe("a shard that is handed over", () => {
  test("takes its instances along, and whoever is asked about them finds the owner", async (t) => {
    const work = new HandJob();
    const [rig, m0, m1] = await start(t, work);
    const ids = Array.from({ length: 12 }, (_, place) => `i${place}`);
    for (const id of ids) await m1.submit(chain("two", "a", "b"), id);
    await rig.clock.settle();
    for (const call of work.calls) call.finish(1);
    await rig.clock.settle();
    for (const shard of [1, 3]) await rig.move(shard, m0, m1);
    for (const id of ids) {
      assert.equal(rig.ownerOf(m0.region.shardOf(id)), m0.region.shardOf(id) % 2 === 1 ? m1 : m0);
      assert.equal(await m0.status(id), "Running");
    }
    for (const call of work.calls.slice(ids.length)) call.finish(2);
    for (const id of ids) assert.equal(await rig.clock.until(m0.end(id)), "Success");
    assert.equal(work.calls.length, 2 * ids.length, "every task ran once");
  });

  test("leaves its running attempts where they are, and hears of their ends", async (t) => {
    const work = new HandJob();
    const [rig, m0, m1] = await start(t, work);
    await m0.submit(workflow("two", task("a").withTimeout(3600), task("b").withDependency("a")), "x");
    const shard = m0.region.shardOf("x");
    const a = await work.call("a");
    await rig.move(shard, m0, m1);
    await rig.clock.advance(5 * defaultTimings.workerLostMs);
    await rig.look();
    assert.equal(a.ctx.signal.aborted, false);
    a.finish(1);
    await work.call("b");
    assert.equal(m1.dispatcher.status.runningCount, 1, "what comes next runs with the new owner");
    assert.deepEqual(work.started, ["a", "b"]);
    assert.equal(await interruptions(m1, "x"), 0);
  });

  test("comes back to the member that still runs its attempts as if it had never left", async (t) => {
    const work = new HandJob();
    const [rig, m0, m1] = await start(t, work);
    await m0.submit(one, "x");
    const shard = m0.region.shardOf("x");
    const a = await work.call("a");
    await rig.move(shard, m0, m1);
    await rig.clock.advance(defaultTimings.workerBeatMs);
    await rig.move(shard, m1, m0);
    await rig.clock.advance(defaultTimings.workerLostMs);
    a.finish(1);
    assert.equal(await m1.end("x"), "Success");
    assert.deepEqual(work.started, ["a"]);
  });

  test("an attempt that ends while nobody owns its shard is reported to the next owner", async (t) => {
    const work = new HandJob();
    const [rig, m0, m1] = await start(t, work);
    await m0.submit(one, "x");
    const shard = m0.region.shardOf("x");
    const a = await work.call("a");
    await m0.region.releaseShard(shard);
    a.finish(1);
    await rig.clock.advance(1000);
    assert.equal(m0.hostedAttempts.isReporting("x:1:0:1"), true);
    await m1.region.openShard(shard);
    assert.equal(await rig.clock.until(m0.end("x")), "Success");
    assert.deepEqual(work.started, ["a"]);
    assert.equal(m0.hostedAttempts.isReporting("x:1:0:1"), false);
  });

  test("and one whose shard comes back before it was heard is heard here", async (t) => {
    const work = new HandJob();
    const [rig, m0] = await start(t, work);
    await m0.submit(one, "x");
    const shard = m0.region.shardOf("x");
    const a = await work.call("a");
    await m0.region.releaseShard(shard);
    a.finish(1);
    await rig.clock.settle();
    await m0.region.openShard(shard);
    assert.equal(await rig.clock.until(m0.end("x")), "Success");
    assert.deepEqual(work.started, ["a"]);
  });

  test("stops an attempt at its host when the new owner's instance is terminated", async (t) => {
    const work = new HandJob();
    const [rig, m0, m1] = await start(t, work);
    await m0.submit(one, "x");
    const a = await work.call("a");
    await rig.move(m0.region.shardOf("x"), m0, m1);
    await m0.calls.callInstance({ type: "TerminateInstance", id: "x", reason: "enough" });
    assert.equal(a.ctx.signal.aborted, true);
    assert.equal(await m0.end("x"), "Terminated");
  });

  test("does not start what waited for a slot, and the next owner does, once", async (t) => {
    const work = new HandJob();
    const [rig, m0, m1] = await start(t, work);
    m0.dispatcher.pauseDispatch();
    await m0.submit(one, "x");
    await rig.move(m0.region.shardOf("x"), m0, m1);
    m0.dispatcher.resumeDispatch();
    (await work.call("a")).finish(1);
    assert.equal(await m0.end("x"), "Success");
    assert.deepEqual([m0.dispatcher.status.waitingCount, work.started], [0, ["a"]]);
  });

  test("is released only when all that was told before is durable", async (t) => {
    const work = new HandJob();
    const [rig, m0] = await start(t, work);
    await m0.submit(one, "x");
    await work.call("a");
    const gate = m0.store.hold();
    const told = watch(m0.calls.callInstance({ type: "UpdateContext", id: "x", patch: { k: "1" } }));
    const released = watch(m0.region.releaseShard(m0.region.shardOf("x")));
    await gate.reached();
    await rig.clock.settle();
    assert.deepEqual([told.state, released.state], ["waiting", "waiting"]);
    gate.open();
    await rig.clock.settle();
    assert.deepEqual([told.state, released.state], ["done", "done"]);
    assert.deepEqual(
      m0.store.sent.slice(-2).map(({ fences }) => fences[0]?.released),
      [false, true],
    );
    const [last] = m0.store.sent.slice(-2).map(({ changes }) => turnsOf(changes).at(-1)?.events);
    assert.match(last ?? "", /\["B",0,1,/, "starts are on record");
  });

  test("answers nobody while it is on its way, and those who wait are answered afterwards", async (t) => {
    const work = new HandJob();
    const [rig, m0, m1] = await start(t, work);
    await m0.submit(one, "x");
    const a = await work.call("a");
    const shard = m0.region.shardOf("x");
    const end = watch(m0.end("x"));
    await m0.region.releaseShard(shard);
    const status = watch(m0.status("x"));
    await rig.clock.advance(1000);
    assert.deepEqual([end.state, status.state], ["waiting", "waiting"]);
    await m1.region.openShard(shard);
    await rig.clock.advance(100);
    assert.equal(status.value, "Running");
    a.finish(1);
    await rig.clock.advance(1000);
    assert.equal(end.value, "Success");
  });

  test("says nothing about an ended instance that the next owner has reopened while its row was being read", async (t) => {
    const work = new HandJob();
    const [rig, m0, m1] = await start(t, work);
    await m0.submit(one, "x");
    (await work.call("a")).fail(new Error("broken"));
    assert.equal(await rig.clock.until(m0.end("x")), "Failed");
    const gate = new Gate();
    m0.store.beforeRead = (what) => (what === "findFinished" ? gate.pass() : Promise.resolve());
    const end = watch(m0.end("x"));
    await gate.reached();
    await rig.move(m0.region.shardOf("x"), m0, m1);
    await rig.clock.until(m1.calls.callInstance({ type: "RetryInstance", id: "x" }));
    gate.open();
    await rig.clock.advance(1000);
    assert.deepEqual([end.state, end.error], ["waiting", undefined]);
    work.calls.at(-1)?.finish(1);
    await rig.clock.advance(1000);
    assert.equal(end.value, "Success");
  });
});

describe("a shard that is taken over after a loss", () => {
  test("runs again what the lost member ran, and counts it", async (t) => {
    const work = new HandJob();
    const [rig, m0, m1] = await start(t, work);
    await m0.submit(one, "x");
    const shard = m0.region.shardOf("x");
    await work.call("a");
    await rig.clock.advance(1000);
    assert.equal(await m1.region.openShard(shard), "taken", "as long as its owner is a member");
    await rig.lose(m0);
    assert.equal(await m1.region.openShard(shard), "open");
    (await work.call("a", { after: 1 })).finish(2);
    assert.equal(await m1.end("x"), "Success");
    assert.equal(await interruptions(m1, "x"), 1);
  });

  test("refuses what the lost member still writes, and tells nobody that it was done", async (t) => {
    const work = new HandJob();
    const [rig, m0, m1] = await start(t, work);
    await m0.submit(one, "x");
    const shard = m0.region.shardOf("x");
    const a = await work.call("a");
    await rig.clock.advance(1000);
    await rig.lose(m0);
    await m1.region.openShard(shard);
    a.finish("late");
    await rig.clock.settle();
    assert.deepEqual(m0.fenced, [shard]);
    assert.equal(m0.region.epochOf(shard), undefined);
    (await work.call("a", { after: 1 })).finish("again");
    assert.equal(await m1.end("x"), "Success");
    const { outputs } = await m1.calls.awaitEnd("x");
    assert.deepEqual(outputs, { a: '"again"' });
  });

  test("an attempt that stays with a living host, of which nothing is heard, is lost in the end", async (t) => {
    const work = new HandJob();
    const [rig, m0, m1] = await start(t, work);
    await m0.submit(one, "x");
    const a = await work.call("a");
    await rig.move(m0.region.shardOf("x"), m0, m1);
    m0.hostedAttempts.stop();
    const { workerLostMs } = defaultTimings;
    const patienceMs = Math.ceil(workerLostMs + m1.hostedAttempts.blockedMs);
    const stepMs = workerLostMs / 3;
    for (let leftMs = patienceMs - 1; leftMs > 0; leftMs -= stepMs) {
      await rig.clock.advance(Math.min(stepMs, leftMs));
      await rig.look();
    }
    assert.equal(work.calls.length, 1);
    await rig.clock.advance(1);
    await rig.look();
    assert.equal(work.calls.length, 2);
    assert.equal(await interruptions(m1, "x"), 1);
    a.finish("late");
    await rig.clock.settle();
    (await work.call("a", { after: 1 })).finish("again");
    assert.equal(await rig.clock.until(m1.end("x")), "Success");
  });

  test("loses everything at once when its member is gone", async (t) => {
    const work = new HandJob();
    const [rig, m0] = await start(t, work);
    await m0.submit(one, "x");
    await work.call("a");
    const shard = m0.region.shardOf("x");
    m0.region.loseAll(gone);
    assert.equal(m0.region.epochOf(shard), undefined);
    const call: Call = { type: "GetIdentity", id: "x" };
    const asked = m0.handler.handle(shard, { key: "k", isFirst: true, body: call });
    await assert.rejects(asked, (error) => hasCode(error, "SHARD_MOVED"));
    await rig.clock.settle();
    assert.deepEqual(m0.fenced, [0, 1, 2, 3]);
  });
});

describe("a result that is known while its shard moves", () => {
  test("is reported to the next owner, although the turn that would take it in cannot be opened", async (t) => {
    const work = new HandJob();
    const [rig, m0, m1] = await start(t, work);
    await m0.submit(one, "x");
    const shard = m0.region.shardOf("x");
    const a = await work.call("a");
    await rig.clock.advance(1000);
    const entries = [...(m0.region.find(shard)?.instances.entries ?? [])];
    const actor = entries.find(({ id }) => id === "x")?.actor;
    assert.ok(actor !== undefined);
    actor.openTurn = () => {
      throw new EngineError("STORE_UNAVAILABLE", "the history of the code cannot be read");
    };
    a.finish("done");
    await rig.move(shard, m0, m1);
    await rig.clock.advance(1000);
    assert.equal(await rig.clock.until(m1.end("x")), "Success");
    assert.equal(work.calls.length, 1);
  });

  for (const { what, byMs, calls } of [
    { what: "the loss of an earlier run of the attempt is not that of this one", byMs: -5000, calls: 1 },
    { what: "the loss of this run is", byMs: 0, calls: 2 },
  ]) {
    test(what, async (t) => {
      const work = new HandJob();
      const [rig, m0, m1] = await start(t, work);
      await m0.submit(one, "x");
      const shard = m0.region.shardOf("x");
      const { attemptId } = (await work.call("a")).ctx;
      const startedAt = rig.clock.now() + byMs;
      await rig.clock.advance(1000);
      await rig.move(shard, m0, m1);
      const input = { type: "AttemptEnded", task: 0, attempt: 1, generation: 1, outcome: { kind: "lost" } } as const;
      const body: Call = {
        type: "ReportAttempt",
        host: m0.id,
        attemptId,
        id: "x",
        input: { ...input, worker: m0.id, startedAt },
      };
      await rig.clock.until(m1.handler.handle(shard, { key: "k", isFirst: false, body }));
      await rig.clock.advance(1000);
      assert.equal(work.calls.length, calls);
    });
  }
});

describe("a call whose shard is lost before its answer is known", () => {
  test("has no answer, although this member has joined again and its lease is valid", async (t) => {
    const work = new HandJob();
    const [rig, m0] = await start(t, work);
    const ids = Array.from({ length: 40 }, (_, i) => `i${i}`);
    const shard = m0.region.shardOf("x");
    const other = ids.find((id) => m0.region.shardOf(id) === (shard + 2) % 4) ?? "";
    await m0.submit(one, "x");
    await m0.submit(one, other);
    const write = m0.store.hold("after");
    void m0.calls.callInstance({ type: "PauseInstance", id: "x" });
    await write.reached();
    // Its turn has nothing to write, and is in one commit with a turn of another shard of the same lane.
    const status = watch(m0.handler.handle(shard, { key: "k", isFirst: true, body: { type: "GetStatus", id: "x" } }));
    const paused = watch(m0.calls.callInstance({ type: "PauseInstance", id: other }));
    const commit = m0.store.hold("after");
    write.open();
    await commit.reached();
    m0.region.loseAll(gone);
    commit.open();
    await rig.clock.settle();
    assert.deepEqual([status.state, paused.state], ["failed", "waiting"]);
    assert.ok(hasCode(status.error, "SHARD_MOVED"));
  });
});

describe("opening a shard", () => {
  test("that is under way when everything is lost opens nothing", async (t) => {
    const [rig, m0] = await start(t, new HandJob());
    await m0.region.releaseShard(2);
    const slow = Promise.withResolvers<void>();
    m0.store.beforeRead = (what) => (what === "listUnfinished" ? slow.promise : Promise.resolve());
    const opened = watch(m0.region.openShard(2));
    await rig.clock.settle();
    m0.region.loseAll(gone);
    slow.resolve();
    await rig.clock.settle();
    assert.ok(hasCode(opened.error, "SHARD_MOVED"));
    assert.equal(m0.region.epochOf(2), undefined);
  });

  test("goes on when the store is back, and writes nothing under a number that was used", async (t) => {
    const work = new HandJob();
    const [rig, m0, m1] = await start(t, work);
    const shard = m0.region.shardOf("broken");
    const healthy = Array.from({ length: 20 }, (_, place) => `i${place}`).find((id) => m0.region.shardOf(id) === shard);
    assert.ok(healthy !== undefined);
    await m0.submit(one, "broken");
    await outgrowRow(m0, "broken");
    await m0.submit(chain("another", "a"), healthy);
    await work.call("a", { instanceId: healthy });
    await m0.region.releaseShard(shard);
    spoilOpening(m1, rig.disk.ledger.key("broken"));
    await rig.clock.until(m1.region.openShard(shard));
    await m1.calls.callInstance({ type: "UpdateContext", id: healthy, patch: { told: "1" } });
    assert.equal(m1.region.counts.quarantined, 1);
    const turns = await rig.disk.inner.loadHistory([rig.disk.ledger.key(healthy)]);
    assert.match(turns.at(-1)?.events ?? "", /told/, "what was said to be durable is");
  });

  test("knows after a failed try how the last owner left it", async (t) => {
    const work = new HandJob();
    const [rig, m0, m1] = await start(t, work);
    await m0.submit(one, "x");
    await outgrowRow(m0, "x");
    const a = await work.call("a");
    const shard = m0.region.shardOf("x");
    await m0.region.releaseShard(shard);
    let tries = 0;
    m1.store.beforeRead = async (what) => {
      m1.store.readsFail = what === "loadHistory" && tries++ < 3;
    };
    await rig.clock.until(m1.region.openShard(shard));
    assert.equal(tries, 4);
    a.finish(1);
    assert.equal(await rig.clock.until(m1.end("x")), "Success");
    assert.equal(await interruptions(m1, "x"), 0);
  });
});

describe("a call that is repeated", () => {
  const call = { type: "UpdateContext", id: "x", patch: { k: "1" } } as const;

  async function updates(member: RigMember): Promise<number> {
    const rows = await member.store.disk.inner.loadHistory([member.store.ledger.key("x")]);
    return rows.flatMap(({ events }) => events.match(/ContextPatched|ContextUpdated/g) ?? []).length;
  }

  test("was carried out, and is recognised by its key", async (t) => {
    const [, m0] = await start(t, new HandJob());
    await m0.submit(one, "x");
    const shard = m0.region.shardOf("x");
    await m0.handler.handle(shard, { key: "k", isFirst: true, body: call });
    const before = await updates(m0);
    await m0.handler.handle(shard, { key: "k", isFirst: false, body: call });
    assert.equal(await updates(m0), before);
    await m0.handler.handle(shard, { key: "another", isFirst: false, body: call });
    assert.equal(await updates(m0), before + 1);
  });

  test("while it is being carried out has the same end", async (t) => {
    const [rig, m0] = await start(t, new HandJob());
    await m0.submit(one, "x");
    const shard = m0.region.shardOf("x");
    const before = await updates(m0);
    const gate = m0.store.hold();
    const calls = [false, false, false].map((isFirst) => {
      return watch(m0.handler.handle(shard, { key: "k", isFirst, body: call }));
    });
    await rig.clock.settle();
    assert.deepEqual(
      calls.map(({ state }) => state),
      ["waiting", "waiting", "waiting"],
    );
    gate.open();
    await rig.clock.settle();
    assert.deepEqual(
      calls.map(({ state }) => state),
      ["done", "done", "done"],
    );
    assert.equal(await updates(m0), before + 1);
    assert.equal(m0.region.counts.quarantined, 0);
  });

  test("is recognised by the next owner", async (t) => {
    const [rig, m0, m1] = await start(t, new HandJob());
    await m0.submit(one, "x");
    const shard = m0.region.shardOf("x");
    await m0.handler.handle(shard, { key: "k", isFirst: true, body: call });
    const before = await updates(m0);
    await rig.move(shard, m0, m1);
    await m1.handler.handle(shard, { key: "k", isFirst: false, body: call });
    assert.equal(await updates(m1), before);
  });

  test("although it was carried out when the lease had lapsed, is carried out once", async (t) => {
    const [rig, m0] = await start(t, new HandJob());
    await m0.submit(one, "x");
    const before = await updates(m0);
    m0.isLeaseValid = false;
    const told = watch(m0.calls.callInstance(call));
    await rig.clock.advance(1000);
    assert.equal(told.state, "waiting", "whoever may have lost everything promises nothing");
    m0.isLeaseValid = true;
    await rig.clock.advance(1000);
    assert.equal(told.state, "done");
    assert.equal(await updates(m0), before + 1);
  });

  for (const isGivenId of [true, false]) {
    test(`starts one instance, ${isGivenId ? "of a given id" : "of an id that was made up"}`, async (t) => {
      const work = new HandJob();
      const [rig, m0] = await start(t, work);
      m0.isLeaseValid = false;
      const submitted = watch(m0.submit(one, "x", { isGivenId }));
      await rig.clock.advance(1000);
      assert.equal(submitted.state, "waiting");
      m0.isLeaseValid = true;
      await rig.clock.advance(1000);
      assert.deepEqual([submitted.state, submitted.error], ["done", undefined]);
      assert.deepEqual(work.started, ["a"]);
    });
  }

  test("of a start whose id is another's is still refused", async (t) => {
    const [, m0] = await start(t, new HandJob());
    await m0.submit(one, "x");
    await assert.rejects(m0.submit(one, "x"), (error) => hasCode(error, "INSTANCE_EXISTS"));
  });

  test("that asks for an end that is far off is answered not yet, and asked again", async (t) => {
    const work = new HandJob();
    const [rig, m0] = await start(t, work);
    await m0.submit(one, "x");
    const a = await work.call("a");
    const end = watch(m0.end("x"));
    await rig.clock.advance(100_000);
    assert.equal(end.state, "waiting");
    a.finish(1);
    await rig.clock.settle();
    assert.equal(end.value, "Success");
  });
});

describe("messages between members", () => {
  const children = Array.from({ length: 12 }, (_, place) => `n${place}`);
  const done = defineJob("done", () => 1);
  const family = builder("family", ...children.map((name) => nested(name, workflow("inner", task("a", "done")))))
    .withMaxConcurrentTasks(20)
    .build();

  for (const hintsArrive of [true, false]) {
    test(`come home, ${hintsArrive ? "pushed" : "looked for in the store"}, each once`, async (t) => {
      const [rig, m0, m1, m2] = await RegionClusterRig.start(t, 3, [done]);
      assert.ok(m0 && m1 && m2);
      rig.hintsArrive = hintsArrive;
      await rig.move(1, m0, m1);
      await rig.move(2, m0, m2);
      await m1.submit(family, "x");
      const end = watch(m0.end("x"));
      if (!hintsArrive) for (let looks = 0; looks < 6; looks++) await rig.look();
      await rig.clock.advance(1000);
      assert.equal(end.value, "Success");
      await checkFamily(rig);
    });
  }

  test("find their shard wherever it has moved to meanwhile", async (t) => {
    for (let moveAt = 1; moveAt <= 12; moveAt++) {
      const [rig, m0, m1] = await RegionClusterRig.start(t, 2, [done]);
      assert.ok(m0 && m1);
      let commits = 0;
      const moves: Promise<void>[] = [];
      m0.store.onSend = () => {
        if (++commits !== moveAt) return;
        for (const shard of [0, 1, 2, 3]) moves.push(rig.move(shard, m0, m1));
      };
      const submitted = m1.submit(family, "x");
      const end = watch(submitted.then(() => m0.end("x")));
      for (let looks = 0; looks < 10; looks++) {
        await rig.clock.advance(200);
        await rig.look();
      }
      await Promise.all(moves);
      await rig.clock.advance(60_000);
      assert.equal(end.value, "Success", `moved at commit ${moveAt}`);
      await checkFamily(rig);
    }
  });

  async function checkFamily(rig: RegionClusterRig): Promise<void> {
    const shards = Array.from({ length: shardCount }, (_, shard) => shard);
    assert.deepEqual(await rig.disk.inner.loadOutbox(shards), [], "what was read is gone");
    for (const name of children) {
      const turns = await rig.disk.inner.loadHistory([rig.disk.ledger.key(`x/${name}`)]);
      const types = turns.flatMap(({ events }) => eventsIn(events).map(({ type }) => type));
      assert.equal(types.filter((type) => type === "InstanceCreated").length, 1);
      assert.equal(types.filter((type) => type === "TaskSucceeded").length, 1);
    }
  }
});

async function start(
  t: Parameters<typeof RegionClusterRig.start>[0],
  work: HandJob,
): Promise<[RegionClusterRig, RigMember, RigMember]> {
  const [rig, m0, m1] = await RegionClusterRig.start(t, 2, [work.job]);
  assert.ok(m0 && m1);
  return [rig, m0, m1];
}

async function interruptions(member: RigMember, id: string): Promise<number> {
  const turns = await member.store.disk.inner.loadHistory([member.store.ledger.key(id)]);
  return turns.flatMap(({ events }) => events.match(/"TaskInterrupted"/g) ?? []).length;
}

/**
 * One instance's history cannot be followed, so it is quarantined while the shard is being opened; and the store goes away
 * right after that, so that the shard is opened a second time.
 */
/** Makes its turns rows, which an opening reads. */
async function outgrowRow({ calls }: RigMember, id: string): Promise<void> {
  await calls.callInstance({ type: "UpdateContext", id, patch: { note: JSON.stringify("x".repeat(3000)) } });
}

function spoilOpening({ store }: RigMember, broken: number): void {
  store.tamper = (row) => (row.instance === broken ? { ...row, turn: row.turn + 7 } : row);
  let definitions = 0;
  store.beforeRead = async (what) => {
    store.readsFail = what === "findDefinition" && ++definitions === 2;
  };
}
