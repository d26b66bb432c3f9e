import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import type { TaskProgress } from "../dispatch/task-progress.ts";
import type { TaskWait } from "../dispatch/wait-reason.ts";
import type { Clock } from "../base/clock.ts";
import { EngineError } from "../base/error.ts";
import { type Logger, silentLogger } from "../base/logger.ts";
import { defaultTimings, ownPatience } from "../cluster/timings.ts";
import type { Input } from "./input.ts";
import { SeededRandom } from "../testing.ts";
import { TestClock } from "../testing/test-clock.ts";
import type { Call, Hint } from "./call.ts";
import { decodeCall, decodeResult } from "./call-codec.ts";
import { HostedAttempts, noHosting } from "./hosted-attempts.ts";

const { workerBeatMs, workerLostMs } = defaultTimings;
const leaseMs = ownPatience * workerLostMs;

/** A call that waits for the test to answer it. */
interface Asked {
  readonly shard: number;
  readonly call: Call;
  readonly timeoutMs: number;
  readonly answer: (value?: unknown) => void;
  readonly fail: (error: Error) => void;
}

/** As much of a dispatcher as concerns attempts that run for others. */
class FakeDispatcher {
  readonly running = new Set<string>();
  readonly waiting = new Set<string>();
  readonly aborted: string[] = [];
  readonly givenUp: string[] = [];
  readonly progress = new Map<string, TaskProgress>();
  readonly heartbeats = new Map<string, string>();

  readonly status = {
    isReachable: (attemptId: string): boolean => this.running.has(attemptId),
    isRunning: (attemptId: string): boolean => this.running.has(attemptId),
    connectionOf: (): undefined => undefined,
    progressOf: (attemptId: string): TaskProgress | undefined => this.progress.get(attemptId),
    heartbeatOf: (attemptId: string) => this.heartbeats.get(attemptId),
    waitOf: (attemptId: string): TaskWait | undefined => {
      return this.waiting.has(attemptId) ? { reason: "slot", text: "a slot" } : undefined;
    },
  };

  abort(attemptIds: Iterable<string>): void {
    for (const id of attemptIds) {
      this.running.delete(id);
      this.aborted.push(id);
    }
  }

  giveUpExpired(attemptIds: Iterable<string>): void {
    for (const id of attemptIds) {
      this.running.delete(id);
      this.givenUp.push(id);
    }
  }
}

class Rig {
  readonly dispatcher = new FakeDispatcher();
  readonly asked: Asked[] = [];
  readonly hints: { member: string; hint: Hint }[] = [];
  readonly hostedAttempts: HostedAttempts;
  /** Carries calls, unless the test answers them itself. */
  onCall: ((asked: Asked) => void) | undefined;

