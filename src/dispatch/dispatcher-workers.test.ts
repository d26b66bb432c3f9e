import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hasCode } from "../base/error.ts";
import { HandSession, Rig, settle, success } from "./dispatcher.rig.ts";
import { Dispatcher } from "./dispatcher.ts";

/** A dispatcher with an embedded worker of that size, and workers from outside. */
async function rigWith(poolSize: number, ...sessions: readonly HandSession[]): Promise<Rig> {
  const rig = new Rig({ poolSize });
  for (const session of sessions) rig.dispatcher.connect(session);
  await settle();
  return rig;
}

function where(rig: Rig): Record<string, string> {
  return Object.fromEntries(rig.dispatcher.status.listRunning().map(({ run, worker }) => [run.attemptId, worker]));
}

describe("a timeout on a remote worker", () => {
  async function overdue(): Promise<{ rig: Rig; session: HandSession }> {
    const rig = new Rig();
    rig.worker.missing.add("job");
    const session = new HandSession("a");
    rig.dispatcher.connect(session);
    await rig.enqueue(rig.run("a", { timeoutMs: 1000 }));
    session.isReachable = false;
    await rig.clock.advance(5000);
    assert.deepEqual(
      [rig.listener.ends, rig.running],
      [[], ["a"]],
      "it cannot time out while its worker is out of touch",
    );
    return { rig, session };
  }

  test("does not come while the worker is out of touch: the attempt is lost with it", async () => {
    const { rig, session } = await overdue();
    rig.dispatcher.disconnect(session);
    assert.deepEqual(rig.listener.ends, ["a lost"]);
    assert.equal(rig.clock.timerCount, 0);
  });

  test("does not come if the worker brings a result when it is back, however late", async () => {
    const { rig, session } = await overdue();
    Object.assign(session, { isReachable: true, graceMs: 700 });
    rig.dispatcher.connect(session);
    await rig.clock.advance(699);
    session.call("a").resolve(success);
    await rig.clock.advance(5000);
    assert.deepEqual(rig.listener.ends, ["a success"]);
  });

  test("comes if there is no result after the grace of a worker that is back", async () => {
    const { rig, session } = await overdue();
    Object.assign(session, { isReachable: true, graceMs: 700 });
    rig.dispatcher.connect(session);
    await rig.clock.advance(699);
    session.graceMs = 1;
    assert.deepEqual(rig.listener.ends, []);
    await rig.clock.advance(1);
    session.graceMs = 0;
    await rig.clock.advance(1);
    assert.deepEqual([rig.listener.ends, session.heard], [["a timeout"], ["a kept", "a aborted"]]);
  });

  test("waits for as long as the worker is away a second time", async () => {
    const { rig, session } = await overdue();
    Object.assign(session, { isReachable: true, graceMs: 700 });
    rig.dispatcher.connect(session);
    await rig.clock.advance(10);
    session.isReachable = false;
    await rig.clock.advance(5000);
    assert.deepEqual(rig.listener.ends, []);
    Object.assign(session, { isReachable: true, graceMs: 0 });
    rig.dispatcher.connect(session);
    await rig.clock.advance(1);
    assert.deepEqual(rig.listener.ends, ["a timeout"]);
  });
});

