import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { defineJob, type Job, type JobContext } from "../authoring/job.ts";
import { TaskBuilder } from "../authoring/task-builder.ts";
import { defaultTimings, ownPatience } from "../cluster/timings.ts";
import { describeAttempt } from "../dispatch/attempt-descriptor.ts";
import { HandClock, makeRun, RecordingListener, settle } from "../dispatch/dispatcher.rig.ts";
import type { Link, LinkListener } from "../dispatch/link.ts";
import {
  formatMessage,
  type Grant,
  type MemberMessage,
  type RunningAttempt,
  type LeaseRenewal,
  type WorkerMessage,
  type Welcome,
} from "../dispatch/session-message.ts";
import { parseWorkerMessage } from "../dispatch/session-schema.ts";
import type { TaskRun } from "../dispatch/task-run.ts";
import { SeededRandom } from "../testing/seeded-random.ts";
import { Backoff } from "../base/backoff.ts";
import { GrantWindow } from "./grant-window.ts";
import { RemoteWorker, type RemoteWorkerOptions } from "./remote-worker.ts";
import { LogBook } from "../testing/log-book.rig.ts";

const { workerBeatMs, workerLostMs } = defaultTimings;
const leaseMs = ownPatience * workerLostMs;

/** The member's end of a link, in the hands of the test. */
class MemberLink implements Link {
  readonly listener: LinkListener;
  readonly heard: WorkerMessage[] = [];
  isClosed = false;

  constructor(listener: LinkListener) {
    this.listener = listener;
  }

  send(text: string): void {
    const message = parseWorkerMessage(text);
    assert.ok(!this.isClosed);
    this.heard.push(message);
  }

  close(): void {
    this.isClosed = true;
  }

  say(message: MemberMessage): void {
    this.listener.receive(formatMessage(message));
  }

  /** Of one type, taken out. */
  take<T extends WorkerMessage["type"]>(type: T): Extract<WorkerMessage, { type: T }>[] {
    const taken = this.heard.filter((message) => message.type === type);
    for (const message of taken) this.heard.splice(this.heard.indexOf(message), 1);
    return taken as Extract<WorkerMessage, { type: T }>[];
  }

  last<T extends WorkerMessage["type"]>(type: T): Extract<WorkerMessage, { type: T }> {
    const message = this.heard.findLast((each) => each.type === type);
    assert.ok(message !== undefined, `a ${type} came`);
    return message as Extract<WorkerMessage, { type: T }>;
  }
}

interface Running {
  readonly ctx: JobContext;
  readonly params: unknown;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** A worker whose jobs end when the test says so, and the members that it comes to. */
class WorkerRig {
  readonly clock = new HandClock();
  readonly log = new LogBook();
  readonly links: MemberLink[] = [];
  readonly running = new Map<string, Running>();
  readonly starts: string[] = [];
  readonly jobs = new Map<string, Job>();
  readonly worker: RemoteWorker;
  /** Whether heartbeats are answered automatically, and not by the test. */
  renews = true;

  constructor(options: Partial<RemoteWorkerOptions> = {}) {
    this.jobs.set(
      "job",
      defineJob("job", (params, ctx) => this.#run(params, ctx)),
    );
    this.jobs.set(
      "quick",
      defineJob("quick", () => "at once"),
    );
    this.worker = new RemoteWorker({
      clock: this.clock,
      random: new SeededRandom(1),
      logger: this.log,
      jobs: this.jobs,
      slots: 2,
      connect: (listener) => this.#connect(listener),
      ...options,
    });
  }

  #connect(listener: LinkListener): Link {
    const link = new MemberLink(listener);
    const send = link.send.bind(link);
    link.send = (text) => {
      send(text);
      if (this.renews) this.clock.soon(() => this.#answer(link));
    };
    this.links.push(link);
    return link;
  }

  #answer(link: MemberLink): void {
    for (const { sequence } of link.take("Hello")) this.welcome(sequence, link);
    for (const { sequence } of link.take("Heartbeat")) this.renew(sequence);
  }

  #run(params: unknown, ctx: JobContext): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.starts.push(ctx.attemptId);
    this.running.set(ctx.attemptId, { ctx, params, resolve, reject });
    return promise;
  }

  get link(): MemberLink {
    return this.links.at(-1)!;
  }