  constructor(clock: Clock, logger: Logger = silentLogger) {
    this.hostedAttempts = new HostedAttempts({
      clock,
      logger,
      timings: defaultTimings,
      dispatcher: this.dispatcher,
      member: () => "me",
      members: { isLiving: (member) => member === "you", hasLeft: () => false, hasSeen: () => true },
      shardOf: (id) => Number(id.slice(1)),
      call: async (shard, call, timeoutMs) =>
        decodeResult(call.type, await this.#ask(shard, decodeCall(call), timeoutMs)),
      renew: async (shard, renewal, timeoutMs) =>
        decodeResult("RenewAttempts", await this.#ask(shard, decodeCall(renewal), timeoutMs)),
      hint: (member, hint) => void this.hints.push({ member, hint }),
      hintOwner: (shard, hint) => void this.hints.push({ member: `owner of ${shard}`, hint }),
      onProgress: () => assert.fail("nothing is owned here"),
      findMissing: async () => [],
    });
  }

  /** They run, and their shard moves. */
  keep(shard: number, ...attemptIds: readonly string[]): void {
    for (const id of attemptIds) this.dispatcher.running.add(id);
    this.hostedAttempts.add(shard, attemptIds);
  }

  /** The questions since the last look: the shard and what it was asked about. */
  questions(): string[] {
    return this.asked.splice(0).map(({ shard, call }) => {
      return `${shard}: ${call.type === "RenewAttempts" ? `${call.host} ${call.attemptIds.join(" ")}` : call.type}`;
    });
  }

  #ask(shard: number, call: Call, timeoutMs: number): Promise<unknown> {
    const { promise, resolve: answer, reject: fail } = Promise.withResolvers<unknown>();
    const asked: Asked = { shard, call, timeoutMs, answer, fail };
    this.asked.push(asked);
    this.onCall?.(asked);
    return promise;
  }
}

describe("attempts that are hosted for other owners", () => {
  let clock: TestClock;
  let rig: Rig;

  beforeEach(() => {
    clock = new TestClock();
    rig = new Rig(clock);
    rig.hostedAttempts.start();
  });

  function last(): Asked {
    const asked = rig.asked.at(-1);
    assert.ok(asked);
    return asked;
  }

  test("are told to their owners at every beat, by shard", async () => {
    await clock.advance(workerBeatMs);
    assert.deepEqual(rig.questions(), [], "of none, nothing is said");
    rig.keep(3, "a", "b");
    rig.keep(5, "c");
    await clock.advance(workerBeatMs - 1);
    assert.deepEqual(rig.questions(), []);
    await clock.advance(1);
    assert.deepEqual(rig.questions(), ["3: me a b", "5: me c"]);
    await clock.advance(workerBeatMs);
    assert.deepEqual(rig.questions(), ["3: me a b", "5: me c"]);
  });

  test("are told to their owners with their progress, the last report twice a second, and again with each renewal", async () => {
    rig.keep(3, "a");
    const say = (fraction: number): boolean => {
      rig.dispatcher.progress.set("a", { fraction });
      return rig.hostedAttempts.tellProgress("a", { fraction });
    };
    assert.equal(rig.hostedAttempts.tellProgress("own", { fraction: 1 }), false);
    for (const fraction of [0.1, 0.2, 0.3]) assert.equal(say(fraction), true);
    await clock.advance(500);
    say(0.4);
    await clock.advance(5000);
    const told = [0.1, 0.3, 0.4].map((fraction) => {
      const hint = { type: "AttemptProgress", host: "me", reports: [{ attemptId: "a", progress: { fraction } }] };
      return { member: "owner of 3", hint };
    });
    assert.deepEqual(rig.hints, told);
    await clock.advance(workerBeatMs);
    const { call } = last();
    assert.deepEqual(call.type === "RenewAttempts" && call.progress, { a: { fraction: 0.4 } });
    rig.hostedAttempts.stop();
    assert.equal(clock.timerCount, 0);
  });

  test("keep running while an owner renews their leases", async () => {
    rig.keep(3, "a");
    rig.onCall = ({ answer }) => answer([]);
    await clock.advance(100 * workerLostMs);
    assert.deepEqual(rig.dispatcher.aborted, []);
  });

  test("are stopped when their owner does not want them, and the others are not", async () => {
    rig.keep(3, "a", "b", "c");
    await clock.advance(workerBeatMs);
    last().answer(["b", "never heard of"]);
    await clock.settle();
    assert.deepEqual(rig.dispatcher.aborted, ["b"]);
    rig.questions();
    await clock.advance(workerBeatMs);
    assert.deepEqual(rig.questions(), ["3: me a c"]);
  });

  test("are given up when their lease expires, to the moment", async () => {
    await clock.advance(3333);
    rig.keep(3, "a");
    await clock.advance(leaseMs - 1);
    assert.deepEqual(rig.dispatcher.givenUp, []);
    await clock.advance(1);
    assert.deepEqual([rig.dispatcher.givenUp, rig.dispatcher.aborted], [["a"], []]);
    rig.questions();
    await clock.advance(workerLostMs);
    assert.deepEqual(rig.questions(), []);
  });

  test("count their lease from the request, however late its answer comes", async () => {
    rig.keep(3, "a");
    await clock.advance(workerBeatMs);
    const question = last();
    await clock.advance(workerBeatMs - 1);
    question.answer([]);
    await clock.advance(leaseMs - workerBeatMs);
    assert.deepEqual(rig.dispatcher.givenUp, []);
    await clock.advance(1);
    assert.deepEqual(rig.dispatcher.givenUp, ["a"]);
  });

  test("a question that fails is no answer", async () => {
    rig.keep(3, "a");
    rig.onCall = ({ fail, timeoutMs }) => {
      assert.equal(timeoutMs, workerBeatMs, "the next one says it again");
      fail(new EngineError("CALL_UNANSWERED", "nobody is there"));
    };
    await clock.advance(leaseMs - 1);
    assert.deepEqual(rig.dispatcher.givenUp, []);
    await clock.advance(1);
    assert.deepEqual(rig.dispatcher.givenUp, ["a"]);
  });

  test("that are not here any more are not said to be: their worker has taken them along", async () => {
    rig.keep(3, "a", "b", "c");
    rig.dispatcher.running.delete("a");
    rig.dispatcher.running.delete("b");
    rig.dispatcher.waiting.add("b");
    await clock.advance(workerBeatMs);
    assert.deepEqual(rig.questions(), ["3: me b c"], "one that waits again for a worker is still here");
  });

  test("are this member's own again when their shard comes back", async () => {
    rig.keep(3, "a");
    await clock.advance(workerBeatMs);
    rig.hostedAttempts.reclaim("a");
    last().answer(["a"]);
    await clock.advance(workerLostMs);
    assert.deepEqual(rig.dispatcher.aborted, [], "the last owner's word is nothing any more");
    rig.hostedAttempts.drop(["a"]);
    assert.deepEqual(rig.dispatcher.aborted, [], "nor is a hint that comes late");
  });

  test("are nothing to a member that is gone", async () => {
    rig.keep(3, "a");
    await clock.advance(workerBeatMs);
    const question = last();
    rig.hostedAttempts.clear();
    rig.keep(4, "a");
    question.answer(["a"]);
    await clock.settle();
    assert.deepEqual(rig.dispatcher.aborted, [], "the answer was to the member it was before");
    rig.questions();
    await clock.advance(workerBeatMs);
    assert.deepEqual(rig.questions(), ["4: me a"]);
  });

  test("nothing is asked and nothing is stopped after the end", async () => {
    rig.keep(3, "a");
    await clock.advance(workerBeatMs);
    rig.questions();
    rig.hostedAttempts.stop();
    assert.equal(clock.timerCount, 0);
    await clock.advance(workerLostMs);
    assert.deepEqual([rig.questions(), rig.dispatcher.aborted], [[], []]);
  });

  test("are stopped by whoever holds them: this member, or another by a hint", () => {
    rig.keep(3, "a", "b");
    rig.hostedAttempts.abort("me", ["a"]);
    rig.hostedAttempts.abort("you", ["c", "d"]);
    assert.deepEqual(rig.dispatcher.aborted, ["a"]);
    assert.deepEqual(rig.hints, [{ member: "you", hint: { type: "AbortAttempts", attemptIds: ["c", "d"] } }]);
  });
});

describe("the end of an attempt that was hosted for another owner", () => {
  const input: Input = {
    type: "AttemptEnded",
    task: 0,
    attempt: 1,
    generation: 1,
    outcome: { kind: "success", output: "1" },
  };
  const run = { attemptId: "a", instanceId: "i3" };
  let clock: TestClock;
  let rig: Rig;
  let warnings: string[];
  let heard: number;

  beforeEach(() => {
    clock = new TestClock();
    warnings = [];
    heard = 0;
    rig = new Rig(clock, { ...silentLogger, warn: (_, message) => void warnings.push(message) });
    rig.hostedAttempts.start();
    rig.keep(3, "a");
  });

  function report(): Asked {
    rig.dispatcher.running.delete("a");
    rig.hostedAttempts.report(run, input, () => void heard++);
    const asked = rig.asked.at(-1);
    assert.ok(asked);
    return asked;
  }

  test("is reported to its instance's shard, for as long as it takes", async () => {
    const { shard, call, timeoutMs, answer } = report();
    assert.deepEqual([shard, timeoutMs], [3, Infinity]);
    assert.deepEqual(call, { type: "ReportAttempt", host: "me", attemptId: "a", id: "i3", input });
    assert.deepEqual([rig.hostedAttempts.isReporting("a"), heard], [true, 0]);
    await clock.advance(workerBeatMs);
    assert.equal(heard, 0);
    answer();
    await clock.settle();
    assert.deepEqual([rig.hostedAttempts.isReporting("a"), heard], [false, 1]);
  });

  test("until it is heard, its owner hears that it is held here, so that nobody runs it again", async () => {
    const { answer } = report();
    rig.questions();
    await clock.advance(workerBeatMs);
    assert.deepEqual(rig.questions(), ["3: me a"]);
    answer();
    await clock.advance(workerBeatMs);
    assert.deepEqual(rig.questions(), []);
  });

  test("is done with when its instance is not there any more", async () => {
    report().fail(new EngineError("INSTANCE_UNKNOWN", "no such instance"));
    await clock.settle();
    assert.deepEqual([rig.hostedAttempts.isReporting("a"), heard, warnings.length], [false, 1, 0]);
  });

  test("is said again to an owner that cannot tell yet whether it wants it, as long as this member lives", async () => {
    report().fail(new EngineError("CALL_UNANSWERED", "who is that"));
    await clock.settle();
    assert.deepEqual([rig.hostedAttempts.isReporting("a"), heard], [true, 0]);
    await clock.advance(defaultTimings.beatMs);
    assert.equal(rig.asked.length, 2);
    rig.asked[1]?.fail(new EngineError("STORE_UNAVAILABLE", "away"));
    await clock.settle();
    rig.hostedAttempts.clear();
    await clock.advance(workerLostMs);
    assert.deepEqual([rig.asked.length, heard], [2, 0]);
  });

  test("is not reported if only its worker is lost here: another member may have that by now", () => {
    const lost: Input = { ...input, outcome: { kind: "lost" } };
    rig.hostedAttempts.report(run, { ...lost, worker: "me/gpu" }, () => void heard++);
    assert.deepEqual([rig.asked.length, heard], [0, 0]);
    rig.hostedAttempts.report(run, { ...lost, worker: "me" }, () => void heard++);
    assert.equal(rig.asked.length, 1, "what this member ran itself is lost for certain");
  });

  test("is awaited at a stop until it is delivered, for the grace period at most", async () => {
    let isOver = false;
    const wait = (): void => void rig.hostedAttempts.whenReported(500).then(() => (isOver = true));
    const { answer } = report();
    wait();
    await clock.advance(499);
    assert.equal(isOver, false);
    answer();
    await clock.settle();
    assert.equal(isOver, true);
    isOver = false;
    report();
    wait();
    await clock.advance(499);
    assert.equal(isOver, false);
    await clock.advance(1);
    assert.equal(isOver, true);
  });

  test("is not awaited at a stop if there is none", async () => {
    await rig.hostedAttempts.whenReported(500);
    rig.hostedAttempts.stop();
    assert.equal(clock.timerCount, 0);
  });

  test("that nobody could be told of is not done with when this member stops", async () => {
    const { fail } = report();
    rig.hostedAttempts.stop();
    fail(new EngineError("ENGINE_STATE", "the engine was stopped"));
    await clock.settle();
    assert.deepEqual([heard, clock.timerCount], [0, 0]);
  });

  test("that its owner refuses is done with too, and is in the log", async () => {
    report().fail(new EngineError("INSTANCE_QUARANTINED", "out of service"));
    await clock.settle();
    assert.deepEqual([rig.hostedAttempts.isReporting("a"), heard, warnings.length], [false, 1, 1]);
  });

  test("of a member that is gone by the time of the answer changes nothing for the one it is now", async () => {
    const { answer } = report();
    rig.hostedAttempts.clear();
    rig.keep(4, "a");
    rig.questions();
    answer();
    await clock.advance(workerBeatMs);
    assert.deepEqual(rig.questions(), ["4: me a"]);
  });

  test("leaves the next run of the attempt alone, which is this member's own, when the lease of the report expires", async () => {
    report();
    rig.dispatcher.running.add("a");
    await clock.advance(workerLostMs);
    assert.deepEqual([rig.dispatcher.givenUp, rig.dispatcher.aborted], [[], []]);
    assert.equal(rig.hostedAttempts.isReporting("a"), false, "the report itself is not waited for any longer");
  });

  test("is undelivered until its owner has it, however long there is none", async () => {
    const { answer } = report();
    await clock.advance(2 * workerLostMs);
    assert.deepEqual([rig.hostedAttempts.isReporting("a"), rig.hostedAttempts.hasUndelivered("a")], [false, true]);
    assert.equal(rig.hostedAttempts.hasUndelivered("b"), false);
    answer();
    await clock.settle();
    assert.equal(rig.hostedAttempts.hasUndelivered("a"), false);
  });

  test("leaves the lease to the next run, which is hosted here too, when it is delivered", async () => {
    const { answer } = report();
    rig.keep(3, "a");
    answer();
    await clock.settle();
    rig.questions();
    await clock.advance(workerBeatMs);
    assert.deepEqual(rig.questions(), ["3: me a"]);
    await clock.advance(leaseMs);
    assert.deepEqual(rig.dispatcher.givenUp, ["a"], "without renewals the next run is given up like any other");
  });

  test("that is not wanted any more stops no later run of the attempt", async () => {
    report();
    await clock.advance(workerBeatMs);
    const question = rig.asked.at(-1);
    rig.keep(3, "a");
    question?.answer(["a"]);
    await clock.settle();
    assert.deepEqual([rig.dispatcher.aborted, rig.hostedAttempts.isReporting("a")], [[], false]);
    rig.questions();
    await clock.advance(workerBeatMs);
    assert.deepEqual(rig.questions(), ["3: me a"]);
  });
});

test("where there is one member alone, nobody else holds anything", () => {
  assert.deepEqual(
    [noHosting.isLiving("x"), noHosting.hasLeft("x"), noHosting.isReporting("a"), noHosting.hasSeen(0)],
    [false, false, false, true],
  );
  noHosting.add(1, ["a"]);
  noHosting.reclaim("a");
  noHosting.abort("x", ["a"]);
});

/** The same moments as another clock's, by a clock that runs too fast or too slow. */
function drifting(clock: Clock, rate: number): Clock {
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic() * rate,
    after: (delayMs, callback) => clock.after(delayMs / rate, callback),
    soon: (callback) => clock.soon(callback),
  };
}