describe("several workers", () => {
  test("take attempts in turn, as long as they have a slot", async () => {
    const rig = await rigWith(1, new HandSession("a", 2), new HandSession("b", 1));
    await rig.enqueue("1", "2", "3", "4", "5");
    assert.deepEqual(where(rig), { 1: "here/a", 2: "here/b", 3: "hand", 4: "here/a" });
    assert.deepEqual(rig.waiting, ["5"]);
    assert.equal(rig.dispatcher.status.poolSize, 4);
  });

  test("make the pool larger, and the default domain with it", async () => {
    const session = new HandSession("a", 3);
    const rig = await rigWith(2, session);
    assert.deepEqual(rig.dispatcher.status.domainStatus("default"), { running: 0, size: 5 });
    session.slots = 5;
    rig.dispatcher.onJobsChanged();
    assert.equal(rig.dispatcher.status.poolSize, 7);
    rig.dispatcher.setPoolSize(1);
    assert.equal(rig.dispatcher.status.poolSize, 6);
    rig.dispatcher.disconnect(session);
    assert.equal(rig.dispatcher.status.poolSize, 1);
  });

  test("do not let the embedded worker have more than its own part", async () => {
    const session = new HandSession("a", 3);
    session.missing.add("job");
    const rig = await rigWith(2, session);
    await rig.enqueue("1", "2", "3");
    assert.deepEqual(where(rig), { 1: "hand", 2: "hand" });
    assert.equal(rig.dispatcher.status.waitOf("3")?.text, "a free slot on a worker that has job job");
    await rig.finish("1");
    assert.deepEqual(rig.running, ["2", "3"]);
  });

  test("are told apart by their jobs; an attempt that has to wait for one is in nobody's way", async () => {
    const session = new HandSession("a", 1);
    const rig = await rigWith(1, session);
    rig.worker.missing.add("remote");
    session.missing.add("local");
    const run = (id: string, job: string) => rig.run(id, { job });
    await rig.enqueue(run("r1", "remote"), run("r2", "remote"), run("r3", "remote"), run("l1", "local"));
    assert.deepEqual(where(rig), { r1: "here/a", l1: "hand" });
    await rig.enqueue(run("l2", "local"));
    session.call("r1").resolve(success);
    await settle();
    assert.deepEqual(where(rig), { l1: "hand", r2: "here/a" });
    await rig.finish("l1");
    assert.deepEqual(where(rig), { r2: "here/a", l2: "hand" });
    assert.deepEqual(rig.waiting, ["r3"]);
  });

  test("take those that waited for them in order, whatever has come meanwhile", async () => {
    const session = new HandSession("a", 1);
    const rig = await rigWith(1, session);
    rig.worker.missing.add("remote");
    const job = "remote";
    await rig.enqueue(rig.run("first", { job }), rig.run("late", { job, rank: 2 }), rig.run("b", { job }));
    await rig.enqueue(rig.run("best", { job, successors: 3 }));
    for (const id of ["first", "best", "b", "late"]) {
      assert.deepEqual(Object.keys(where(rig)), [id]);
      session.call(id).resolve(success);
      await settle();
    }
  });

  test("that come later serve those who wait for their jobs", async () => {
    const rig = await rigWith(1);
    rig.worker.missing.add("ghost");
    await rig.enqueue(rig.run("a", { job: "ghost" }));
    assert.equal(rig.dispatcher.status.waitOf("a")?.text, "job ghost, which is not registered on any worker");
    rig.dispatcher.connect(new HandSession("late"));
    await settle();
    assert.deepEqual(where(rig), { a: "here/late" });
  });

  test("run an attempt that requires tags only if they have all of them", async () => {
    const [gpu, both] = [new HandSession("gpu"), new HandSession("both", 1)];
    gpu.tags.add("gpu");
    both.tags.add("gpu").add("eu");
    const rig = await rigWith(3, gpu, both);
    const placement = { tags: ["eu", "gpu"], worker: undefined };
    await rig.enqueue(rig.run("1", { placement }), rig.run("2", { placement }), "3", "4");
    assert.deepEqual(where(rig), { 1: "here/both", 3: "hand", 4: "here/gpu" });
    assert.deepEqual(rig.dispatcher.status.waitOf("2"), {
      reason: "slot",
      text: "a free slot on a worker that has job job and tags eu, gpu",
      requires: { tags: ["eu", "gpu"] },
    });
    both.call("1").resolve(success);
    await settle();
    assert.equal(where(rig)["2"], "here/both");
  });

  test("are designated by id or address, and nobody else runs the attempt", async () => {
    const rig = await rigWith(2, new HandSession("pool/a"), new HandSession("b"));
    const designated = (id: string, worker: string) => rig.run(id, { placement: { tags: [], worker } });
    await rig.enqueue(designated("1", "a"), designated("2", "here/b"), designated("3", "hand"), designated("4", "z"));
    assert.deepEqual(where(rig), { 1: "here/pool/a", 2: "here/b", 3: "hand" });
    const text = "worker z with job job, and no such worker is connected";
    assert.deepEqual(rig.dispatcher.status.waitOf("4"), {
      reason: "no-worker",
      text,
      requires: { tags: [], worker: "z" },
    });
    rig.dispatcher.connect(new HandSession("z"));
    await settle();
    assert.equal(where(rig)["4"], "here/z");
  });

  test("say which tags are missing, and start what waits when their tags change", async () => {
    const session = new HandSession("a");
    const rig = await rigWith(1, session);
    await rig.enqueue(rig.run("1", { placement: { tags: ["gpu"], worker: undefined } }), "2");
    assert.equal(where(rig)["2"], "here/a", "an attempt that has to wait is in nobody's way");
    const text = "a worker that has job job and tag gpu, and no such worker is connected";
    assert.deepEqual(rig.dispatcher.status.waitOf("1"), { reason: "no-worker", text, requires: { tags: ["gpu"] } });
    assert.equal(rig.log.messages("warn").length, 1);
    session.tags.add("gpu");
    rig.dispatcher.onJobsChanged();
    await settle();
    assert.equal(where(rig)["1"], "here/a");
  });

  test("may be the only ones there are", async () => {
    const rig = new Rig();
    const { clock, log: logger } = rig;
    const dispatcher = new Dispatcher({ clock, logger, domains: { data: { size: 50 } } });
    dispatcher.enqueue(rig.run("a"));
    await settle();
    assert.equal(dispatcher.status.poolSize, 0);
    assert.throws(
      () => dispatcher.setPoolSize(3),
      (error) => hasCode(error, "POOL_SIZE_INVALID"),
    );
    assert.equal(dispatcher.status.waitOf("a")?.text, "job job, which is not registered on any worker");
    const session = new HandSession("a", 60);
    dispatcher.connect(session);
    await settle();
    assert.deepEqual(session.started, ["a"]);
    assert.deepEqual(dispatcher.status.domainStatus("default"), { running: 1, size: 10 });
    await dispatcher.shutdown();
    assert.equal(session.stopped, true);
  });

  test("that go leave the domains as they are, and the rest nothing", async () => {
    const session = new HandSession("a", 4);
    const rig = await rigWith(2, session);
    rig.dispatcher.declareDomain("data", { size: 5 });
    assert.deepEqual(rig.dispatcher.status.domainStatus("default"), { running: 0, size: 1 });
    assert.throws(() => rig.dispatcher.declareDomain("data", { size: 7 }), /from 1 to 6/);
    rig.dispatcher.disconnect(session);
    assert.deepEqual(rig.dispatcher.status.domainStatus("data"), { running: 0, size: 5 });
    assert.deepEqual(rig.dispatcher.status.domainStatus("default"), { running: 0, size: 0 });
    const data = { domain: "data" };
    await rig.enqueue(rig.run("1", data), rig.run("2", data), rig.run("3", data));
    assert.deepEqual(rig.running, ["1", "2"]);
  });
});