  welcome(sequence: number, link = this.link, given: Partial<Welcome> = {}): void {
    const timings = { beatMs: workerBeatMs, lostMs: workerLostMs };
    const lists = { unwanted: [], undecided: [], renewalAges: [] };
    link.say({ type: "Welcome", welcome: "m/w", sequence, ...timings, ...lists, ...given });
  }

  renew(sequence: number, given: Partial<LeaseRenewal> = {}): void {
    this.link.say({ type: "Renewed", sequence, unwanted: [], undecided: [], renewalAges: [], ...given });
  }

  async start(): Promise<void> {
    this.worker.start();
    await this.clock.advance(0);
  }

  async grant(attemptId: string, grant: number, given: Partial<TaskRun> & Partial<Grant> = {}): Promise<void> {
    const descriptor = describeAttempt(makeRun(new RecordingListener(), attemptId, given), 5000);
    const { params = "{}", fence } = given;
    const inputs = { context: { key: "1" }, outputs: {} };
    this.link.say({ type: "Grant", grant, descriptor, params, inputs, ...(fence === undefined ? {} : { fence }) });
    await settle();
  }

  async finish(attemptId: string, value: unknown = "done"): Promise<void> {
    this.running.get(attemptId)?.resolve(value);
    await settle();
  }
}

async function welcomed(options: Partial<RemoteWorkerOptions> = {}): Promise<WorkerRig> {
  const rig = new WorkerRig(options);
  await rig.start();
  return rig;
}

const success = { kind: "success", output: '"done"' };

