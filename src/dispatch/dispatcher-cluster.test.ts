import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hasCode } from "../base/error.ts";
import type { TaskRun } from "./task-run.ts";
import type { WorkerAnswer } from "./worker.ts";
import { HandSession, makeRun, RecordingListener, Rig, settle, success } from "./dispatcher.rig.ts";

describe("the lease", () => {
  test("is asked before every start; nothing starts while it says no", async () => {
    let isValid = true;
    const rig = new Rig({ poolSize: 1, mayStart: () => isValid });
    await rig.enqueue("a", "b");
    isValid = false;
    await rig.finish("a");
    assert.deepEqual([rig.running, rig.waiting], [[], ["b"]]);
    assert.equal(rig.dispatcher.status.waitOf("b")?.text, "the lease of this member, which has lapsed");
    isValid = true;
    rig.dispatcher.onLeaseChanged();
    await settle();
    assert.deepEqual(rig.running, ["b"]);
  });

  test("is asked again when the start is durable: on the embedded worker the attempt is lost without having run", async () => {
    let isValid = true;
    const rig = new Rig({ mayStart: () => isValid });
    const { promise, resolve } = Promise.withResolvers<void>();
    await rig.enqueue(rig.run("a", { isCautious: true, confirmStart: () => promise }));
    isValid = false;
    resolve();
    await settle();
    assert.deepEqual([rig.worker.started, rig.running, rig.listener.ends], [[], [], ["a lost"]]);
  });

  test("is asked again when the start is durable: what was meant for a remote worker waits again", async () => {
    let isValid = true;
    const rig = new Rig({ mayStart: () => isValid });
    const session = new HandSession("a");
    rig.worker.missing.add("job");
    rig.dispatcher.connect(session);
    const { promise, resolve } = Promise.withResolvers<void>();
    await rig.enqueue(rig.run("a", { confirmStart: () => promise }));
    isValid = false;
    resolve();
    await settle();
    assert.deepEqual([session.started, rig.waiting, rig.listener.ends], [[], ["a"], []]);
    assert.equal(session.freeSlots, 2);
    isValid = true;
    rig.dispatcher.onLeaseChanged();
    await settle();
    assert.deepEqual(session.started, ["a"]);
  });
});

describe("a lease that has lapsed", () => {
  test("stops what runs on the embedded worker; its owner hears that it is lost, and what waits stays", async () => {
    const rig = new Rig({ poolSize: 2 });
    await rig.enqueue("a", "b", "c");
    const { abort } = rig.worker.call("a");
    rig.dispatcher.interruptAll();
    assert.deepEqual(rig.listener.ends, ["a lost", "b lost"]);
    assert.ok(hasCode(abort.signal.reason, "MEMBER_LOST"));
    assert.deepEqual(rig.waiting, ["c"]);
    await rig.finish("a");
    assert.equal(rig.dispatcher.status.lateReports, 1);
  });

  test("lets go of what runs on remote workers without a word, and sends them away", async () => {
    const rig = new Rig({ poolSize: 1 });
    const session = new HandSession("a", 2);
    rig.dispatcher.connect(session);
    rig.worker.missing.add("job");
    const { promise, resolve } = Promise.withResolvers<void>();
    await rig.enqueue("a", rig.run("b", { confirmStart: () => promise }), "c");
    rig.dispatcher.interruptAll();
    await settle();
    assert.deepEqual([rig.listener.ends, rig.running, rig.waiting], [[], [], ["b", "c"]]);
    assert.deepEqual([session.stopped, session.call("a").abort.aborted], [true, false]);
    assert.equal(rig.dispatcher.status.poolSize, 1);
    resolve();
    await settle();
    assert.deepEqual(session.started, ["a"]);
  });

  test("says which attempts have gone with their workers, and not of those that were only queued again", async () => {
    const gone: string[] = [];
    const rig = new Rig({ onDetached: ({ attemptId }, { worker }) => void gone.push(`${attemptId} ${worker}`) });
    const session = new HandSession("a", 2);
    rig.worker.missing.add("job");
    rig.dispatcher.connect(session);
    const { promise } = Promise.withResolvers<void>();
    await rig.enqueue("a", rig.run("b", { confirmStart: () => promise }));
    rig.dispatcher.interruptAll();
    assert.deepEqual(gone, ["a here/a"]);
  });
});