describe("an attempt for a remote worker", () => {
  test("is granted when its start is durable, and holds its slot from before", async () => {
    const session = new HandSession("a", 1);
    const rig = await rigWith(1, session);
    rig.worker.missing.add("job");
    const { promise, resolve } = Promise.withResolvers<void>();
    await rig.enqueue(rig.run("a", { confirmStart: () => promise }), "b");
    assert.deepEqual([rig.running, session.started, rig.listener.heard], [["a"], [], ["a started"]]);
    assert.equal(session.freeSlots, 0);
    resolve();
    await settle();
    assert.deepEqual(session.started, ["a"]);
  });

  test("gives the slot back if its start is not confirmed, or it is aborted before", async () => {
    const session = new HandSession("a", 2);
    const rig = await rigWith(1, session);
    rig.worker.missing.add("job");
    const { promise } = Promise.withResolvers<void>();
    await rig.enqueue(
      rig.run("a", { confirmStart: () => Promise.reject(new Error("no")) }),
      rig.run("b", { confirmStart: () => promise }),
    );
    rig.dispatcher.abort(["b"]);
    assert.equal(session.freeSlots, 2);
    assert.deepEqual([rig.running, rig.listener.ends], [[], []]);
  });

  test("is reported with its worker's address, and acknowledged when its owner says so", async () => {
    const session = new HandSession("a");
    const rig = await rigWith(1, session);
    await rig.enqueue("a", "b");
    session.call("a").resolve({ kind: "success", output: "1" });
    await rig.finish("b");
    assert.equal(rig.listener.executions.get("a")?.worker, "here/a");
    assert.deepEqual(session.heard, []);
    rig.listener.acknowledge.get("a")?.();
    assert.deepEqual(session.heard, ["a acknowledged"]);
    assert.equal(rig.listener.acknowledge.has("b"), false);
  });

  test("that is refused goes back to its old place in the queue, and nothing is told", async () => {
    const session = new HandSession("a", 1);
    const rig = await rigWith(1, session);
    rig.worker.missing.add("job");
    await rig.enqueue("a", "b");
    session.missing.add("job");
    await session.refuse("a");
    assert.deepEqual([rig.running, rig.waiting, rig.listener.ends], [[], ["a", "b"], []]);
    session.missing.clear();
    rig.dispatcher.onJobsChanged();
    await settle();
    assert.deepEqual(rig.running, ["a"]);
    session.call("a").resolve(success);
    await settle();
    assert.deepEqual(rig.listener.ends, ["a success"]);
    assert.deepEqual(rig.running, ["b"]);
  });

  test("that is refused after its shard has moved is withdrawn, and not run here", async () => {
    const session = new HandSession("a", 1);
    const rig = await rigWith(1, session);
    rig.worker.missing.add("job");
    const run = { ...rig.run("a"), isHandedOver: false };
    await rig.enqueue(run);
    rig.worker.missing.clear();
    run.isHandedOver = true;
    await session.refuse("a");
    await settle();
    assert.deepEqual([rig.running, rig.waiting, rig.listener.ends], [[], [], ["a withdrawn"]]);
  });

  test("that is refused after its instance was paused is withdrawn, and does not start", async () => {
    const session = new HandSession("a", 1);
    const rig = await rigWith(1, session);
    rig.worker.missing.add("job");
    const run = { ...rig.run("a"), isPaused: false };
    await rig.enqueue(run);
    rig.worker.missing.clear();
    run.isPaused = true;
    rig.dispatcher.withdraw(["a"]);
    assert.deepEqual([rig.running, rig.listener.ends], [["a"], []]);
    await session.refuse("a");
    await settle();
    assert.deepEqual([rig.running, rig.waiting, rig.listener.ends], [[], [], ["a withdrawn"]]);
    assert.deepEqual([session.started, rig.worker.started], [["a"], []]);
  });

  test("that was refused and waits is withdrawn by a pause", async () => {
    const session = new HandSession("a", 1);
    const rig = await rigWith(1, session);
    rig.worker.missing.add("job");
    await rig.enqueue("a");
    session.missing.add("job");
    await session.refuse("a");
    assert.deepEqual(rig.waiting, ["a"]);
    rig.dispatcher.withdraw(["a"]);
    assert.deepEqual([rig.waiting, rig.listener.ends], [[], ["a withdrawn"]]);
  });

  test("is not granted if its instance is paused while its start is made durable", async () => {
    const session = new HandSession("a", 1);
    const rig = await rigWith(1, session);
    rig.worker.missing.add("job");
    const { promise, resolve } = Promise.withResolvers<void>();
    const run = { ...rig.run("a", { confirmStart: () => promise }), isPaused: false };
    await rig.enqueue(run);
    run.isPaused = true;
    resolve();
    await settle();
    assert.deepEqual([session.started, rig.waiting, rig.listener.ends], [[], [], ["a withdrawn"]]);
    assert.equal(session.freeSlots, 1);
  });

  test("times out and is aborted like any other; what its worker says later is forgotten there too", async () => {
    const session = new HandSession("a");
    const rig = await rigWith(1, session);
    await rig.enqueue(rig.run("a", { timeoutMs: 1000 }));
    await rig.clock.advance(1000);
    assert.deepEqual([rig.listener.ends, session.heard], [["a timeout"], ["a kept", "a aborted"]]);
    session.call("a").resolve(success);
    await settle();
    assert.equal(rig.dispatcher.status.lateReports, 1);
    assert.deepEqual(session.heard, ["a kept", "a aborted", "a acknowledged"]);
    assert.equal(rig.dispatcher.status.abandonedCount, 0);
  });

  test("is lost with its worker, and one that was not granted yet is not", async () => {
    const session = new HandSession("a", 2);
    const rig = await rigWith(1, session);
    rig.worker.missing.add("job");
    const { promise, resolve } = Promise.withResolvers<void>();
    await rig.enqueue("a", rig.run("b", { confirmStart: () => promise }));
    rig.dispatcher.disconnect(session);
    assert.deepEqual([rig.running, rig.waiting, rig.listener.ends], [[], ["b"], ["a lost"]]);
    resolve();
    await settle();
    assert.deepEqual(session.started, ["a"]);
    assert.equal(rig.listener.acknowledge.size, 0);
  });
});