describe("a remote worker", () => {
  test("says who it is and what it can do, until it is welcomed", async () => {
    const rig = new WorkerRig();
    rig.renews = false;
    await rig.start();
    await rig.clock.advance(workerBeatMs / 2);
    const hellos = rig.link.take("Hello");
    assert.deepEqual(
      hellos.map(({ sequence }) => sequence),
      [1, 2, 3, 4],
    );
    const { worker: id } = rig;
    assert.deepEqual(hellos[0], {
      type: "Hello",
      worker: id.id,
      sequence: 1,
      lastGrant: 0,
      jobs: ["job", "quick"],
      slots: 2,
      running: [],
      results: [],
    });
    rig.welcome(1);
    assert.equal(rig.worker.isConnected, true);
    await rig.clock.advance(workerBeatMs);
    assert.equal(rig.link.take("Heartbeat").length, 1);
  });

  test("sends no result that its member would refuse each time: the task fails, and says why", async () => {
    const rig = await welcomed();
    await rig.grant("a", 1);
    // Within the limit of an output, and twice as long in a message.
    await rig.finish("a", '"'.repeat(5_000_000));
    const { outcome } = rig.link.last("Result");
    assert.ok(outcome.kind === "failure");
    assert.equal(outcome.failure.type, "OUTPUT_TOO_LARGE");
    assert.match(outcome.failure.message, /20\d{6} bytes in a message/);
    let deep: unknown = 1;
    for (let level = 0; level < 2000; level++) deep = [deep];
    await rig.grant("b", 2);
    await rig.finish("b", deep);
    assert.equal(rig.link.last("Result").outcome.kind, "failure");
  });

  test("says hello with as many results as fit, and sends the others after it", async () => {
    const rig = await welcomed({ slots: 4 });
    for (const [place, id] of ["a", "b", "c", "d"].entries()) {
      await rig.grant(id, place + 1);
      await rig.finish(id, "x".repeat(id === "d" ? 10 : 2_000_000));
    }
    rig.renews = false;
    rig.link.listener.onClosed();
    await rig.clock.advance(workerBeatMs / 2);
    const { running, results, sequence } = rig.link.last("Hello");
    const names = (attempts: readonly RunningAttempt[]): string[] =>
      attempts.map(({ descriptor }) => descriptor.attemptId);
    assert.deepEqual(
      [names(running), names(results)],
      [
        ["b", "c"],
        ["a", "d"],
      ],
    );
    rig.renews = true;
    rig.welcome(sequence);
    await rig.clock.advance(workerBeatMs);
    const sent = new Set(rig.link.take("Result").map(({ attemptId }) => attemptId));
    assert.deepEqual([...sent].toSorted(), ["a", "b", "c", "d"]);
  });

  test("runs what it is granted and reports it until that is acknowledged", async () => {
    const rig = await welcomed();
    await rig.grant("a", 1, { params: '{"x":1}' });
    const { ctx, params } = rig.running.get("a")!;
    assert.deepEqual([params, ctx.attemptId, ctx.context["key"]], [{ x: 1 }, "a", 1]);
    assert.equal(rig.worker.runningCount, 1);
    await rig.finish("a");
    const result = { type: "Result", attemptId: "a", grant: 1, outcome: success, startedAt: 5000 };
    assert.deepEqual(rig.link.take("Result"), [result]);
    await rig.clock.advance(workerBeatMs / 4);
    assert.deepEqual(rig.link.take("Result"), [result]);
    rig.link.say({ type: "Acknowledged", attemptId: "a", grant: 2 });
    await rig.clock.advance(workerBeatMs / 4);
    assert.equal(rig.link.take("Result").length, 1);
    rig.link.say({ type: "Acknowledged", attemptId: "a", grant: 1 });
    await rig.clock.advance(workerBeatMs);
    assert.deepEqual(rig.link.take("Result"), []);
    assert.equal(rig.worker.resultCount, 0);
  });

  test("reports whatever a job does, also at once, also sub-tasks", async () => {
    const rig = await welcomed({ maxSubTasks: 1 });
    rig.jobs.set(
      "parent",
      defineJob("parent", (_, ctx) => {
        ctx.generateSubTask(new TaskBuilder("child").withJobFunction("job").build());
      }),
    );
    await rig.grant("a", 1, { job: "quick" });
    await rig.grant("b", 2, { job: "parent" });
    await rig.grant("c", 3);
    rig.running.get("c")?.reject(new RangeError("no"));
    await settle();
    const outcomes = rig.link.take("Result").map(({ outcome }) => outcome);
    assert.deepEqual(outcomes[0], { kind: "success", output: '"at once"' });
    assert.equal(outcomes[1]?.kind === "success" && outcomes[1].subTasks?.[0]?.nodeName, "child");
    assert.equal(outcomes[2]?.kind === "failure" && outcomes[2].failure.type, "RangeError");
  });

  test("stops an aborted attempt, answers with a refusal and nothing more, and has its slot back at once", async () => {
    const rig = await welcomed({ slots: 1 });
    await rig.grant("a", 1);
    const reason = { name: "EngineError", message: "too long" };
    rig.link.say({ type: "Abort", attemptId: "a", grant: 9, reason });
    const { signal } = rig.running.get("a")!.ctx;
    assert.equal(signal.aborted, false);
    rig.link.say({ type: "Abort", attemptId: "a", grant: 1, reason });
    assert.equal(signal.aborted, true);
    assert.deepEqual([(signal.reason as Error).name, (signal.reason as Error).message], ["EngineError", "too long"]);
    const why = "the task was aborted";
    assert.deepEqual(rig.link.take("Refused"), [
      { type: "Refused", attemptId: "a", grant: 9, why },
      { type: "Refused", attemptId: "a", grant: 1, why },
    ]);
    await rig.grant("b", 2);
    await rig.finish("a");
    assert.deepEqual(rig.link.take("Result"), []);
    assert.deepEqual(rig.starts, ["a", "b"]);
  });

  test("says what it runs and what it has finished, and up to which grant it has seen all it will take", async () => {
    const rig = await welcomed();
    rig.renews = false;
    await rig.grant("a", 1);
    await rig.grant("b", 3, { job: "quick" });
    await rig.clock.advance(workerBeatMs);
    const { lastGrant, running, finished } = rig.link.last("Heartbeat");
    assert.equal(lastGrant, 3);
    assert.deepEqual([running, finished], [[{ attemptId: "a", grant: 1 }], [{ attemptId: "b", grant: 3 }]]);
    await rig.grant("c", 2);
    assert.deepEqual(rig.starts, ["a"]);
  });

  test("announces its jobs again when they change", async () => {
    const rig = await welcomed();
    rig.renews = false;
    rig.jobs.delete("quick");
    rig.worker.onJobsChanged();
    assert.deepEqual(rig.link.last("Hello").jobs, ["job"]);
  });
});

