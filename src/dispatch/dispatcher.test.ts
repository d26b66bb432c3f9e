import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hasCode } from "../base/error.ts";
import type { Outcome } from "../kernel/input.ts";
import { Rig, settle, success } from "./dispatcher.rig.ts";
import { defaultPoolSizeMax } from "./dispatcher.ts";

describe("a run", () => {
  test("is started, run and reported once, with who ran it and since when", async () => {
    const rig = new Rig();
    await rig.enqueue("a");
    assert.deepEqual(rig.dispatcher.status.listRunning(), [
      { run: rig.worker.call("a").run, startedAt: rig.clock.now(), worker: "hand" },
    ]);
    await rig.finish("a", { kind: "success", output: "1" });
    assert.deepEqual(rig.listener.heard, ["a started", "a success"]);
    assert.deepEqual(rig.listener.outcomes.get("a"), { kind: "success", output: "1" });
    assert.deepEqual(rig.listener.executions.get("a"), { worker: "hand", startedAt: rig.clock.now() });
    assert.equal(rig.dispatcher.status.runningCount, 0);
  });

  test("is taken once, whether it waits or runs", async () => {
    const rig = new Rig({ poolSize: 1 });
    await rig.enqueue("a", "a", "b", "b");
    await rig.enqueue("a", "b");
    assert.deepEqual([rig.running, rig.waiting], [["a"], ["b"]]);
    await rig.finish("a");
    await rig.finish("b");
    assert.deepEqual(rig.listener.ends, ["a success", "b success"]);
  });

  test("that ends at once needs no timer, and its slot serves the next", async () => {
    const rig = new Rig({ poolSize: 1 });
    rig.worker.answer = () => success;
    await rig.enqueue("a", "b", "c");
    assert.deepEqual(rig.listener.ends, ["a success", "b success", "c success"]);
    await rig.clock.advance(0);
    assert.equal(rig.clock.timerCount, 0);
  });
});

describe("slots", () => {
  test("bound the whole pool and each domain", async () => {
    const rig = new Rig({ poolSize: 3, domains: { data: { size: 1 } } });
    const data = { domain: "data" };
    await rig.enqueue(rig.run("d1", data), rig.run("d2", data), "a", "b", "c");
    assert.deepEqual(rig.running.toSorted(), ["a", "b", "d1"]);
    assert.deepEqual(rig.dispatcher.status.domainStatus("data"), { running: 1, size: 1 });
    assert.deepEqual(rig.dispatcher.status.domainStatus("default"), { running: 2, size: 2 });
    assert.equal(rig.dispatcher.status.waitOf("d2")?.text, "a free slot in domain data");
    await rig.finish("d1");
    assert.deepEqual(rig.waiting, ["c"]);
  });

  test("that are added serve those who wait at once", async () => {
    const rig = new Rig({ poolSize: 1 });
    await rig.enqueue("a", "b", "c");
    rig.dispatcher.setPoolSize(3);
    await settle();
    assert.deepEqual(rig.running, ["a", "b", "c"]);
    assert.equal(rig.dispatcher.status.poolSize, 3);
  });

  test("that are taken away kill nothing that runs; nothing starts until it fits", async () => {
    const rig = new Rig({ poolSize: 3 });
    await rig.enqueue("a", "b", "c", "d");
    rig.dispatcher.setPoolSize(1);
    await settle();
    assert.deepEqual(rig.dispatcher.status.domainStatus("default"), { running: 3, size: 1 });
    await rig.finish("a");
    await rig.finish("b");
    assert.deepEqual(rig.running, ["c"]);
    await rig.finish("c");
    assert.deepEqual(rig.running, ["d"]);
  });

  test("that a domain gains from another are free only when that one has given them back", async () => {
    const rig = new Rig({ poolSize: 3, domains: { data: { size: 1 } } });
    const data = { domain: "data" };
    await rig.enqueue("a", "b", rig.run("d1", data), rig.run("d2", data));
    rig.dispatcher.setDomainPoolSize("data", 2);
    await settle();
    assert.deepEqual(rig.running.toSorted(), ["a", "b", "d1"]);
    await rig.finish("a");
    assert.deepEqual(rig.running.toSorted(), ["b", "d1", "d2"]);
  });

  test("of a domain that is not declared do not exist: its runs wait and say so", async () => {
    const rig = new Rig();
    await rig.enqueue(rig.run("a", { domain: "gone" }));
    assert.equal(rig.dispatcher.status.waitOf("a")?.text, "domain gone, which is not declared");
    assert.equal(rig.dispatcher.status.hasDomain("gone"), false);
    rig.dispatcher.declareDomain("gone", { size: 1 });
    await settle();
    assert.deepEqual(rig.running, ["a"]);
  });

  test("of the default domain may all be reserved by others", async () => {
    const rig = new Rig({ poolSize: 2, domains: { data: { size: 2 } } });
    await rig.enqueue("a");
    assert.match(rig.dispatcher.status.waitOf("a")?.text ?? "", /domain default, which has no slots/);
  });

  test("have a ceiling of ten, or twice the cores", () => {
    assert.equal(defaultPoolSizeMax(2), 10);
    assert.equal(defaultPoolSizeMax(8), 16);
    const { dispatcher } = new Rig();
    assert.throws(() => dispatcher.setPoolSize(65), /from 1 to 64/);
  });
});