describe("a host and an owner who do not hear each other", () => {
  for (let seed = 1; seed <= 40; seed++) {
    test(`the host gives up before the owner does, by clocks that are five percent apart: chance ${seed}`, async () => {
      const random = new SeededRandom(seed);
      const clock = new TestClock();
      const [slow, fast] = [drifting(clock, 0.95), drifting(clock, 1.05)];
      const rig = new Rig(slow);
      let heardAt = fast.monotonic();
      /** Answers after a while, and has heard somewhat before. Most questions are lost. */
      rig.onCall = ({ answer, fail, timeoutMs }) => {
        const wayMs = random.next() * timeoutMs;
        if (random.next() < 0.8) slow.after(timeoutMs, () => fail(new Error("unanswered")));
        else {
          clock.after(wayMs / 2, () => (heardAt = fast.monotonic()));
          clock.after(wayMs, () => answer([]));
        }
      };
      await clock.advance(Math.floor(random.next() * workerBeatMs));
      rig.hostedAttempts.start();
      await clock.advance(Math.floor(random.next() * workerBeatMs));
      rig.keep(3, "a");
      heardAt = fast.monotonic();
      while (fast.monotonic() - heardAt < workerLostMs) await clock.advance(100);
      assert.deepEqual(rig.dispatcher.givenUp, ["a"], "an attempt that is declared lost runs nowhere");
      rig.hostedAttempts.stop();
    });
  }
});