describe("a grant", () => {
  test("that is doubled runs once; if it has ended, its result comes again", async () => {
    const rig = await welcomed();
    await rig.grant("a", 1);
    await rig.grant("a", 1);
    assert.deepEqual(rig.starts, ["a"]);
    await rig.finish("a");
    rig.link.take("Result");
    await rig.grant("a", 1);
    assert.equal(rig.link.take("Result").length, 1);
    rig.link.say({ type: "Acknowledged", attemptId: "a", grant: 1 });
    await rig.grant("a", 1);
    assert.deepEqual([rig.starts, rig.link.take("Result")], [["a"], []]);
  });

  test("of what has ended under another grant is answered with that result", async () => {
    const rig = await welcomed({ slots: 1 });
    await rig.grant("a", 1);
    await rig.finish("a");
    await rig.grant("b", 2);
    rig.link.take("Result");
    await rig.grant("a", 3);
    assert.deepEqual(
      rig.link.take("Result").map(({ attemptId, grant }) => [attemptId, grant]),
      [["a", 3]],
    );
    assert.deepEqual(rig.starts, ["a", "b"]);
  });

  test("is refused for want of a slot or of the job", async () => {
    const rig = await welcomed({ slots: 1 });
    await rig.grant("a", 1);
    await rig.grant("b", 2);
    await rig.finish("a");
    await rig.grant("c", 3, { job: "ghost" });
    assert.deepEqual(rig.link.take("Refused"), [
      { type: "Refused", attemptId: "b", grant: 2, why: "all 1 slots are in use" },
      { type: "Refused", attemptId: "c", grant: 3, why: "the worker has no job ghost" },
    ]);
    await rig.grant("b", 2);
    assert.deepEqual(rig.starts, ["a"]);
  });

  test("from an earlier owner of the shard than one that was heard of is refused, whatever else", async () => {
    const rig = await welcomed({ slots: 5 });
    await rig.grant("a", 1, { fence: { incarnation: 0, shard: 1, epoch: 5 } });
    await rig.grant("b", 2, { fence: { incarnation: 0, shard: 1, epoch: 4 } });
    await rig.grant("c", 3, { fence: { incarnation: 0, shard: 2, epoch: 1 } });
    await rig.grant("d", 4, { fence: { incarnation: 0, shard: 1, epoch: 5 } });
    assert.deepEqual(rig.starts, ["a", "c", "d"]);
    assert.match(rig.link.last("Refused").why, /shard 1 has a later owner: epoch 5, not 4/);
  });

  test("after a restore of the store is taken whatever the epoch, and none from before it any more", async () => {
    const rig = await welcomed({ slots: 5 });
    await rig.grant("a", 1, { fence: { incarnation: 0, shard: 1, epoch: 5 } });
    await rig.grant("b", 2, { fence: { incarnation: 7, shard: 1, epoch: 2 } });
    await rig.grant("c", 3, { fence: { incarnation: 0, shard: 1, epoch: 9 } });
    assert.deepEqual(rig.starts, ["a", "b"]);
    assert.match(rig.link.last("Refused").why, /the store has a later incarnation: 7, not 0/);
  });

  test("of what still runs under another one stops that, and is refused: it may come again", async () => {
    const rig = await welcomed();
    await rig.grant("a", 1);
    const { signal } = rig.running.get("a")!.ctx;
    await rig.grant("a", 2);
    assert.equal(signal.aborted, true);
    assert.match(rig.link.last("Refused").why, /still running/);
    await rig.grant("a", 3);
    assert.deepEqual(rig.starts, ["a", "a"]);
  });

  test("that comes after its own abort does not start", async () => {
    const rig = await welcomed();
    rig.link.say({ type: "Abort", attemptId: "a", grant: 1, reason: { name: "AbortError", message: "stop" } });
    await rig.grant("a", 1);
    assert.deepEqual(rig.starts, []);
  });

  test("that overtakes the welcome is not taken; nor is anything else", async () => {
    const rig = new WorkerRig();
    rig.renews = false;
    await rig.start();
    await rig.grant("a", 1);
    assert.deepEqual(rig.starts, []);
    rig.welcome(1);
    await rig.grant("a", 1);
    assert.deepEqual(rig.starts, ["a"]);
  });
});