describe("the order", () => {
  test("is the domains' priority first, for all that came together", async () => {
    const rig = new Rig({ poolSize: 4, domains: { low: { size: 1, priority: -1 }, high: { size: 1, priority: 9 } } });
    await rig.enqueue(rig.run("l", { domain: "low" }), "late", "d", rig.run("h", { domain: "high" }));
    assert.deepEqual(rig.worker.started, ["h", "late", "d", "l"]);
    assert.deepEqual(
      rig.dispatcher.status.listDomains().map(({ domain, running }) => `${domain} ${running}`),
      ["high 1", "default 2", "low 1"],
    );
  });

  test("is rank, successors and arrival within a domain", async () => {
    const rig = new Rig({ poolSize: 1 });
    await rig.enqueue(rig.run("later", { rank: 1, successors: 5 }), "a", rig.run("b", { successors: 1 }), "c");
    for (const id of ["b", "a", "c", "later"]) await rig.finish(id);
    assert.deepEqual(rig.worker.started, ["b", "a", "c", "later"]);
  });

  test("does not starve anybody for ever", async () => {
    const rig = new Rig({ poolSize: 1 });
    await rig.enqueue("first", rig.run("patient", { rank: 9 }));
    let current = "first";
    for (let i = 0; i < 30 && current !== "patient"; i++) {
      await rig.enqueue(rig.run(`hasty ${i}`));
      await rig.clock.advance(1000);
      await rig.finish(current);
      current = rig.running[0]!;
    }
    assert.equal(current, "patient");
  });
});

describe("a timeout", () => {
  test("aborts the signal, frees the slot, names task and seconds; a late result is dropped and counted", async () => {
    const rig = new Rig({ poolSize: 1 });
    await rig.enqueue(rig.run("a", { taskName: "orders", timeoutMs: 1500 }), "b");
    const { signal } = rig.worker.call("a").abort;
    await rig.clock.advance(1499);
    assert.equal(signal.aborted, false);
    await rig.clock.advance(1);
    assert.equal(signal.aborted, true);
    assert.ok(hasCode(signal.reason, "TASK_TIMEOUT"));
    const message = 'task "orders" of workflow "nightly" ran longer than its timeout of 1.5 s';
    assert.deepEqual(rig.listener.outcomes.get("a"), {
      kind: "timeout",
      failure: { type: "TASK_TIMEOUT", message, retryable: true },
    });
    assert.deepEqual(rig.running, ["b"]);
    assert.equal(rig.dispatcher.status.abandonedCount, 1);
    await rig.finish("a");
    assert.deepEqual(rig.listener.ends, ["a timeout"]);
    assert.deepEqual([rig.dispatcher.status.lateReports, rig.dispatcher.status.abandonedCount], [1, 0]);
  });

  test("counts from the job's start, not from the wait for a slot", async () => {
    const rig = new Rig({ poolSize: 1 });
    await rig.enqueue(rig.run("a", { timeoutMs: 60_000 }), rig.run("b", { timeoutMs: 1000 }));
    await rig.clock.advance(5000);
    await rig.finish("a");
    await rig.clock.advance(999);
    assert.deepEqual(rig.running, ["b"]);
    await rig.clock.advance(1);
    assert.deepEqual(rig.listener.ends, ["a success", "b timeout"]);
  });

  test("counts the time in which the event loop was busy", async () => {
    const rig = new Rig();
    await rig.enqueue(rig.run("a", { timeoutMs: 1000 }));
    rig.clock.skip(900);
    await rig.clock.advance(100);
    assert.deepEqual(rig.listener.ends, ["a timeout"]);
  });

  test("does not outlive its run", async () => {
    const rig = new Rig();
    await rig.enqueue("a", "b", rig.run("forever", { timeoutMs: Infinity }));
    await rig.clock.advance(1);
    assert.equal(rig.clock.timerCount, 2);
    await rig.finish("a");
    rig.dispatcher.abort(["b"]);
    assert.equal(rig.clock.timerCount, 0);
  });
});

