/** Spec §10.2 and §10.5: the session of a remote worker with its member. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { EngineError } from "../base/error.ts";
import { defaultTimings } from "../cluster/timings.ts";
import type { Outcome } from "../kernel/input.ts";
import { Abort } from "./abort.ts";
import { HandClock, makeRun, RecordingListener, Rig, settle, success } from "./dispatcher.rig.ts";
import type { AttemptDescriptor } from "./attempt-descriptor.ts";
import { describeAttempt } from "./attempt-descriptor.ts";
import type { Link, LinkListener } from "./link.ts";
import type { Grant, GrantKey, Hello, MemberMessage, WorkerMessage } from "./session-message.ts";
import { parseMemberMessage } from "./session-schema.ts";
import type { TaskLogLine } from "./task-log.ts";
import type { TaskRun } from "./task-run.ts";
import type { WorkerAnswer } from "./worker.ts";
import type { AnnouncedAttempt } from "./session-attempt.ts";
import type { SessionParts } from "./worker-session.ts";
import { WorkerSession } from "./worker-session.ts";
import { WorkerSessions } from "./worker-sessions.ts";
import { LogBook } from "../testing/log-book.rig.ts";

const { workerBeatMs, workerLostMs } = defaultTimings;

/** The worker's end of a link, in the hands of the test. */
class HandLink implements Link {
  readonly sent: MemberMessage[] = [];
  isClosed = false;

  send(text: string): void {
    const message = parseMemberMessage(text);
    assert.ok(!this.isClosed);
    this.sent.push(message);
  }

  closedWith: string | undefined;

  close(error?: EngineError): void {
    this.isClosed = true;
    this.closedWith = error?.code;
  }

  /** Takes out what was sent so far. */
  take(): MemberMessage[] {
    return this.sent.splice(0);
  }

  last<T extends MemberMessage["type"]>(type: T): Extract<MemberMessage, { type: T }> {
    const message = this.sent.findLast((each) => each.type === type);
    assert.ok(message !== undefined, `a ${type} was sent`);
    return message as Extract<MemberMessage, { type: T }>;
  }
}

const owner = new RecordingListener();

function descriptorOf(attemptId: string): AttemptDescriptor {
  return describeAttempt(makeRun(owner, attemptId), 1000);
}

function identityOf(
  attempt: string,
): Pick<TaskLogLine, "attemptId" | "namespace" | "instanceId" | "workflowName" | "taskName" | "attempt"> {
  const { attemptId, instanceId, workflowName, taskName, attempt: number } = descriptorOf(attempt);
  return { attemptId, namespace: "default", instanceId, workflowName, taskName, attempt: number };
}

/** A session, and a worker that says what the test wants it to say. */
class SessionRig {
  readonly clock = new HandClock();
  readonly announced: AnnouncedAttempt[] = [];
  readonly ends: string[] = [];
  changes = 0;
  readonly session: WorkerSession;
  link = new HandLink();
  #sequence = 0;

  constructor(parts: Partial<SessionParts> = {}) {
    this.session = new WorkerSession(
      { id: "w", address: "m/w", namespace: "default" },
      {
        clock: this.clock,
        logger: new LogBook(),
        timings: defaultTimings,
        onAnnounced: (attempt) => void this.announced.push(attempt),
        onChanged: () => void this.changes++,
        onOver: (_session, how) => void this.ends.push(how),
        ...parts,
      },
    );
  }