describe("a worker whose leases are not renewed", () => {
  test("stops what runs a little before it is given up, counted from before its last answered heartbeat was sent", async () => {
    const rig = await welcomed();
    await rig.grant("a", 1);
    await rig.clock.advance(workerBeatMs);
    rig.renews = false;
    const { signal } = rig.running.get("a")!.ctx;
    await rig.clock.advance(workerBeatMs);
    const { sequence } = rig.link.last("Heartbeat");
    // The answer is on its way for long: the lease counts from when the heartbeat was sent.
    await rig.clock.advance(workerBeatMs - 1);
    rig.renew(sequence);
    await rig.clock.advance(leaseMs - workerBeatMs);
    assert.equal(signal.aborted, false);
    await rig.clock.advance(2);
    assert.equal(signal.aborted, true);
    assert.equal(rig.worker.runningCount, 0);
  });

  test("reports it as lost once somebody hears it; a new grant of it runs", async () => {
    const rig = await welcomed();
    await rig.grant("a", 1);
    rig.renews = false;
    await rig.clock.advance(leaseMs + workerBeatMs);
    assert.ok(rig.links.length > 1);
    const { running, results } = rig.link.last("Hello");
    assert.deepEqual(running, []);
    assert.deepEqual(results[0]?.outcome, { kind: "lost" });
    rig.welcome(rig.link.last("Hello").sequence);
    await rig.grant("a", 1);
    assert.deepEqual(rig.starts, ["a", "a"]);
    assert.equal(rig.worker.resultCount, 0);
  });

  test("stops attempts that are undecided, or whose owner renewed them long ago", async () => {
    const rig = await welcomed({ slots: 3 });
    for (const [grant, id] of ["undecided", "old", "renewed"].entries()) await rig.grant(id, grant + 1);
    rig.renews = false;
    const undecided = [{ attemptId: "undecided", grant: 1 }];
    const renewalAges = [{ attemptId: "old", grant: 2, ageMs: 8000 }];
    await rig.clock.advance(workerBeatMs);
    const askedAt = rig.clock.now();
    rig.renew(rig.link.last("Heartbeat").sequence, { undecided, renewalAges });
    const aborted = (): string[] => [...rig.running].filter(([, { ctx }]) => ctx.signal.aborted).map(([id]) => id);
    await rig.clock.advance(leaseMs - workerBeatMs);
    assert.deepEqual(aborted(), ["undecided"]);
    await rig.clock.advance(askedAt + leaseMs - 8000 - rig.clock.now());
    assert.deepEqual(aborted(), ["undecided", "old"]);
    await rig.clock.advance(7999);
    assert.deepEqual(aborted(), ["undecided", "old"]);
    await rig.clock.advance(1);
    assert.deepEqual(aborted(), ["undecided", "old", "renewed"]);
  });

  test("stops at once what is not wanted, and says nothing of it", async () => {
    const rig = await welcomed();
    await rig.grant("a", 1);
    rig.renews = false;
    await rig.clock.advance(workerBeatMs);
    const { sequence } = rig.link.last("Heartbeat");
    rig.renew(sequence, { unwanted: [{ attemptId: "a", grant: 7 }] });
    assert.equal(rig.worker.runningCount, 1);
    await rig.clock.advance(workerBeatMs);
    rig.renew(rig.link.last("Heartbeat").sequence, { unwanted: [{ attemptId: "a", grant: 1 }] });
    assert.equal(rig.worker.runningCount, 0);
    assert.equal(rig.running.get("a")?.ctx.signal.aborted, true);
    await rig.finish("a");
    assert.deepEqual(rig.link.take("Result"), []);
  });

  test("refuses what comes after it was cut off for too long", async () => {
    const rig = await welcomed();
    rig.renews = false;
    // Something is heard, but no answer to what it says.
    for (let ms = 0; ms <= leaseMs; ms += workerBeatMs) {
      await rig.clock.advance(workerBeatMs);
      rig.renew(0);
    }
    await rig.grant("a", 1);
    assert.match(rig.link.last("Refused").why, /cut off for too long/);
  });

  test("notices that its machine slept, though its monotonic clock stood still", async () => {
    const rig = new WorkerRig();
    rig.clock.monotonic = () => 0;
    await rig.start();
    await rig.grant("a", 1);
    rig.clock.skip(workerLostMs);
    await rig.clock.advance(1);
    assert.equal(rig.running.get("a")?.ctx.signal.aborted, true);
  });

  test("takes the later of two words for it, though its monotonic clock stood still between them", async () => {
    const rig = await welcomed();
    await rig.grant("a", 1);
    rig.renews = false;
    const { clock } = rig;
    const grantedAt = clock.now();
    const sleptMs = 5000;
    const ageMs = workerBeatMs + 2000;
    clock.monotonic = () => clock.now() - sleptMs;
    clock.skip(sleptMs);
    await clock.advance(workerBeatMs);
    rig.renew(rig.link.last("Heartbeat").sequence, { renewalAges: [{ attemptId: "a", grant: 1, ageMs }] });
    await clock.advance(grantedAt + leaseMs - clock.now());
    assert.equal(rig.running.get("a")?.ctx.signal.aborted, false, "the second word is of after the grant");
    await clock.advance(sleptMs);
    assert.equal(rig.running.get("a")?.ctx.signal.aborted, true);
  });

  test("notices it soon, though its timers stood still too", async () => {
    const rig = await welcomed();
    await rig.grant("a", 1);
    const { clock } = rig;
    const monotonic = clock.now.bind(clock);
    clock.now = () => monotonic() + workerLostMs;
    await clock.advance(workerBeatMs / 4);
    assert.equal(rig.running.get("a")?.ctx.signal.aborted, true);
  });
});