describe("drop", () => {
  test("takes out what waits, also for want of a worker, without a word; what runs stays", async () => {
    const rig = new Rig({ poolSize: 1 });
    rig.worker.missing.add("ghost");
    await rig.enqueue("a", "b", rig.run("parked", { job: "ghost" }), rig.run("other", { instanceId: "other" }));
    rig.dispatcher.drop(({ instanceId }) => instanceId === "instance");
    assert.deepEqual([rig.running, rig.waiting, rig.listener.ends], [["a"], ["other"], []]);
    await rig.enqueue("b");
    await rig.finish("a");
    assert.deepEqual(rig.running, ["other"]);
  });
});

describe("rebind", () => {
  test("tells another owner of the end, if the attempt runs here", async () => {
    const rig = new Rig({ poolSize: 1 });
    await rig.enqueue("a", "b");
    const owner = new RecordingListener();
    assert.equal(rig.dispatcher.rebind(makeRun(owner, "a")), true);
    assert.equal(rig.dispatcher.rebind(makeRun(owner, "b")), false);
    assert.equal(rig.dispatcher.rebind(makeRun(owner, "c")), false);
    await rig.finish("a");
    assert.deepEqual([rig.listener.ends, owner.ends], [[], ["a success"]]);
    assert.equal(rig.dispatcher.status.isRunning("a"), false);
    assert.equal(rig.dispatcher.status.isRunning("b"), true);
  });

  test("asks the new owner to confirm a start that the old one could not", async () => {
    const rig = new Rig();
    const isCautious = true;
    const before = Promise.withResolvers<void>();
    await rig.enqueue(rig.run("a", { isCautious, confirmStart: () => before.promise }));
    const owner = new RecordingListener();
    assert.equal(rig.dispatcher.rebind(makeRun(owner, "a", { isCautious })), true);
    before.reject(new Error("the shard has moved"));
    await settle();
    assert.deepEqual(rig.worker.started, ["a"]);
    await rig.finish("a");
    assert.deepEqual(owner.ends, ["a success"]);
  });
});