describe("taking back", () => {
  test("withdraw takes back one whose start is being made durable: its job is not called", async () => {
    const rig = new Rig({ poolSize: 1 });
    const confirmed = Promise.withResolvers<void>();
    await rig.enqueue(rig.run("a", { isCautious: true, confirmStart: () => confirmed.promise }));
    assert.deepEqual(rig.running, ["a"]);
    rig.dispatcher.withdraw(["a"]);
    assert.deepEqual(rig.listener.ends, ["a withdrawn"]);
    assert.deepEqual(rig.running, []);
    confirmed.resolve();
    await settle();
    assert.deepEqual(rig.worker.started, []);
  });

  test("withdraw tells of those that had not started and lets the others go on", async () => {
    const rig = new Rig({ poolSize: 1 });
    await rig.enqueue("a", "b", "c");
    rig.dispatcher.withdraw(["a", "b", "unknown"]);
    assert.deepEqual(rig.listener.ends, ["b withdrawn"]);
    await rig.finish("a");
    assert.deepEqual(rig.running, ["c"]);
    assert.deepEqual(rig.listener.ends, ["b withdrawn", "a success"]);
  });

  test("abort drops those that wait, stops those that run, frees the slot at once and tells nothing", async () => {
    const rig = new Rig({ poolSize: 1 });
    await rig.enqueue("a", "b", "c");
    const { abort } = rig.worker.call("a");
    rig.dispatcher.abort(["a", "b", "unknown"]);
    assert.equal(abort.aborted, true);
    assert.equal((abort.signal.reason as Error).name, "AbortError");
    await settle();
    assert.deepEqual(rig.running, ["c"]);
    await rig.finish("a");
    assert.deepEqual(rig.listener.ends, []);
    assert.equal(rig.dispatcher.status.lateReports, 1);
  });

  test("an attempt that was aborted may come again beside its own late end", async () => {
    const rig = new Rig();
    await rig.enqueue("a");
    const first = rig.worker.call("a");
    rig.dispatcher.abort(["a"]);
    await rig.enqueue("a");
    first.resolve({ kind: "lost" });
    await settle();
    assert.deepEqual(rig.running, ["a"]);
    await rig.finish("a");
    assert.deepEqual(rig.listener.ends, ["a success"]);
  });

  test("an owner may abort in the very moment it hears of the start", async () => {
    const rig = new Rig();
    rig.listener.onStarted = (run) => rig.dispatcher.abort([run.attemptId]);
    let confirmed = false;
    const confirmStart = (): Promise<void> => {
      confirmed = true;
      return Promise.resolve();
    };
    await rig.enqueue("a", rig.run("b", { isCautious: true, confirmStart }));
    assert.deepEqual(
      [rig.worker.started, rig.running, confirmed],
      [["a"], [], false],
      "only a cautious start comes first",
    );
  });
});