describe("shutdown", () => {
  test("sends the workers away with what they run, and waits for none of it", async () => {
    const session = new HandSession("a");
    const rig = await rigWith(1, session);
    await rig.enqueue("a");
    await rig.dispatcher.shutdown();
    assert.equal(session.stopped, true);
    assert.equal(session.call("a").abort.aborted, false);
    assert.deepEqual(rig.listener.ends, []);
    rig.dispatcher.connect(new HandSession("b"));
  });
});

describe("draining", () => {
  test("starts nothing more, and is over when what runs has ended", async () => {
    const rig = await rigWith(1);
    await rig.enqueue("1", "2");
    let isOver = false;
    const drained = rig.dispatcher.drain().then(() => (isOver = true));
    await settle();
    assert.equal(isOver, false);
    assert.equal(rig.dispatcher.isDraining, true);
    await rig.finish("1");
    await drained;
    assert.deepEqual(rig.running, []);
    assert.deepEqual(rig.waiting, ["2"]);
    assert.equal(rig.dispatcher.status.waitOf("2")?.text, "another start: this process is being drained");
    rig.dispatcher.resumeDispatch();
    await settle();
    assert.deepEqual(rig.running, []);
  });

  test("of one remote worker leaves the others alone", async () => {
    const session = new HandSession("a", 1);
    const rig = await rigWith(1, session);
    await rig.enqueue("1", "2");
    assert.deepEqual(where(rig), { 1: "here/a", 2: "hand" });
    assert.equal(await rig.dispatcher.drainWorker("here/b"), false);
    const drained = rig.dispatcher.drainWorker("here/a");
    await rig.finish("2");
    await rig.enqueue("3", "4");
    assert.deepEqual(where(rig), { 1: "here/a", 3: "hand" });
    session.call("1").resolve(success);
    assert.equal(await drained, true);
    assert.deepEqual(where(rig), { 3: "hand" });
    assert.deepEqual(rig.dispatcher.status.listConnected(), [{ worker: session, runningTasks: 0 }]);
  });
});