describe("a connection", () => {
  test("that closes is followed by another, after a pause that grows; what runs is announced there", async () => {
    const rig = await welcomed();
    await rig.grant("a", 1);
    await rig.grant("b", 2, { job: "quick" });
    rig.renews = false;
    rig.link.listener.onClosed();
    assert.equal(rig.worker.isConnected, false);
    await rig.clock.advance(workerBeatMs / 40);
    assert.equal(rig.links.length, 2);
    const { running, results, lastWelcome, lastGrant } = rig.link.last("Hello");
    assert.deepEqual(
      running.map(({ grant, descriptor }) => [descriptor.attemptId, grant]),
      [["a", 0]],
    );
    assert.deepEqual(
      results.map(({ grant, descriptor, outcome }) => [descriptor.attemptId, grant, outcome.kind]),
      [["b", 0, "success"]],
    );
    assert.deepEqual([lastWelcome, lastGrant], ["m/w", 0]);
    rig.welcome(rig.link.last("Hello").sequence);
    await rig.finish("a");
    assert.equal(rig.link.take("Result").at(-1)?.grant, 0);
    await rig.grant("c", 1);
    assert.deepEqual(rig.starts, ["a", "c"]);
  });

  test("is given up when nothing was heard for two beats, and its old texts are not", async () => {
    const rig = await welcomed();
    rig.renews = false;
    const before = rig.link;
    await rig.clock.advance(2 * workerBeatMs - 1);
    assert.equal(before.isClosed, false);
    await rig.clock.advance(workerBeatMs);
    assert.deepEqual([before.isClosed, rig.links.length], [true, 2]);
    before.listener.onClosed();
    rig.welcome(1, before);
    assert.equal(rig.worker.isConnected, false);
  });

  test("is given up when the member says goodbye", async () => {
    const rig = await welcomed();
    rig.link.say({ type: "Goodbye" });
    assert.equal(rig.links[0]?.isClosed, true);
    await rig.clock.advance(workerBeatMs);
    assert.deepEqual([rig.links.length, rig.worker.isConnected], [2, true]);
  });

  test("that cannot be made is tried again", async () => {
    let failures = 3;
    const rig = new WorkerRig();
    const { connect } = {
      connect: (listener: LinkListener): Link => {
        if (failures-- > 0) throw new Error("nobody there");
        const link = new MemberLink(listener);
        rig.links.push(link);
        // One more breaks before it is even given out.
        if (failures === -1) listener.onClosed();
        return link;
      },
    };
    const { clock, jobs, log: logger } = rig;
    const worker = new RemoteWorker({ clock, random: new SeededRandom(1), logger, jobs, connect });
    worker.start();
    await clock.advance(workerBeatMs);
    assert.equal(rig.links.length, 2);
    assert.deepEqual(
      rig.links.map(({ isClosed }) => isClosed),
      [true, false],
    );
    assert.equal(rig.link.last("Hello").slots, 10);
    await worker.stop();
    assert.equal(clock.timerCount, 0);
  });

  test("is given up for another if the member sends an invalid message", async () => {
    const rig = await welcomed();
    const { link } = rig;
    link.listener.receive('{"type":"Renewed"}');
    assert.equal(link.isClosed, true);
    assert.ok(rig.log.lines.some(({ level }) => level === "warn"));
    await rig.clock.advance(workerBeatMs);
    assert.notEqual(rig.link, link);
  });
});