describe("suspects", () => {
  const twice = { interruptions: 2 };

  test("run one at a time, in whatever domain; others are not held up", async () => {
    const rig = new Rig({ domains: { data: { size: 2, priority: 1 } } });
    await rig.enqueue(rig.run("s1", twice), rig.run("s2", { ...twice, domain: "data" }), rig.run("s3", twice), "a");
    assert.deepEqual(rig.running, ["s2", "a"]);
    assert.match(rig.dispatcher.status.waitOf("s1")?.text ?? "", /^s2, because both were lost, this one 2 times/);
    rig.dispatcher.abort(["s2"]);
    await settle();
    assert.deepEqual(rig.running, ["a", "s1"]);
    await rig.finish("s1", { kind: "lost" });
    assert.deepEqual(rig.running, ["a", "s3"]);
  });

  test("are runs that were lost twice, not once", async () => {
    const rig = new Rig();
    await rig.enqueue(rig.run("a", { interruptions: 1 }), rig.run("b", { interruptions: 1 }));
    assert.deepEqual(rig.running, ["a", "b"]);
  });

  test("do not meet those that may have killed the process too", async () => {
    const rig = new Rig();
    await rig.enqueue(
      rig.run("s", twice),
      rig.run("once", { interruptions: 1 }),
      rig.run("cautious", { isCautious: true }),
      "a",
    );
    assert.deepEqual(rig.running, ["once", "cautious", "a"]);
    assert.match(rig.dispatcher.status.waitOf("s")?.text ?? "", /which run alone for a moment/);
    await rig.finish("once");
    await rig.finish("cautious");
    assert.deepEqual(rig.running, ["a", "s"]);
    await rig.enqueue(rig.run("again", { interruptions: 1 }), "b");
    assert.deepEqual(rig.running, ["a", "s", "b"]);
    assert.match(rig.dispatcher.status.waitOf("again")?.text ?? "", /^s, because both were lost, this one 1 times/);
    await rig.finish("s");
    assert.deepEqual(rig.running, ["a", "b", "again"]);
  });

  test("wait for those no longer than until they are seen to live", async () => {
    const rig = new Rig();
    await rig.enqueue(rig.run("once", { interruptions: 1 }), rig.run("s", twice));
    await rig.clock.advance(1500);
    assert.deepEqual(rig.running, ["once"]);
    await rig.clock.advance(1000);
    assert.deepEqual(rig.running, ["once", "s"]);
  });

  test("hold up those that were lost for a minute at most: what waits may be what they wait for", async () => {
    const rig = new Rig();
    await rig.enqueue(rig.run("hangs", { ...twice, timeoutMs: Infinity }));
    await rig.enqueue(rig.run("once", { interruptions: 1 }), rig.run("s", twice));
    await rig.clock.advance(59_000);
    assert.deepEqual(rig.running, ["hangs"]);
    await rig.clock.advance(2000);
    assert.deepEqual(rig.running, ["hangs", "once"]);
    await rig.clock.advance(2500);
    assert.deepEqual(
      rig.running,
      ["hangs", "once", "s"],
      "the other suspect starts when that one is not young any more",
    );
    await rig.enqueue(rig.run("later", { interruptions: 1 }));
    assert.match(rig.dispatcher.status.waitOf("later")?.text ?? "", /^s, because/);
    await rig.finish("s");
    assert.deepEqual(rig.running, ["hangs", "once", "later"]);
  });

  test("on their last chance start among nothing young, and have their first moments to themselves", async () => {
    const rig = new Rig({ domains: { data: { size: 2, priority: 1 } } });
    await rig.enqueue("a", rig.run("last", { interruptions: 3, isLastTry: true }), rig.run("b", { domain: "data" }));
    await rig.enqueue("c");
    assert.deepEqual(rig.running, ["last"]);
    assert.match(rig.dispatcher.status.waitOf("c")?.text ?? "", /which run alone for a moment/);
    await rig.clock.advance(2500);
    assert.deepEqual(rig.running, ["last", "b", "a", "c"]);
    await rig.enqueue(rig.run("next", { interruptions: 3, isLastTry: true }));
    await rig.finish("last");
    await rig.enqueue("d");
    assert.deepEqual(rig.running, ["b", "a", "c"]);
    await rig.clock.advance(2500);
    assert.deepEqual(rig.running, ["b", "a", "c", "next"]);
    await rig.finish("next");
    assert.deepEqual(rig.running, ["b", "a", "c", "d"]);
  });
});