  hello(given: Partial<Hello> = {}): void {
    const base = { jobs: ["job"], slots: 2, lastGrant: 0, running: [], results: [] };
    this.say({ type: "Hello", worker: "w", sequence: ++this.#sequence, ...base, ...given });
  }

  reconnect(given: Partial<Hello> = {}): void {
    this.link = new HandLink();
    this.session.attach(this.link);
    this.hello(given);
  }

  heartbeat(lastGrant: number, running: readonly GrantKey[] = [], finished: readonly GrantKey[] = []): void {
    this.say({ type: "Heartbeat", sequence: ++this.#sequence, lastGrant, running, finished });
  }

  say(message: WorkerMessage): void {
    this.session.receive(this.link, message);
  }

  /** Grants it, and says under which number. */
  async grant(attemptId: string, given: Partial<TaskRun> = {}): Promise<{ number: number; abort: Abort; said: Said }> {
    const abort = new Abort();
    const answer = this.session.execute(makeRun(owner, attemptId, given), abort);
    const said: Said = { answer: undefined };
    answer.then(
      (settled) => (said.answer = settled),
      (error: unknown) => (said.error = error),
    );
    await settle();
    return { number: this.link.last("Grant").grant, abort, said };
  }

  /** Grants it, and takes that back. */
  async stop(attemptId: string): Promise<{ number: number; stopped: Promise<string> }> {
    const { number, abort } = await this.grant(attemptId);
    abort.abort(new DOMException("enough", "AbortError"));
    const stopped = this.session.whenStopped(attemptId);
    assert.ok(stopped !== undefined);
    return { number, stopped };
  }

  result(attemptId: string, grant: number, outcome: Outcome = success): void {
    this.say({ type: "Result", attemptId, grant, outcome, startedAt: 1000 });
  }
}

interface Said {
  answer: WorkerAnswer | undefined;
  error?: unknown;
}

function connected(parts: Partial<SessionParts> = {}): SessionRig {
  const rig = new SessionRig(parts);
  rig.session.attach(rig.link);
  rig.hello();
  rig.link.take();
  return rig;
}

describe("a session", () => {
  test("has nothing to offer before its worker's hello, and what that says after", () => {
    const rig = new SessionRig();
    assert.deepEqual([rig.session.slots, rig.session.freeSlots, rig.session.hasJob("job")], [0, 0, false]);
    rig.session.attach(rig.link);
    rig.hello();
    const { session } = rig;
    assert.deepEqual([session.slots, session.freeSlots, session.hasJob("job")], [2, 2, true]);
    assert.equal(rig.link.last("Welcome").welcome, "m/w");
    assert.equal(rig.changes, 1);
    rig.hello({ jobs: ["other"], slots: 3 });
    assert.deepEqual([session.slots, session.hasJob("job"), session.hasJob("other")], [3, false, true]);
  });

  test("grants with everything a worker needs, and its answer is the worker's result", async () => {
    const rig = connected({ fenceOf: () => ({ incarnation: 0, shard: 3, epoch: 7 }) });
    const inputs = { context: { a: "1" }, outputs: { b: "2" } };
    const given = { params: '{"x":1}', inputs: () => Promise.resolve(inputs), timeoutMs: Infinity };
    const { number, said } = await rig.grant("a", given);
    const descriptor = describeAttempt(makeRun(owner, "a", given), rig.clock.now());
    assert.equal("timeoutMs" in descriptor, false);
    const fence = { incarnation: 0, shard: 3, epoch: 7 };
    const grant: Grant = { type: "Grant", descriptor, params: '{"x":1}', inputs, fence, grant: number };
    assert.deepEqual(rig.link.take(), [grant]);
    assert.equal(rig.session.freeSlots, 1);
    rig.result("a", number, { kind: "success", output: "1" });
    await settle();
    assert.deepEqual(said.answer, { kind: "success", output: "1" });
    assert.equal(rig.session.freeSlots, 2);
  });

  test("passes a result's sub-tasks through those who know the engine", async () => {
    const checkOutcome = (outcome: Outcome, { taskName }: { taskName: string }): Promise<Outcome> =>
      Promise.resolve({ ...outcome, output: taskName } as Outcome);
    const rig = connected({ checkOutcome });
    const { number, said } = await rig.grant("a");
    rig.result("a", number);
    await settle();
    assert.deepEqual(said.answer, { kind: "success", output: "a" });
  });

  test("refuses by itself where there is no slot, or no link", async () => {
    const rig = connected();
    await rig.grant("a");
    rig.session.reserve("b");
    assert.equal((await rig.session.execute(makeRun(owner, "c"), new Abort())).kind, "refused");
    rig.session.forget("b");
    assert.equal(rig.session.freeSlots, 1);
    rig.session.onLinkClosed(rig.link);
    assert.deepEqual([rig.session.freeSlots, rig.session.isReachable], [0, false]);
  });

  test("gives an attempt back whose link is gone before it could be sent, or whose inputs cannot be read", async () => {
    const rig = connected();
    const { promise, resolve } = Promise.withResolvers<{ context: object; outputs: object }>();
    const inputs = (): Promise<never> => promise as Promise<never>;
    const answer = rig.session.execute(makeRun(owner, "a", { inputs }), new Abort());
    rig.session.onLinkClosed(rig.link);
    resolve({ context: {}, outputs: {} });
    assert.equal((await answer).kind, "refused");
    rig.reconnect();
    const failing = (): Promise<never> => Promise.reject(new Error("store is away"));
    await assert.rejects(rig.session.execute(makeRun(owner, "b", { inputs: failing }), new Abort()), /store is away/);
    assert.equal(rig.session.freeSlots, 2);
  });

  test("tells the worker to stop, with the reason", async () => {
    const rig = connected();
    const { number, abort, said } = await rig.grant("a");
    rig.link.take();
    abort.abort(new DOMException("enough", "AbortError"));
    const reason = { name: "AbortError", message: "enough" };
    assert.deepEqual(rig.link.take(), [{ type: "Abort", attemptId: "a", grant: number, reason }]);
    assert.equal(rig.session.freeSlots, 1, "it may not have heard that yet");
    rig.result("a", number);
    await settle();
    assert.equal(said.answer, undefined);
    assert.deepEqual(rig.link.take(), [{ type: "Acknowledged", attemptId: "a", grant: number }]);
    assert.equal(rig.session.freeSlots, 2);
  });

  test("knows that the worker has stopped an attempt when it says so, or does not list it any more", async () => {
    const rig = connected();
    const first = await rig.stop("a");
    rig.say({ type: "Refused", attemptId: "a", grant: first.number, why: "the task was aborted" });
    assert.equal(await first.stopped, "stopped");
    const second = await rig.stop("b");
    rig.link.take();
    rig.heartbeat(second.number, [{ attemptId: "b", grant: second.number }]);
    assert.deepEqual(rig.link.last("Renewed").unwanted, [{ attemptId: "b", grant: second.number }]);
    assert.equal(rig.session.freeSlots, 1);
    rig.heartbeat(second.number);
    assert.equal(await second.stopped, "stopped");
    assert.deepEqual([rig.session.freeSlots, rig.session.whenStopped("b")], [2, undefined]);
  });

  test("repeats the order to stop as long as the grant may still arrive", async () => {
    const rig = connected();
    const { number, stopped } = await rig.stop("a");
    rig.link.take();
    rig.heartbeat(number - 1);
    assert.equal(rig.link.last("Abort").grant, number);
    assert.equal(rig.session.freeSlots, 1);
    rig.heartbeat(number);
    assert.equal(await stopped, "stopped");
  });

  test("asks the worker that comes back without it for no more, and one that brings it along to stop it", async () => {
    const rig = connected();
    const first = await rig.stop("a");
    const second = await rig.stop("b");
    rig.reconnect({ running: [{ grant: 0, descriptor: descriptorOf("b") }] });
    assert.equal(await first.stopped, "stopped");
    assert.deepEqual(
      rig.announced.map(({ descriptor }) => descriptor.attemptId),
      ["b"],
    );
    rig.announced[0]?.decline();
    assert.deepEqual(rig.link.last("Abort").attemptId, "b");
    rig.say({ type: "Refused", attemptId: "b", grant: 0, why: "the task was aborted" });
    assert.equal(await second.stopped, "stopped");
  });

  test("waits for nobody when it is over: a worker that is lost has stopped, one that is sent away may not have", async () => {
    const lost = connected();
    const { stopped } = await lost.stop("a");
    await lost.clock.advance(workerLostMs);
    assert.equal(await stopped, "stopped");
    const closed = connected();
    const { stopped: sentAway } = await closed.stop("a");
    await closed.session.stop();
    assert.equal(await sentAway, "disconnected");
  });

  test("offers an attempt whose owner is lost to others, under its own grant, when the worker has shown that it has it", async () => {
    const rig = connected();
    const { number, said } = await rig.grant("a");
    const unsent = rig.session.execute(
      makeRun(owner, "b", { inputs: () => new Promise(() => undefined) }),
      new Abort(),
    );
    void unsent;
    rig.session.unfollow("a");
    rig.session.unfollow("b");
    assert.deepEqual([rig.session.freeSlots, rig.announced], [1, []]);
    rig.link.take();
    rig.heartbeat(number - 1);
    assert.deepEqual(
      rig.link.take().map(({ type }) => type),
      ["Renewed"],
      "a grant that may still arrive is neither repeated nor taken back",
    );
    const key = { attemptId: "a", grant: number };
    rig.heartbeat(number, [key]);
    assert.deepEqual(rig.link.last("Renewed").undecided, [key]);
    assert.deepEqual(
      rig.announced.map(({ descriptor }) => descriptor.attemptId),
      ["a"],
    );
    assert.equal(rig.session.follow("a", new Abort()), true);
    rig.result("a", number, { kind: "success", output: "1" });
    assert.deepEqual(await rig.announced[0]?.outcome, { kind: "success", output: "1" });
    assert.equal(said.answer, undefined, "whoever had it before hears nothing");
  });

  test("names the connection by the hello with which it began", () => {
    const rig = connected();
    rig.hello();
    assert.deepEqual(rig.session.connection, { worker: "w", since: 1 });
    rig.reconnect();
    assert.deepEqual(rig.session.connection, { worker: "w", since: 3 });
  });

  test("does not send what was aborted before it could be", async () => {
    const rig = connected();
    const abort = new Abort();
    void rig.session.execute(makeRun(owner, "a"), abort);
    abort.abort(new Error("stop"));
    await settle();
    const aborted = new Abort();
    aborted.abort(new Error("stop"));
    void rig.session.execute(makeRun(owner, "b"), aborted);
    await settle();
    assert.deepEqual(rig.link.take(), []);
    assert.equal(rig.session.freeSlots, 2);
  });

  test("that was refused something asks for nothing until the worker is heard of again", async () => {
    const rig = connected();
    const { number, said } = await rig.grant("a");
    rig.say({ type: "Refused", attemptId: "a", grant: number + 1, why: "another" });
    rig.say({ type: "Refused", attemptId: "a", grant: number, why: "all slots are in use" });
    await settle();
    assert.deepEqual(said.answer, { kind: "refused", why: "all slots are in use" });
    assert.equal(rig.session.freeSlots, 0);
    rig.heartbeat(number);
    assert.equal(rig.session.freeSlots, 2);
  });
});

describe("a worker that has to be recorded", () => {
  test("gets its grant when that is done", async () => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const rig = new SessionRig({ prepareGrant: () => promise });
    rig.reconnect();
    rig.link.take();
    const answer = rig.session.execute(makeRun(owner, "a", { domain: "red" }), new Abort());
    await settle();
    assert.deepEqual(rig.link.take(), []);
    resolve(true);
    await settle();
    rig.result("a", rig.link.last("Grant").grant);
    assert.equal((await answer).kind, "success");
  });

  test("is granted nothing if that fails, and is not asked again before its next heartbeat", async () => {
    const rig = new SessionRig({ prepareGrant: () => Promise.resolve(false) });
    rig.reconnect();
    rig.link.take();
    const answer = await rig.session.execute(makeRun(owner, "a", { domain: "red" }), new Abort());
    assert.equal(answer.kind, "refused");
    assert.deepEqual(rig.link.take(), []);
    assert.equal(rig.session.freeSlots, 0);
    rig.heartbeat(0);
    assert.equal(rig.session.freeSlots, 2);
  });
});

describe("a worker that is out of touch", () => {
  test("gets nothing from the moment its link closes, or it misses a heartbeat, until it is heard again", async () => {
    const rig = connected();
    assert.deepEqual([rig.session.isReachable, rig.session.freeSlots], [true, 2]);
    rig.session.onLinkClosed(rig.link);
    assert.deepEqual([rig.session.isReachable, rig.session.freeSlots], [false, 0]);
    rig.reconnect();
    assert.deepEqual([rig.session.isReachable, rig.session.freeSlots], [true, 2]);
    await rig.clock.advance(1.5 * workerBeatMs - 1);
    assert.deepEqual([rig.session.isReachable, rig.session.freeSlots], [true, 2]);
    await rig.clock.advance(1);
    assert.deepEqual([rig.session.isReachable, rig.session.freeSlots], [false, 0]);
    assert.equal(rig.session.lastHeardAt, rig.clock.now() - 1.5 * workerBeatMs);
    rig.heartbeat(0);
    assert.deepEqual([rig.session.isReachable, rig.session.freeSlots], [true, 2]);
    assert.equal(rig.session.lastHeardAt, rig.clock.now());
  });

  test("has one heartbeat interval to report what it had before, once it is back", async () => {
    const rig = connected();
    const before = rig.clock.monotonic();
    assert.equal(rig.session.timeoutGraceMs(before), 0, "nothing was interrupted");
    await rig.clock.advance(1.5 * workerBeatMs);
    assert.equal(rig.session.timeoutGraceMs(before), Infinity);
    rig.heartbeat(0);
    assert.equal(rig.session.timeoutGraceMs(before), workerBeatMs);
    assert.equal(rig.session.timeoutGraceMs(rig.clock.monotonic()), 0, "what starts now has no need of it");
    await rig.clock.advance(workerBeatMs);
    assert.equal(rig.session.timeoutGraceMs(before), 0);
    rig.session.onLinkClosed(rig.link);
    assert.equal(rig.session.timeoutGraceMs(before), Infinity);
  });
});

describe("a log line", () => {
  const line = { at: 5, level: "info", message: "hi", fields: { a: 1 } } as const;

  test("is that of an attempt which the worker was given, and says whose task it is by what the member knows", async () => {
    const lines: TaskLogLine[] = [];
    const rig = connected({ onTaskLog: (each) => void lines.push(each) });
    const log = (attemptId: string): void => rig.say({ type: "Logged", lines: [{ attemptId, ...line }] });
    const { number, abort } = await rig.grant("a");
    log("a");
    log("of another worker");
    assert.deepEqual(lines, [{ ...identityOf("a"), ...line }]);
    abort.abort(new DOMException("enough", "AbortError"));
    log("a");
    assert.equal(lines.length, 2, "an aborted job may say how it ends");
    rig.say({ type: "Refused", attemptId: "a", grant: number, why: "it was aborted" });
    log("a");
    assert.equal(lines.length, 2);
    const { number: second } = await rig.grant("b");
    rig.result("b", second);
    log("b");
    assert.equal(lines.length, 3, "until the result is acknowledged");
    rig.session.acknowledge("b");
    log("b");
    assert.equal(lines.length, 3);
  });

  test("of an attempt that the worker has brought is dropped until somebody wants that", () => {
    const lines: TaskLogLine[] = [];
    const rig = new SessionRig({ onTaskLog: (each) => void lines.push(each) });
    rig.reconnect({ running: [{ grant: 0, descriptor: descriptorOf("brought") }] });
    const log = (): void => rig.say({ type: "Logged", lines: [{ attemptId: "brought", ...line }] });
    log();
    assert.deepEqual(lines, []);
    rig.session.follow("brought", new Abort());
    log();
    assert.equal(lines.length, 1);
  });
});

describe("a result", () => {
  test("is acknowledged when it is durable, and not before", async () => {
    const rig = connected();
    const { number } = await rig.grant("a");
    rig.link.take();
    rig.result("a", number);
    rig.result("a", number);
    assert.deepEqual(rig.link.take(), []);
    rig.session.acknowledge("a");
    rig.session.acknowledge("a");
    assert.deepEqual(rig.link.take(), [{ type: "Acknowledged", attemptId: "a", grant: number }]);
    rig.result("a", number);
    assert.equal(rig.link.last("Acknowledged").grant, number);
  });

  test("that comes after a timeout is acknowledged when the timeout is durable, or announced if that takes long", async () => {
    const rig = connected();
    const { number, abort } = await rig.grant("a");
    rig.session.keepResult("a");
    abort.abort(new Error("it ran too long"));
    rig.link.take();
    rig.result("a", number);
    assert.deepEqual(rig.link.take(), []);
    assert.deepEqual(rig.announced, []);
    await rig.clock.advance(2 * workerBeatMs);
    rig.result("a", number);
    assert.equal(rig.announced.length, 1);
    rig.session.acknowledge("a");
    assert.deepEqual(rig.link.last("Acknowledged"), { type: "Acknowledged", attemptId: "a", grant: number });
  });

  test("of another go at the attempt is acknowledged and not taken", async () => {
    const rig = connected();
    const first = await rig.grant("a");
    first.abort.abort(new Error("stop"));
    const second = await rig.grant("a");
    rig.link.take();
    rig.result("a", first.number);
    await settle();
    assert.deepEqual([first.said.answer, second.said.answer], [undefined, undefined]);
    assert.deepEqual(rig.link.take(), [{ type: "Acknowledged", attemptId: "a", grant: first.number }]);
    rig.result("a", second.number);
    await settle();
    assert.equal(second.said.answer?.kind, "success");
  });

  test("that nobody made durable is offered to others after a while", async () => {
    const rig = connected();
    const { number } = await rig.grant("a");
    rig.result("a", number, { kind: "success", output: "1" });
    await rig.clock.advance(2 * workerBeatMs - 1);
    rig.result("a", number, { kind: "success", output: "1" });
    assert.equal(rig.announced.length, 0);
    await rig.clock.advance(1);
    rig.result("a", number, { kind: "success", output: "1" });
    assert.equal(rig.announced[0]?.descriptor.attemptId, "a");
    assert.deepEqual(await rig.announced[0]?.outcome, { kind: "success", output: "1" });
    rig.announced[0]?.decline();
    assert.equal(rig.link.last("Acknowledged").attemptId, "a");
  });
});

describe("a heartbeat", () => {
  test("is answered: the lease of an attempt that is not listed is renewed", async () => {
    const rig = connected();
    const { number } = await rig.grant("a");
    rig.link.take();
    rig.heartbeat(number, [
      { attemptId: "a", grant: number },
      { attemptId: "stray", grant: 9 },
    ]);
    assert.deepEqual(rig.link.take(), [
      { type: "Renewed", sequence: 2, unwanted: [{ attemptId: "stray", grant: 9 }], undecided: [], renewalAges: [] },
    ]);
  });

  test("that is older than one already heard says nothing", async () => {
    const rig = connected();
    const { number, said } = await rig.grant("a");
    rig.link.take();
    rig.heartbeat(number, [{ attemptId: "a", grant: number }]);
    rig.link.take();
    rig.say({ type: "Heartbeat", sequence: 1, lastGrant: number, running: [], finished: [] });
    rig.say({ type: "Hello", worker: "w", sequence: 1, lastGrant: 9, jobs: [], slots: 0, running: [], results: [] });
    await settle();
    assert.deepEqual([rig.link.take(), said.answer, rig.session.slots], [[], undefined, 2]);
  });

  test("from before a grant leads to the same grant again; from after it, to its being given back", async () => {
    const rig = connected();
    const { number, said } = await rig.grant("a");
    const [grant] = rig.link.take();
    rig.heartbeat(number - 1);
    assert.deepEqual(rig.link.take()[0], grant);
    rig.heartbeat(number);
    await settle();
    assert.deepEqual(said.answer, { kind: "refused", why: "it did not reach the worker" });
    assert.equal(rig.session.freeSlots, 2);
  });

  test("that does not name what it named before tells that it is lost", async () => {
    const rig = connected();
    const { number, said } = await rig.grant("a");
    rig.heartbeat(number, [{ attemptId: "a", grant: number }]);
    rig.heartbeat(number);
    await settle();
    assert.deepEqual(said.answer, { kind: "lost" });
  });

  test("with a result that has not come yet takes nothing back", async () => {
    const rig = connected();
    const { number, said } = await rig.grant("a");
    rig.heartbeat(number, [], [{ attemptId: "a", grant: number }]);
    rig.result("a", number);
    await settle();
    assert.equal(said.answer?.kind, "success");
  });

  test("says how long ago other owners renewed the lease", async () => {
    const rig = connected({ renewalAgeMs: (id) => (id === "theirs" ? 4000 : 0) });
    const { number } = await rig.grant("theirs");
    rig.heartbeat(number, [{ attemptId: "theirs", grant: number }]);
    const renewalAges = [{ attemptId: "theirs", grant: number, ageMs: 4000 }];
    assert.deepEqual(rig.link.last("Renewed").renewalAges, renewalAges);
  });
});

describe("a worker that connects again", () => {
  test("goes on with what it names; what it has not got is given back", async () => {
    const rig = connected();
    const a = await rig.grant("a");
    const b = await rig.grant("b");
    rig.reconnect({ lastWelcome: "m/w", running: [{ grant: 0, descriptor: descriptorOf("a") }] });
    await settle();
    assert.deepEqual([a.said.answer, b.said.answer?.kind], [undefined, "refused"]);
    assert.deepEqual(rig.announced, []);
    assert.deepEqual(rig.link.last("Welcome").unwanted, []);
    rig.result("a", 0);
    await settle();
    assert.equal(a.said.answer?.kind, "success");
  });

  test("and was elsewhere meanwhile has lost what it does not name: it may have ended there", async () => {
    const rig = connected();
    const { said } = await rig.grant("a");
    rig.reconnect({ lastWelcome: "other/w" });
    await settle();
    assert.deepEqual(said.answer, { kind: "lost" });
  });

  test("is not heard over its old link, which is closed", async () => {
    const rig = connected();
    const { number, said } = await rig.grant("a");
    const before = rig.link;
    rig.reconnect({ lastWelcome: "m/w", running: [{ grant: 0, descriptor: descriptorOf("a") }] });
    assert.equal(before.isClosed, true);
    rig.session.receive(before, { type: "Result", attemptId: "a", grant: number, outcome: success, startedAt: 0 });
    rig.session.onLinkClosed(before);
    await settle();
    assert.deepEqual([said.answer, rig.session.isReachable], [undefined, true]);
  });

  test("brings its results along, and they are what was waited for", async () => {
    const rig = connected();
    const { said } = await rig.grant("a");
    const results = [{ grant: 0, descriptor: descriptorOf("a"), outcome: success }];
    rig.reconnect({ lastWelcome: "other/w", results });
    await settle();
    assert.equal(said.answer?.kind, "success");
    rig.session.acknowledge("a");
    assert.deepEqual(rig.link.last("Acknowledged"), { type: "Acknowledged", attemptId: "a", grant: 0 });
  });
});

describe("what a worker brings along", () => {
  const running = [{ grant: 0, descriptor: descriptorOf("a") }];

  function bringing(given: Partial<Hello>): SessionRig {
    const rig = new SessionRig();
    rig.session.attach(rig.link);
    rig.hello(given);
    return rig;
  }

  test("is announced, takes a slot and is not renewed until somebody follows it", async () => {
    const rig = bringing({ running });
    const [announced] = rig.announced;
    assert.ok(announced !== undefined);
    assert.deepEqual(announced.descriptor, descriptorOf("a"));
    assert.equal(rig.session.freeSlots, 1);
    assert.deepEqual(rig.link.last("Welcome").undecided, [{ attemptId: "a", grant: 0 }]);
    const abort = new Abort();
    announced.worker.follow("a", abort);
    rig.heartbeat(0, [{ attemptId: "a", grant: 0 }]);
    assert.deepEqual(rig.link.last("Renewed").undecided, []);
    assert.equal(rig.announced.length, 1);
    rig.result("a", 0);
    assert.equal((await announced.outcome).kind, "success");
    abort.abort(new Error("too late"));
    assert.ok(!rig.link.sent.some(({ type }) => type === "Abort"));
  });

  test("is announced again with each heartbeat until somebody knows what to do", () => {
    const rig = bringing({ running });
    rig.heartbeat(0, [{ attemptId: "a", grant: 0 }]);
    assert.equal(rig.announced.length, 2);
    rig.announced[1]?.decline();
    const reason = { name: "AbortError", message: "the attempt is not wanted" };
    assert.deepEqual(rig.link.last("Abort"), { type: "Abort", attemptId: "a", grant: 0, reason });
    assert.deepEqual([rig.session.freeSlots, rig.session.hasStrays], [1, true]);
    rig.heartbeat(0, [{ attemptId: "a", grant: 0 }]);
    assert.equal(rig.announced.length, 2);
    assert.deepEqual(rig.link.last("Renewed").unwanted, [{ attemptId: "a", grant: 0 }]);
    assert.deepEqual([rig.session.freeSlots, rig.session.hasStrays], [1, true]);
    rig.heartbeat(0, []);
    assert.deepEqual([rig.session.freeSlots, rig.session.hasStrays], [2, false]);
  });

  test("keeps its slot until the worker has stopped it, and its end is told", () => {
    const rig = bringing({ running });
    rig.announced[0]?.decline();
    const { changes } = rig;
    rig.say({ type: "Refused", attemptId: "a", grant: 0, why: "the task was aborted" });
    assert.deepEqual([rig.session.freeSlots, rig.session.hasStrays], [2, false]);
    assert.equal(rig.changes, changes + 1);
  });

  test("needs no grant if it is started here", async () => {
    const rig = bringing({ running });
    rig.link.take();
    const abort = new Abort();
    const answer = rig.session.execute(makeRun(owner, "a"), abort);
    await settle();
    assert.deepEqual(rig.link.take(), []);
    rig.announced[0]?.decline();
    rig.result("a", 0);
    assert.equal((await answer).kind, "success");
  });

  test("may have ended: then it is announced with its result, and again until that is wanted or not", async () => {
    const results = [{ grant: 0, descriptor: descriptorOf("a"), outcome: success }];
    const rig = bringing({ results });
    assert.equal((await rig.announced[0]?.outcome)?.kind, "success");
    assert.equal(rig.session.freeSlots, 2);
    rig.result("a", 0);
    assert.equal(rig.announced.length, 1);
    await rig.clock.advance(workerBeatMs);
    rig.result("a", 0);
    assert.equal(rig.announced.length, 2);
    rig.session.follow("a", new Abort());
    await rig.clock.advance(workerBeatMs);
    rig.result("a", 0);
    assert.equal(rig.announced.length, 2);
    rig.session.acknowledge("a");
    assert.equal(rig.link.last("Acknowledged").attemptId, "a");
  });

  test("and was given up by the worker itself is no news to anybody", () => {
    const results = [{ grant: 0, descriptor: descriptorOf("a"), outcome: { kind: "lost" as const } }];
    const rig = bringing({ results });
    assert.deepEqual(rig.announced, []);
    assert.equal(rig.link.last("Acknowledged").attemptId, "a");
  });

  test("may end before anybody has decided", async () => {
    const rig = bringing({ running });
    rig.result("a", 0);
    rig.session.reserve("a");
    rig.session.follow("a", new Abort());
    assert.equal((await rig.announced[0]?.outcome)?.kind, "success");
    assert.equal(rig.session.freeSlots, 2);
  });

  test("is announced at once if it ends while its owner is unknown, and not with the next beat", async () => {
    const rig = bringing({ running });
    await rig.clock.advance(workerBeatMs / 2);
    rig.result("a", 0);
    assert.equal(rig.announced.length, 2);
    assert.equal((await rig.announced[1]?.outcome)?.kind, "success");
    rig.result("a", 0);
    assert.equal(rig.announced.length, 2);
    rig.announced[1]?.decline();
    assert.deepEqual(rig.link.last("Acknowledged"), { type: "Acknowledged", attemptId: "a", grant: 0 });
  });

  test("is not announced again if the worker gives it up", () => {
    const rig = bringing({ running });
    rig.result("a", 0, { kind: "lost" });
    assert.equal(rig.announced.length, 1);
  });

  test("is not lost to a listener that fails", () => {
    const rig = new SessionRig({
      onAnnounced: () => {
        throw new Error("bug");
      },
    });
    rig.session.attach(rig.link);
    rig.hello({ running });
    assert.deepEqual(rig.link.last("Welcome").undecided, [{ attemptId: "a", grant: 0 }]);
  });
});

describe("the end of a session", () => {
  test("is when nothing was heard for long", async () => {
    const rig = connected();
    await rig.clock.advance(workerLostMs - 1);
    rig.heartbeat(0);
    await rig.clock.advance(workerLostMs - 1);
    assert.deepEqual(rig.ends, []);
    await rig.clock.advance(2);
    assert.deepEqual(rig.ends, ["lost"]);
    assert.equal(rig.link.isClosed, true);
    assert.equal(rig.clock.timerCount, 0);
  });

  test("is not when the member was busy and what the worker said waits to be read", async () => {
    const clock = new HandClock();
    // When the events at hand are handled, what has arrived is read, and then whoever asked for that moment is called.
    clock.soon = (callback) => {
      rig.heartbeat(0);
      callback();
    };
    const rig = connected({ clock });
    clock.skip(2 * workerLostMs);
    await clock.advance(1);
    assert.deepEqual(rig.ends, []);
  });

  test("is when the worker leaves, or is sent away; then it says goodbye", async () => {
    const leaving = connected();
    leaving.say({ type: "Leaving" });
    assert.deepEqual([leaving.ends, leaving.link.sent], [["left"], []]);
    const closing = connected();
    const { said } = await closing.grant("a");
    closing.link.take();
    await closing.session.stop();
    await closing.session.stop();
    assert.deepEqual([closing.ends, closing.link.sent], [["closed"], [{ type: "Goodbye" }]]);
    assert.equal(closing.session.isOver, true);
    assert.equal(said.answer, undefined);
    assert.equal(closing.clock.timerCount, 0);
  });
});

describe("the sessions of a member", () => {
  function sessionsWith(rig: Rig, mayServe = (): boolean => true): WorkerSessions {
    return new WorkerSessions({
      clock: rig.clock,
      logger: rig.log,
      timings: defaultTimings,
      dispatcher: rig.dispatcher,
      addressOf: (worker) => `m/${worker}`,
      mayServe,
      onAnnounced: (attempt) => attempt.decline(),
    });
  }

  function hello(listener: LinkListener, sequence = 1): void {
    const message = {
      type: "Hello",
      worker: "w",
      sequence,
      lastGrant: 0,
      jobs: ["job"],
      slots: 3,
      running: [],
      results: [],
    };
    listener.receive(JSON.stringify(message));
  }

  test("join the dispatcher with the first hello; the same worker has one through all its links", async () => {
    const rig = new Rig({ poolSize: 1 });
    const sessions = sessionsWith(rig);
    const first = sessions.accept(new HandLink());
    first.receive(JSON.stringify({ type: "Heartbeat", sequence: 1, lastGrant: 0, running: [], finished: [] }));
    assert.deepEqual(sessions.all, []);
    hello(first);
    hello(sessions.accept(new HandLink()), 2);
    first.onClosed();
    assert.deepEqual(
      sessions.all.map(({ address, isReachable }) => [address, isReachable]),
      [["m/w", true]],
    );
    assert.equal(rig.dispatcher.status.poolSize, 4);
  });

  test("end what was running when a worker is lost", async () => {
    const rig = new Rig({ poolSize: 1 });
    rig.worker.missing.add("job");
    const sessions = sessionsWith(rig);
    const link = new HandLink();
    hello(sessions.accept(link));
    await rig.enqueue("a");
    assert.equal(link.last("Grant").descriptor.attemptId, "a");
    await rig.clock.advance(workerLostMs + 1);
    assert.deepEqual([rig.listener.ends, sessions.all], [["a lost"], []]);
    await rig.enqueue(rig.run("b", { timeoutMs: Infinity }));
    hello(sessions.accept(new HandLink()));
    await rig.clock.advance(workerLostMs + 1);
    assert.deepEqual(rig.listener.ends, ["a lost", "b lost"]);
  });

  test("send workers to other members where the lease has lapsed, or the dispatcher is shut down", async () => {
    const rig = new Rig();
    let mayServe = false;
    const sessions = sessionsWith(rig, () => mayServe);
    const refused = new HandLink();
    hello(sessions.accept(refused));
    assert.deepEqual([refused.sent, refused.isClosed], [[{ type: "Goodbye" }], true]);
    mayServe = true;
    const link = new HandLink();
    const listener = sessions.accept(link);
    hello(listener);
    link.take();
    mayServe = false;
    hello(listener, 2);
    assert.deepEqual(link.take(), [], "a member without a lease renews none");
    rig.dispatcher.interruptAll();
    assert.equal(link.last("Goodbye").type, "Goodbye");
    assert.deepEqual(sessions.all, []);
    mayServe = true;
    await rig.dispatcher.shutdown();
    const late = new HandLink();
    hello(sessions.accept(late));
    assert.equal(late.isClosed, true);
  });

  test("close a link over which an invalid message came, and count and log it once", () => {
    for (const text of ["", "{", "null", "[]", '{"type":"Dance"}', '{"type":"Grant"}']) {
      const rig = new Rig();
      const sessions = sessionsWith(rig);
      const link = new HandLink();
      const listener = sessions.accept(link);
      for (let times = 0; times < 3; times++) listener.receive(text);
      assert.equal(link.closedWith, "WORKER_MESSAGE_INVALID");
      assert.equal(sessions.refusedMessages, 1);
      assert.deepEqual(
        rig.log.lines.map(({ level }) => level),
        ["warn"],
      );
      hello(listener);
      assert.deepEqual(sessions.all, [], "nothing is heard over a closed link");
    }
  });
});