describe("stopping", () => {
  test("tells jobs to stop, gives back what did not succeed, waits for results to be acknowledged, and leaves", async () => {
    const rig = await welcomed({ slots: 3 });
    await rig.grant("gives up", 1);
    await rig.grant("succeeds", 2);
    let isOver = false;
    const stopped = rig.worker.stop().then(() => (isOver = true));
    rig.renews = false;
    await settle();
    assert.equal(rig.link.last("Hello").slots, 0);
    await rig.grant("late", 3);
    assert.match(rig.link.take("Refused")[0]?.why ?? "", /stopping/);
    const { reject, ctx } = rig.running.get("gives up")!;
    reject(ctx.signal.reason);
    await rig.finish("succeeds");
    assert.equal(rig.link.last("Refused").attemptId, "gives up");
    assert.equal(rig.link.last("Result").attemptId, "succeeds");
    assert.equal(isOver, false);
    rig.link.say({ type: "Acknowledged", attemptId: "succeeds", grant: 2 });
    await stopped;
    assert.equal(rig.link.heard.at(-1)?.type, "Leaving");
    assert.equal(rig.link.isClosed, true);
    assert.equal(rig.clock.timerCount, 0);
    assert.equal(rig.worker.stop(), rig.worker.stop());
  });

  test("leaves jobs behind that do not end, after a grace, and gives them back", async () => {
    const rig = await welcomed({ graceMs: 1000 });
    await rig.grant("stubborn", 1);
    const stopped = rig.worker.stop();
    await rig.clock.advance(1000);
    await stopped;
    assert.equal(rig.link.take("Refused")[0]?.attemptId, "stubborn");
    assert.ok(rig.log.lines.some(({ message }) => /left behind/.test(message)));
    await rig.finish("stubborn");
    assert.deepEqual(rig.link.take("Result"), []);
  });
});

describe("draining", () => {
  test("lets jobs end, refuses new ones, and waits until the results are acknowledged", async () => {
    const rig = await welcomed({ slots: 3 });
    await rig.grant("runs", 1);
    let isOver = false;
    const drained = rig.worker.drain().then(() => (isOver = true));
    rig.renews = false;
    await settle();
    assert.equal(rig.link.last("Hello").slots, 0);
    await rig.grant("late", 2);
    assert.match(rig.link.take("Refused")[0]?.why ?? "", /stopping/);
    assert.equal(rig.running.get("runs")?.ctx.signal.aborted, false);
    await rig.finish("runs");
    assert.equal(rig.link.last("Result").outcome.kind, "success");
    assert.equal(isOver, false);
    rig.link.say({ type: "Acknowledged", attemptId: "runs", grant: 1 });
    await drained;
    assert.equal(rig.worker.drain(), rig.worker.drain());
    assert.equal(rig.link.isClosed, false, "it leaves when it is stopped");
    await rig.worker.stop();
    assert.equal(rig.clock.timerCount, 0);
  });
});

test("the timings of the member that welcomes a worker are in force for its heartbeats and leases", async () => {
  const rig = new WorkerRig();
  rig.renews = false;
  await rig.start();
  rig.welcome(1, rig.link, { beatMs: 1000, lostMs: 4000 });
  await rig.grant("a", 1);
  for (let passed = 0; passed < 4; passed++) {
    await rig.clock.advance(1000);
    const beat = rig.link.take("Heartbeat").at(-1);
    assert.ok(beat !== undefined, `a heartbeat after ${passed + 1} s`);
    rig.renew(beat.sequence);
  }
  await rig.clock.advance(1000);
  assert.equal(rig.running.get("a")?.ctx.signal.aborted, false);
  await rig.clock.advance(ownPatience * 4000);
  assert.equal(rig.running.get("a")?.ctx.signal.aborted, true);
});

test("grants are good once, and not after their window is closed", () => {
  const window = new GrantWindow();
  assert.deepEqual(
    [2, 1, 2].map((grant) => window.take(grant)),
    [true, true, false],
  );
  assert.equal(window.close(), 2);
  assert.deepEqual([window.take(1), window.take(4), window.close(), window.take(3)], [false, true, 4, false]);
});

test("pauses grow up to a limit, and begin anew", () => {
  const backoff = new Backoff({ next: () => 1, uuid: () => "" }, { firstMs: 100, lastMs: 500 });
  assert.deepEqual(
    [1, 2, 3, 4].map(() => backoff.next()),
    [100, 200, 400, 500],
  );
  backoff.reset();
  assert.equal(backoff.next(), 100);
});