describe("a start that is to be confirmed", () => {
  const isCautious = true;

  test("holds its slot, and the job waits for it; the timeout does not count yet", async () => {
    const rig = new Rig({ poolSize: 1 });
    const { promise, resolve } = Promise.withResolvers<void>();
    await rig.enqueue(rig.run("a", { isCautious, confirmStart: () => promise, timeoutMs: 1000 }), "b");
    await rig.clock.advance(5000);
    assert.deepEqual([rig.running, rig.worker.started, rig.listener.heard], [["a"], [], ["a started"]]);
    resolve();
    await settle();
    assert.deepEqual(rig.worker.started, ["a"]);
    await rig.clock.advance(999);
    assert.deepEqual(rig.listener.ends, []);
    await rig.clock.advance(1);
    assert.deepEqual(rig.listener.ends, ["a timeout"]);
  });

  test("and is not, frees the slot and runs nothing", async () => {
    const rig = new Rig({ poolSize: 1 });
    await rig.enqueue(
      rig.run("a", { isCautious, confirmStart: () => Promise.reject(new Error("store is away")) }),
      "b",
    );
    assert.deepEqual([rig.running, rig.worker.started, rig.listener.ends], [["b"], ["b"], []]);
    assert.match(rig.log.lines[0]?.message ?? "", /start was not confirmed/);
  });

  for (const way of ["resolves", "rejects"] as const) {
    test(`runs nothing if it was aborted before the answer, which then ${way}`, async () => {
      const rig = new Rig({ poolSize: 1 });
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      await rig.enqueue(rig.run("a", { isCautious, confirmStart: () => promise }), "b");
      rig.dispatcher.abort(["a"]);
      if (way === "resolves") resolve();
      else reject(new Error("too late"));
      await settle();
      assert.deepEqual([rig.running, rig.worker.started], [["b"], ["b"]]);
    });
  }
});

describe("a run whose job no worker knows", () => {
  test("waits visibly, without a slot, until the job is announced", async () => {
    const rig = new Rig({ poolSize: 1 });
    rig.worker.missing.add("ghost");
    await rig.enqueue(rig.run("a", { job: "ghost" }), rig.run("b", { job: "ghost" }), "c");
    assert.deepEqual([rig.running, rig.waiting], [["c"], ["a", "b"]]);
    assert.equal(rig.dispatcher.status.waitOf("a")?.text, "job ghost, which is not registered on any worker");
    assert.equal(rig.dispatcher.status.waitOf("c")?.text, undefined);
    assert.equal(rig.log.lines.length, 1);
    rig.dispatcher.onJobsChanged();
    await rig.finish("c");
    assert.deepEqual(rig.running, []);
    rig.worker.missing.clear();
    rig.dispatcher.onJobsChanged();
    await settle();
    assert.deepEqual([rig.running, rig.waiting], [["a"], ["b"]]);
  });

  test("can be withdrawn and aborted", async () => {
    const rig = new Rig();
    rig.worker.missing.add("job");
    await rig.enqueue("a", "b");
    rig.dispatcher.withdraw(["a"]);
    rig.dispatcher.abort(["b"]);
    rig.worker.missing.clear();
    rig.dispatcher.onJobsChanged();
    await settle();
    assert.deepEqual([rig.worker.started, rig.listener.heard, rig.waiting], [[], ["a withdrawn"], []]);
  });
});

describe("a worker that misbehaves", () => {
  const failed = (message: string): Outcome => ({
    kind: "failure",
    failure: { type: "Error", message: `the worker failed: ${message}`, retryable: true },
  });

  test("by throwing is a failure, told once", async () => {
    const rig = new Rig({ poolSize: 1 });
    rig.worker.answer = () => {
      throw new Error("boom");
    };
    await rig.enqueue("a", "b");
    assert.deepEqual(rig.listener.ends, ["a failure", "b failure"]);
    assert.deepEqual(rig.listener.outcomes.get("a"), failed("boom"));
  });

  test("by rejecting is a failure, told once", async () => {
    const rig = new Rig({ poolSize: 1 });
    await rig.enqueue("a");
    // A job may reject with anything; so may a worker that is broken.
    rig.worker.call("a").reject("no error at all");
    await settle();
    assert.deepEqual(rig.listener.outcomes.get("a"), failed("no error at all"));
    assert.deepEqual(rig.listener.ends, ["a failure"]);
  });

  test("by answering nothing is a failure", async () => {
    const rig = new Rig({ poolSize: 1 });
    rig.worker.execute = () => undefined as unknown as Outcome;
    await rig.enqueue("a");
    assert.deepEqual(rig.listener.ends, ["a failure"]);
  });

  test("by settling twice is heard once", async () => {
    const rig = new Rig({ poolSize: 1 });
    const twice = {
      // oxlint-disable-next-line unicorn/no-thenable -- the very thing under test
      then: (settled: (outcome: Outcome) => void) => {
        settled(success);
        settled({ kind: "lost" });
        throw new Error("and once more");
      },
    };
    rig.worker.answer = () => twice as unknown as Promise<Outcome>;
    await rig.enqueue("a");
    assert.deepEqual(rig.listener.ends, ["a success"]);
    assert.equal(rig.dispatcher.status.runningCount, 0);
  });

  test("an owner that throws costs no slot and stops no neighbour", async () => {
    const rig = new Rig({ poolSize: 1 });
    rig.listener.onEnded = () => {
      throw new Error("owner's bug");
    };
    rig.worker.answer = () => success;
    await rig.enqueue("a", "b");
    assert.deepEqual(rig.worker.started, ["a", "b"]);
    assert.equal(rig.log.lines.length, 2);
  });
});