describe("adopt", () => {
  async function adopting(): Promise<{ rig: Rig; session: HandSession }> {
    const rig = new Rig({ poolSize: 1 });
    const session = new HandSession("a", 1);
    rig.dispatcher.connect(session);
    rig.worker.missing.add("job");
    await settle();
    return { rig, session };
  }

  test("follows an attempt that runs already, even above the size, and tells nobody that it starts", async () => {
    const { rig, session } = await adopting();
    await rig.enqueue("own");
    const { promise, resolve } = Promise.withResolvers<WorkerAnswer>();
    const startedAt = rig.clock.now() - 5000;
    assert.equal(rig.dispatcher.adopt(rig.run("brought"), session, promise, startedAt), true);
    assert.deepEqual(rig.running, ["own", "brought"]);
    assert.equal(rig.dispatcher.status.isReachable("brought"), true);
    session.isReachable = false;
    assert.equal(rig.dispatcher.status.isReachable("brought"), false);
    assert.equal(rig.dispatcher.status.isReachable("unknown"), false);
    resolve({ kind: "success", output: "1" });
    await settle();
    assert.deepEqual(rig.listener.heard, ["own started", "brought success"]);
    assert.deepEqual(rig.listener.executions.get("brought"), { worker: "here/a", startedAt });
    rig.listener.acknowledge.get("brought")?.();
    assert.deepEqual(session.heard, ["brought acknowledged"]);
  });

  test("counts the timeout from the start, and stops what runs", async () => {
    const { rig, session } = await adopting();
    const { promise } = Promise.withResolvers<WorkerAnswer>();
    const run = rig.run("a", { timeoutMs: 6000 });
    rig.dispatcher.adopt(run, session, promise, rig.clock.now() - 5000);
    await rig.clock.advance(999);
    assert.deepEqual(rig.running, ["a"]);
    await rig.clock.advance(1);
    assert.deepEqual([rig.listener.ends, session.heard], [["a timeout"], ["a kept", "a aborted"]]);
  });

  test("takes an attempt out of the queue, and leaves alone one that runs on another worker", async () => {
    const { rig, session } = await adopting();
    await rig.enqueue("own", "waiting");
    const { promise } = Promise.withResolvers<WorkerAnswer>();
    assert.equal(rig.dispatcher.adopt(rig.run("waiting"), session, promise, 0), true);
    assert.deepEqual([rig.running, rig.waiting], [["own", "waiting"], []]);
    const other = new HandSession("b");
    rig.dispatcher.connect(other);
    assert.equal(rig.dispatcher.adopt(rig.run("own"), other, promise, 0), false);
    assert.equal(rig.dispatcher.adopt(rig.run("own"), session, promise, 0), true);
    assert.equal(rig.dispatcher.adopt(rig.run("new"), new HandSession("gone"), promise, 0), false);
    assert.deepEqual(rig.running, ["own", "waiting"]);
    assert.equal(rig.dispatcher.status.isRunningOn("waiting", session), true);
    assert.equal(rig.dispatcher.status.isRunningOn("waiting", other), false);
    assert.deepEqual(rig.dispatcher.status.connectionOf("waiting"), { worker: "a", since: 1 });
    assert.equal(rig.dispatcher.status.connectionOf("new"), undefined);
  });

  test("does not take what the worker has no longer: nobody would ever hear of it", async () => {
    const { rig, session } = await adopting();
    await rig.enqueue("own", "waiting");
    session.isThere = false;
    assert.equal(
      rig.dispatcher.adopt(rig.run("waiting"), session, Promise.withResolvers<WorkerAnswer>().promise, 0),
      false,
    );
    assert.deepEqual([rig.running, rig.waiting], [["own"], ["waiting"]]);
  });

  test("hears of an attempt that its worker gave up in good order as withdrawn: it cannot start here again", async () => {
    const { rig, session } = await adopting();
    const { promise, resolve } = Promise.withResolvers<WorkerAnswer>();
    rig.dispatcher.adopt(rig.run("a"), session, promise, 0);
    resolve({ kind: "refused", why: "the worker is stopping" });
    await settle();
    assert.deepEqual([rig.listener.heard, rig.running, rig.waiting], [["a withdrawn"], [], []]);
  });

  test("brings a suspect beside another; the next waits for both", async () => {
    const { rig, session } = await adopting();
    const twice = { interruptions: 2 };
    session.slots = 5;
    rig.dispatcher.onJobsChanged();
    await rig.enqueue(rig.run("own", twice));
    const { promise, resolve } = Promise.withResolvers<WorkerAnswer>();
    rig.dispatcher.adopt(rig.run("brought", twice), session, promise, rig.clock.now());
    await rig.enqueue(rig.run("next", twice));
    session.call("own").resolve(success);
    await settle();
    assert.deepEqual(rig.running, ["brought"]);
    resolve(success);
    await settle();
    assert.deepEqual(rig.running, ["next"]);
  });
});

describe("an attempt that is aborted on a remote worker", () => {
  async function stopping(): Promise<{
    rig: Rig;
    session: HandSession;
    let: (how: "stopped" | "disconnected") => Promise<void>;
    gone: string[];
  }> {
    const gone: string[] = [];
    const onDetached = (run: TaskRun, { isLost }: { isLost: boolean }): void => {
      gone.push(`${run.attemptId}${isLost ? " lost" : ""}`);
    };
    const domains = { data: { size: 1 } };
    const rig = new Rig({ poolSize: 1, domains, onDetached });
    const session = new HandSession("a", 2);
    rig.worker.missing.add("job");
    rig.dispatcher.connect(session);
    const stop = Promise.withResolvers<"stopped" | "disconnected">();
    session.stops.set("a", stop);
    const settled = async (how: "stopped" | "disconnected"): Promise<void> => {
      stop.resolve(how);
      await settle();
    };
    await rig.enqueue(rig.run("a", { domain: "data", timeoutMs: 1000 }), rig.run("b", { domain: "data" }));
    return { rig, session, let: settled, gone };
  }

  test("has its slot in the domain until it has stopped", async () => {
    const { rig, let: stop, gone } = await stopping();
    rig.dispatcher.abort(["a"]);
    await settle();
    assert.deepEqual([rig.running, rig.waiting], [[], ["b"]]);
    assert.deepEqual(rig.dispatcher.demand("data"), { running: 1, waiting: 1 });
    await stop("stopped");
    assert.deepEqual([rig.running, gone], [["b"], []]);
  });

  test("is timed out at once all the same, and may wait again beside its own slot", async () => {
    const { rig, let: stop } = await stopping();
    await rig.clock.advance(1000);
    assert.deepEqual(rig.listener.ends, ["a timeout"]);
    await rig.enqueue(rig.run("a", { domain: "data", rank: -1 }));
    assert.deepEqual([rig.running, rig.waiting], [[], ["b", "a"]]);
    await stop("stopped");
    assert.deepEqual(rig.running, ["a"]);
  });

  test("may go on with another member, if its worker is sent away", async () => {
    const { rig, let: stop, gone } = await stopping();
    rig.dispatcher.abort(["a"]);
    await stop("disconnected");
    assert.deepEqual([rig.running, gone], [["b"], ["a lost"]]);
  });
});

describe("detach", () => {
  test("makes a remote attempt leave without a word; what waits, or runs here, stays", async () => {
    const rig = new Rig({ poolSize: 1 });
    const session = new HandSession("a", 1);
    rig.dispatcher.connect(session);
    await settle();
    await rig.enqueue("remote", "embedded", "waiting");
    rig.dispatcher.detach(["remote", "embedded", "waiting", "unknown"]);
    assert.deepEqual([rig.running, rig.waiting, rig.listener.ends], [["embedded"], ["waiting"], []]);
    assert.deepEqual(session.heard, ["remote forgotten"]);
    assert.equal(session.call("remote").abort.aborted, false);
    await settle();
    assert.deepEqual(rig.running, ["embedded", "waiting"]);
  });

  test("whose lease has expired is given up: its worker announces it again, and the others are aborted", async () => {
    const rig = new Rig({ poolSize: 1 });
    const session = new HandSession("a", 1);
    rig.dispatcher.connect(session);
    await settle();
    await rig.enqueue("remote", "embedded", "waiting");
    rig.dispatcher.giveUpExpired(["remote", "embedded", "waiting", "unknown"]);
    assert.deepEqual([rig.running, rig.waiting, rig.listener.ends], [[], [], []]);
    assert.deepEqual(session.heard, ["remote unfollowed"]);
    assert.equal(session.call("remote").abort.aborted, false);
  });

  test("leaves one whose start is not durable yet: nobody else can have it", async () => {
    const rig = new Rig({ poolSize: 1 });
    const session = new HandSession("a", 1);
    rig.worker.missing.add("job");
    rig.dispatcher.connect(session);
    const { promise, resolve } = Promise.withResolvers<void>();
    await rig.enqueue(rig.run("a", { confirmStart: () => promise }));
    rig.dispatcher.detach(["a"]);
    resolve();
    await settle();
    assert.deepEqual(session.started, ["a"]);
  });
});