describe("submit", () => {
  test("is refused when the queue is full; enqueue is not", async () => {
    const rig = new Rig({ poolSize: 1, queueMax: 2 });
    await rig.enqueue("running");
    rig.dispatcher.submit(rig.run("b"));
    rig.dispatcher.submit(rig.run("c"));
    assert.throws(
      () => rig.dispatcher.submit(rig.run("d")),
      (error) => hasCode(error, "QUEUE_FULL") && /2 tasks wait, at most 2/.test(error.message),
    );
    rig.dispatcher.enqueue(rig.run("e"));
    assert.equal(rig.dispatcher.status.waitingCount, 3);
  });

  test("is refused for an unknown domain", () => {
    const rig = new Rig();
    const act = (): void => rig.dispatcher.submit(rig.run("a", { domain: "nowhere" }));
    assert.throws(act, (error) => hasCode(error, "DOMAIN_UNKNOWN"));
  });
});

describe("pausing the dispatch", () => {
  test("lets what runs go on and starts nothing", async () => {
    const rig = new Rig({ poolSize: 1 });
    await rig.enqueue("a", "b");
    rig.dispatcher.pauseDispatch();
    await rig.finish("a");
    assert.deepEqual([rig.running, rig.listener.ends], [[], ["a success"]]);
    assert.equal(rig.dispatcher.status.waitOf("b")?.text, "the engine, which has stopped taking work");
    rig.dispatcher.resumeDispatch();
    await settle();
    assert.deepEqual(rig.running, ["b"]);
  });
});

test("jobs that end at once leave the event loop its share", async () => {
  const rig = new Rig({ poolSize: 1 });
  rig.worker.answer = () => {
    rig.clock.skip(2);
    return success;
  };
  await rig.enqueue("a", "b", "c", "d", "e", "f", "g", "h");
  assert.deepEqual(rig.listener.ends.length, 3);
  await rig.clock.advance(0);
  assert.deepEqual(rig.listener.ends.length, 8);
});

describe("shutdown", () => {
  test("aborts what runs, empties the queue, tells nothing and waits for the jobs", async () => {
    const rig = new Rig({ poolSize: 1 });
    await rig.enqueue("a", "b");
    let over = false;
    const done = rig.dispatcher.shutdown().then(() => (over = true));
    assert.equal(rig.worker.call("a").abort.aborted, true);
    await settle();
    assert.deepEqual([over, rig.running, rig.waiting], [false, [], []]);
    await rig.finish("a");
    await done;
    assert.equal(rig.worker.stopped, true);
    assert.deepEqual(rig.listener.ends, []);
    assert.equal(rig.clock.timerCount, 0);
  });

  test("leaves a job behind that does not settle within the grace", async () => {
    const rig = new Rig();
    await rig.enqueue("stubborn");
    const done = rig.dispatcher.shutdown();
    await rig.clock.advance(5000);
    await done;
    assert.deepEqual(rig.log.lines[0]?.fields, { tasks: ["stubborn"] });
  });

  test("is refused the second time, submit after it too, and enqueue is ignored", async () => {
    const rig = new Rig();
    await rig.dispatcher.shutdown();
    await assert.rejects(rig.dispatcher.shutdown(), (error) => hasCode(error, "EXECUTOR_SHUT_DOWN"));
    assert.throws(
      () => rig.dispatcher.submit(rig.run("a")),
      (error) => hasCode(error, "EXECUTOR_SHUT_DOWN"),
    );
    await rig.enqueue("a");
    rig.dispatcher.resumeDispatch();
    await settle();
    assert.deepEqual([rig.waiting, rig.worker.started], [[], []]);
  });
});