describe("shared domains", () => {
  function shared(wanted: string[] = []): Rig {
    const domains = { data: { size: 100, priority: 3 }, mail: { size: 7 } };
    return new Rig({ poolSize: 4, sharedDomains: true, domains, onDemand: (domain) => void wanted.push(domain) });
  }

  test("have a size for all and a quota here, which is 0 at first", async () => {
    const rig = shared();
    assert.deepEqual(rig.dispatcher.status.listDomains(), [
      { domain: "data", priority: 3, size: 100, running: 0, waiting: 0 },
      { domain: "default", priority: 0, size: 4, running: 0, waiting: 0 },
      { domain: "mail", priority: 0, size: 7, running: 0, waiting: 0 },
    ]);
    await rig.enqueue(rig.run("d1", { domain: "data" }), rig.run("d2", { domain: "data" }));
    assert.deepEqual(rig.running, []);
    assert.deepEqual(rig.dispatcher.demand("data"), { running: 0, waiting: 2 });
    assert.equal(rig.dispatcher.status.waitOf("d1")?.text, "a free slot in domain data");
    rig.dispatcher.setQuota("data", 1);
    await settle();
    assert.deepEqual(rig.dispatcher.demand("data"), { running: 1, waiting: 1 });
    assert.deepEqual(rig.dispatcher.status.domainStatus("data"), { running: 1, size: 100 });
  });

  test("leave the default domain the rest of the pool, and never overrun it together", async () => {
    const rig = shared();
    await rig.enqueue("a", "b", "c", "d", "e");
    rig.dispatcher.setQuota("data", 3);
    assert.deepEqual(rig.dispatcher.status.domainStatus("default"), { running: 4, size: 1 });
    const data = { domain: "data" };
    await rig.enqueue(rig.run("d1", data), rig.run("d2", data), rig.run("d3", data), rig.run("d4", data));
    assert.deepEqual(rig.running, ["a", "b", "c", "d"]);
    for (const id of ["a", "b", "c"]) await rig.finish(id);
    assert.deepEqual(rig.running, ["d", "d1", "d2", "d3"]);
    rig.dispatcher.setQuota("data", 9);
    await settle();
    assert.deepEqual(rig.dispatcher.status.domainStatus("default"), { running: 1, size: 1 });
    await rig.finish("d");
    assert.deepEqual(rig.running, ["d1", "d2", "d3", "d4"]);
    rig.dispatcher.setQuota("data", 0);
    await rig.finish("d1");
    assert.deepEqual(rig.running, ["d2", "d3", "d4", "e"]);
  });

  test("keep nothing from the default domain that they do not use, even if they may have more than the pool", async () => {
    const rig = shared();
    rig.dispatcher.setQuota("data", 9);
    await rig.enqueue("a", "b");
    assert.deepEqual([rig.running, rig.waiting], [["a"], ["b"]]);
    await rig.finish("a");
    assert.deepEqual(rig.running, ["b"]);
  });

  test("are asked for once when somebody begins to wait, and again when that was over", async () => {
    const wanted: string[] = [];
    const rig = shared(wanted);
    const data = { domain: "data" };
    await rig.enqueue(rig.run("1", data));
    await rig.enqueue(rig.run("2", data));
    assert.deepEqual(wanted, ["data"]);
    rig.dispatcher.setQuota("data", 1);
    await settle();
    assert.deepEqual([rig.running, wanted], [["1"], ["data"]]);
    await rig.finish("1");
    await rig.enqueue(rig.run("m", { domain: "mail" }));
    assert.deepEqual(wanted, ["data", "mail"]);
    await rig.enqueue(rig.run("3", data));
    assert.deepEqual(wanted, ["data", "mail", "data"]);
  });

  test("do not count what no worker could take", async () => {
    const rig = shared();
    rig.worker.missing.add("ghost");
    await rig.enqueue(rig.run("a", { domain: "data", job: "ghost" }));
    rig.dispatcher.setQuota("data", 1);
    await settle();
    assert.deepEqual(rig.dispatcher.demand("data"), { running: 0, waiting: 0 });
  });

  test("may be declared and resized without regard to the pool, but not to nothing", async () => {
    const rig = shared();
    rig.dispatcher.declareDomain("late", { size: 1000 });
    rig.dispatcher.setDomainPoolSize("data", 500);
    rig.dispatcher.setQuota("data", 4);
    rig.dispatcher.setPoolSize(1);
    assert.deepEqual(rig.dispatcher.status.domainStatus("data"), { running: 0, size: 500 });
    assert.throws(() => rig.dispatcher.setDomainPoolSize("data", 0), /must be a whole number from 1/);
    assert.throws(() => rig.dispatcher.setQuota("nowhere", 1), /not declared/);
    rig.dispatcher.declareDomain("default", { size: 5 });
    await rig.enqueue("a");
    assert.deepEqual(rig.running, []);
    rig.dispatcher.setQuota("default", 1);
    await settle();
    assert.deepEqual(rig.running, ["a"]);
  });
});
