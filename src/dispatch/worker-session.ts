import { assert } from "../base/assert.ts";
import type { Clock, Timer } from "../base/clock.ts";
import { messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { ClusterTimings } from "../cluster/timings.ts";
import type { Outcome } from "../kernel/input.ts";
import type { Abort } from "./abort.ts";
import { type AttemptDescriptor, describeAttempt } from "./attempt-descriptor.ts";
import { SessionAttempt } from "./session-attempt.ts";
import type { Link } from "./link.ts";
import {
  formatMessage,
  type Grant,
  type GrantFence,
  type GrantKey,
  type Heartbeat,
  type HeldFor,
  type Hello,
  type LoggedLine,
  type MemberMessage,
  type Refusal,
  type Result,
  type RunningAttempt,
  type Verdict,
  type WorkerMessage,
} from "./session-message.ts";
import type { OnTaskLog } from "./task-log.ts";
import type { TaskRun } from "./task-run.ts";
import type { Answer, ConnectedWorker, WorkerConnection } from "./worker.ts";

export interface SessionParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly timings: Pick<ClusterTimings, "workerBeatMs" | "workerLostMs">;
  /** The shard of a run and the epoch in which this member owns it; undefined for runs that belong to no shard. */
  readonly fenceOf?: (run: TaskRun) => GrantFence | undefined;
  /** Sub-tasks in an outcome are checked here, since a remote worker knows nothing of the engine. */
  readonly admit?: (outcome: Outcome, taskName: string) => Outcome | Promise<Outcome>;
  /** How long ago its owner vouched for an attempt that belongs to another member; 0 for this member's own. */
  readonly renewalAgeMs?: (attemptId: string) => number;
  /**
   * The worker brings an attempt along. Whoever wants it adopts it, if need be later, or else declines; until then it is
   * announced again with each sign of life.
   */
  readonly onAnnounced: (attempt: AnnouncedAttempt) => void;
  readonly onTaskLog?: OnTaskLog | undefined;
  /** It may have other jobs, or more slots, than before. */
  readonly onChanged: (session: WorkerSession) => void;
  readonly onOver: (session: WorkerSession, how: SessionEnd) => void;
}

/** A worker that has sent nothing for so many beats has missed one: half a beat is allowed for delays. */
const beatsUntilOutOfTouch = 1.5;

/** `lost`: nothing was heard for too long. `left`: the worker stopped. `closed`: it was sent away. */
export type SessionEnd = "lost" | "left" | "closed";

export interface AnnouncedAttempt {
  readonly worker: ConnectedWorker;
  readonly descriptor: AttemptDescriptor;
  /** As `Dispatcher.adopt` takes it; settled at once if the attempt has ended. */
  readonly outcome: Promise<Answer>;
  /** Nobody wants it: the worker stops it, or forgets its result. */
  decline(): void;
}

/**
 * A remote worker, as a member sees it: what is a call to the embedded worker is a message here. It lasts through all
 * connections of the worker to this member, until the worker is lost, leaves or is sent away.
 *
 * - S1 A slot is the id of an attempt in `#held` or `#reserved`. An attempt is in `#held` until its answer is given, it is
 *   aborted, or it is forgotten; so it has one answer at most.
 * - S2 With each sign of life both ends agree on what runs (`#reconcile`): an attempt that the worker should have and does
 *   not have is given back, one that it has and should not is unwanted. So whatever else is lost, nothing stays as it is
 *   for longer than until the next beat that arrives.
 * - S3 An attempt that was told to stop has its slot here, and in its domain, until the worker has shown that it does not
 *   run any more; the order is repeated until then.
 * - S4 An answer `refused` is given only if the job was never called, or was stopped in good order. Where the attempt could
 *   have ended without this member's knowledge, because the worker has been elsewhere, it counts as lost.
 */
export class WorkerSession implements ConnectedWorker {
  readonly isRemote = true;
  /** The worker's id, after the principal's if it has one. */
  readonly id: string;
  readonly address: string;
  readonly #parts: SessionParts;
  readonly #reserved = new Set<string>();
  readonly #held = new Map<string, SessionAttempt>();
  /** Results that are being made durable. */
  readonly #reported = new Map<string, ReportedResult>();
  /** Attempts that the worker was told to stop, and may not have. */
  readonly #stopping = new Set<StoppingAttempt>();
  #jobs: ReadonlySet<string> = new Set();
  #slots = 0;
  #link: Link | undefined;
  /** No hello has come over the link yet. */
  #isNew = true;
  #beat = 0;
  /** The beat with which the worker came over this link. */
  #since = 0;
  #grants = 0;
  /** It has refused a grant: it gets none until it is heard of again. */
  #isRefusing = false;
  #isDraining = false;
  #isOver = false;
  #heardAt: number;
  /** On the wall clock. */
  #lastHeardAt: number;
  /** On the monotonic clock: since then no beat was missed and the link was not closed. Undefined until a message comes. */
  #inTouchSince: number | undefined;
  #timer: Timer | undefined;

  constructor(worker: { readonly id: string; readonly address: string }, parts: SessionParts) {
    this.id = worker.id;
    this.address = worker.address;
    this.#parts = parts;
    this.#heardAt = parts.clock.monotonic();
    this.#lastHeardAt = parts.clock.now();
    this.#watch(parts.timings.workerLostMs);
  }

  // As the dispatcher sees it

  get slots(): number {
    return this.#slots;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get isInTouch(): boolean {
    return this.#inTouchSince !== undefined && !this.#hasMissedBeat;
  }

  get #hasMissedBeat(): boolean {
    const { clock, timings } = this.#parts;
    return clock.monotonic() - this.#heardAt >= beatsUntilOutOfTouch * timings.workerBeatMs;
  }

  get lastHeardAt(): number {
    return this.#lastHeardAt;
  }

  get jobs(): readonly string[] {
    return [...this.#jobs];
  }

  timeoutGraceMs(since: number): number {
    const { clock, timings } = this.#parts;
    if (this.#inTouchSince === undefined || this.#hasMissedBeat) return Infinity;
    if (this.#inTouchSince <= since) return 0;
    return Math.max(0, this.#inTouchSince + timings.workerBeatMs - clock.monotonic());
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  drain(): void {
    this.#isDraining = true;
  }

  get connection(): WorkerConnection {
    return { worker: this.id, since: this.#since };
  }

  get freeSlots(): number {
    if (!this.isInTouch || this.#isRefusing || this.#isDraining) return 0;
    return Math.max(0, this.#slots - this.#held.size - this.#reserved.size - this.#stopping.size);
  }

  hasJob(id: string): boolean {
    return this.#jobs.has(id);
  }

  reserve(attemptId: string): void {
    if (!this.#held.has(attemptId)) this.#reserved.add(attemptId);
  }

  /** An attempt that the worker has brought along itself needs no grant. */
  execute(run: TaskRun, abort: Abort): Promise<Answer> {
    this.#reserved.delete(run.attemptId);
    const known = this.#held.get(run.attemptId);
    if (known !== undefined) {
      assert(!known.isFollowed, "an attempt is started once on a worker");
      this.follow(run.attemptId, abort);
      return known.outcome;
    }
    if (this.freeSlots < 1) return Promise.resolve({ kind: "refused", why: "the worker has no free slot any more" });
    const held = new SessionAttempt(describeAttempt(run, this.#parts.clock.now()), "granted");
    this.#held.set(run.attemptId, held);
    this.#stopWith(held, abort);
    void this.#grant(held, run);
    return held.outcome;
  }

  follow(attemptId: string, abort: Abort): boolean {
    this.#reserved.delete(attemptId);
    const reported = this.#reported.get(attemptId);
    if (reported !== undefined) reported.isFollowed = true;
    const held = this.#held.get(attemptId);
    if (held === undefined) return reported !== undefined;
    held.isFollowed = true;
    this.#stopWith(held, abort);
    return true;
  }

  stopping(attemptId: string): Promise<"stopped" | "sent away"> | undefined {
    return [...this.#stopping].findLast((stopping) => stopping.attemptId === attemptId)?.promise;
  }

  forget(attemptId: string): void {
    this.#reserved.delete(attemptId);
    this.#held.delete(attemptId);
  }

  disown(attemptId: string): void {
    const held = this.#held.get(attemptId);
    this.forget(attemptId);
    // One that was not sent yet never will be.
    if (held?.grant !== undefined) this.#bring(held.grant, held.descriptor).isConfirmed = held.isConfirmed;
  }

  acknowledge(attemptId: string): void {
    const reported = this.#reported.get(attemptId);
    if (reported === undefined) return;
    this.#reported.delete(attemptId);
    this.#send({ type: "Acknowledged", attemptId, grant: reported.grant });
  }

  /** The worker is sent to another member, with whatever it runs. */
  stop(): Promise<void> {
    this.#end("closed");
    return Promise.resolve();
  }

  // As the worker's connection sees it

  /** The worker has come, or come again, over this link; its hello follows. */
  attach(link: Link): void {
    this.#link?.close();
    this.#link = link;
    this.#inTouchSince = undefined;
    this.#isNew = true;
    this.#grants = 0;
  }

  /** What comes over an earlier link does not count any more. */
  receive(link: Link, message: WorkerMessage): void {
    if (link !== this.#link) return;
    this.#noteContact();
    switch (message.type) {
      case "Hello":
        return this.#hello(message);
      case "Heartbeat":
        return this.#heartbeat(message);
      case "Result":
        return this.#result(message, undefined);
      case "Refused":
        return this.#refused(message);
      case "Leaving":
        return this.#end("left");
      case "Logged":
        return message.lines.forEach((line) => this.#log(line));
    }
  }

  /** Only an attempt that this worker was given, and that somebody wants, can log. */
  #log({ attemptId, at, level, message, fields }: LoggedLine): void {
    const held = this.#held.get(attemptId);
    const ended = this.#reported.get(attemptId) ?? [...this.#stopping].find((each) => each.attemptId === attemptId);
    const descriptor = held?.isFollowed === true ? held.descriptor : ended?.descriptor;
    if (descriptor === undefined) return;
    const { instanceId, workflowName, taskName, attempt } = descriptor;
    this.#parts.onTaskLog?.({ attemptId, instanceId, workflowName, taskName, attempt, at, level, message, fields });
  }

  /** It may come again over another. Until then it gets nothing new. */
  linkClosed(link: Link): void {
    if (link !== this.#link) return;
    this.#link = undefined;
    this.#inTouchSince = undefined;
  }

  #noteContact(): void {
    const { clock } = this.#parts;
    const now = clock.monotonic();
    if (this.#inTouchSince === undefined || this.#hasMissedBeat) this.#inTouchSince = now;
    this.#heardAt = now;
    this.#lastHeardAt = clock.now();
  }

  // Signs of life

  #hello(hello: Hello): void {
    if (hello.beat <= this.#beat) return;
    this.#jobs = new Set(hello.jobs);
    this.#slots = hello.slots;
    const running = hello.running.map(keyOf);
    const listed = [...running, ...hello.results.map(keyOf)];
    if (this.#isNew) this.#arrive(hello, listed);
    const verdict = this.#reconcile(hello, running, listed);
    this.#send({ type: "Welcome", welcome: this.address, ...verdict });
    this.#parts.onChanged(this);
  }

  #heartbeat(heartbeat: Heartbeat): void {
    if (heartbeat.beat <= this.#beat) return;
    const { running, finished } = heartbeat;
    this.#send({ type: "Vouched", ...this.#reconcile(heartbeat, running, [...running, ...finished]) });
    this.#parts.onChanged(this);
  }

  /**
   * The first hello of a connection says all that is left of earlier ones. What it does not name has not reached the
   * worker, or has ended while it was connected to somebody else.
   */
  #arrive(hello: Hello, listed: readonly GrantKey[]): void {
    const hasBeenElsewhere = hello.lastWelcome !== this.address;
    this.#isNew = false;
    this.#since = hello.beat;
    const names = new Set(listed.map(({ attemptId }) => attemptId));
    for (const held of this.#held.values()) {
      if (held.grant === undefined) continue;
      held.grant = 0;
      if (!names.has(held.attemptId)) this.#giveBack(held, hasBeenElsewhere);
    }
    for (const reported of this.#reported.values()) reported.grant = 0;
    for (const stopping of this.#stopping) stopping.grant = 0;
    for (const { grant, descriptor } of hello.running) {
      if (!this.#held.has(descriptor.attemptId)) this.#bring(grant, descriptor);
    }
    for (const { grant, descriptor, outcome } of hello.results) {
      const { attemptId, startedAt } = descriptor;
      this.#result({ type: "Result", attemptId, grant, outcome, startedAt }, descriptor);
    }
  }

  /** Brings both ends to agree on what runs (S2). */
  #reconcile(
    { beat, lastGrant }: { readonly beat: number; readonly lastGrant: number },
    running: readonly GrantKey[],
    listed: readonly GrantKey[],
  ): Verdict {
    this.#beat = beat;
    this.#isRefusing = false;
    const grants = new Map(listed.map(({ attemptId, grant }) => [attemptId, grant]));
    for (const held of this.#held.values()) {
      if (held.grant === undefined) continue;
      if (grants.get(held.attemptId) === held.grant) this.#confirm(held);
      else if (held.grant <= lastGrant || held.isConfirmed) this.#giveBack(held, false);
      else if (held.message !== undefined) this.#send(held.message);
    }
    this.#settleStopped(lastGrant, new Map(running.map(({ attemptId, grant }) => [attemptId, grant])));
    return { beat, ...this.#judge(running) };
  }

  /** One that does not run, and will not because its grant is void, has stopped. */
  #settleStopped(lastGrant: number, running: ReadonlyMap<string, number>): void {
    for (const { attemptId, grant, reason } of this.#stopping) {
      if (running.get(attemptId) === grant) continue;
      if (grant <= lastGrant) this.#stopped({ attemptId, grant });
      else this.#sendAbort({ attemptId, grant }, reason);
    }
  }

  #stopped({ attemptId, grant }: GrantKey): void {
    for (const stopping of this.#stopping) {
      if (stopping.attemptId !== attemptId || stopping.grant !== grant) continue;
      this.#stopping.delete(stopping);
      stopping.resolve("stopped");
    }
  }

  #confirm(held: SessionAttempt): void {
    held.confirm();
    if (!held.isFollowed) held.announce?.();
  }

  #judge(running: readonly GrantKey[]): Omit<Verdict, "beat"> {
    const unwanted: GrantKey[] = [];
    const undecided: GrantKey[] = [];
    const heldFor: HeldFor[] = [];
    for (const { attemptId, grant } of running) {
      const held = this.#held.get(attemptId);
      const ageMs = this.#parts.renewalAgeMs?.(attemptId) ?? 0;
      if (held?.grant !== grant) unwanted.push({ attemptId, grant });
      else if (!held.isFollowed) undecided.push({ attemptId, grant });
      else if (ageMs > 0) heldFor.push({ attemptId, grant, ageMs });
    }
    return { unwanted, undecided, heldFor };
  }

  /** The worker does not have it, and there is no result of it. */
  #giveBack(held: SessionAttempt, hasBeenElsewhere: boolean): void {
    this.#held.delete(held.attemptId);
    // A worker that is stopping gives everything back, and the word of it may be lost.
    const isGivenBack = this.#slots === 0 && !hasBeenElsewhere;
    if (isGivenBack) held.settle({ kind: "refused", why: "the worker is stopping" });
    else if (held.isConfirmed || hasBeenElsewhere) held.settle({ kind: "lost" });
    else held.settle({ kind: "refused", why: "it did not reach the worker" });
  }

  /** Gives the worker up if nothing was heard of it for long. What has arrived while this member was busy is read first. */
  #watch(delayMs: number): void {
    const { clock, timings } = this.#parts;
    const look = (): void => {
      const silentMs = clock.monotonic() - this.#heardAt;
      if (this.#isOver) return;
      if (silentMs < timings.workerLostMs) this.#watch(Math.max(1, timings.workerLostMs - silentMs));
      else this.#end("lost");
    };
    this.#timer = clock.after(delayMs, () => clock.soon(look));
  }

  #end(how: SessionEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#timer?.cancel();
    if (how !== "left") this.#send({ type: "Goodbye" });
    this.#link?.close();
    this.#link = undefined;
    this.#held.clear();
    this.#reserved.clear();
    this.#reported.clear();
    for (const { resolve } of this.#stopping) resolve(how === "closed" ? "sent away" : "stopped");
    this.#stopping.clear();
    this.#parts.onOver(this, how);
  }

  // Attempts

  async #grant(held: SessionAttempt, run: TaskRun): Promise<void> {
    const { attemptId, descriptor } = held;
    const { params } = run;
    let message: Omit<Grant, "grant">;
    try {
      const inputs = await run.inputs();
      const fence = this.#parts.fenceOf?.(run);
      message = { type: "Grant", descriptor, params, inputs, ...(fence === undefined ? {} : { fence }) };
    } catch (error) {
      if (this.#held.get(attemptId) === held) this.#held.delete(attemptId);
      held.fail(error);
      return;
    }
    if (this.#held.get(attemptId) !== held) return;
    if (this.#link === undefined) return this.#giveBack(held, false);
    held.grant = ++this.#grants;
    held.message = { ...message, grant: held.grant };
    this.#send(held.message);
  }

  #stopWith(held: SessionAttempt, abort: Abort): void {
    const { attemptId } = held;
    const stop = (): void => {
      if (this.#held.get(attemptId) !== held) return;
      this.#held.delete(attemptId);
      if (held.grant !== undefined) this.#stop(held.grant, held.descriptor, abort.signal.reason);
    };
    if (abort.aborted) stop();
    else abort.signal.addEventListener("abort", stop, { once: true });
  }

  /** Said again until the worker has shown that it knows. */
  #stop(grant: number, descriptor: AttemptDescriptor, reason: unknown): void {
    const { attemptId } = descriptor;
    const { promise, resolve } = Promise.withResolvers<"stopped" | "sent away">();
    this.#stopping.add({ attemptId, descriptor, grant, reason, promise, resolve });
    this.#sendAbort({ attemptId, grant }, reason);
  }

  /** `descriptor` is there if the worker brings it along from elsewhere: then somebody else may want it. */
  #result({ attemptId, grant, outcome }: Result, descriptor: AttemptDescriptor | undefined): void {
    const { clock, timings } = this.#parts;
    const since = clock.monotonic();
    this.#stopped({ attemptId, grant });
    const held = this.#held.get(attemptId);
    const reported = this.#reported.get(attemptId);
    if (held?.grant === grant) {
      this.#held.delete(attemptId);
      this.#reported.set(attemptId, { grant, descriptor: held.descriptor, since, isFollowed: held.isFollowed });
      held.settle(this.#admitted(outcome, held.descriptor));
      if (!held.isFollowed) this.#parts.onChanged(this);
    } else if (outcome.kind === "lost") {
      // That this worker gave it up is no news to anybody else, who may have started it anew since.
      this.#send({ type: "Acknowledged", attemptId, grant });
    } else if (reported?.grant === grant) {
      // Nobody has said yet who wants it; or whoever was to make it durable has not, and somebody else may have to.
      if (since - reported.since < (reported.isFollowed ? 2 * timings.workerBeatMs : timings.workerBeatMs)) return;
      Object.assign(reported, { since, isFollowed: false });
      this.#announceResult(reported.descriptor, outcome);
    } else if (descriptor !== undefined) {
      this.#reported.set(attemptId, { grant, descriptor, since, isFollowed: false });
      this.#announceResult(descriptor, outcome);
    } else this.#send({ type: "Acknowledged", attemptId, grant });
  }

  #refused({ attemptId, grant, why }: Refusal): void {
    this.#stopped({ attemptId, grant });
    const held = this.#held.get(attemptId);
    if (held === undefined || held.grant !== grant) return;
    this.#isRefusing = true;
    this.#held.delete(attemptId);
    held.settle({ kind: "refused", why });
  }

  #bring(grant: number, descriptor: AttemptDescriptor): SessionAttempt {
    const { attemptId } = descriptor;
    const held = new SessionAttempt(descriptor, "announced");
    held.grant = grant;
    this.#held.set(attemptId, held);
    // Looked at or not: a rejection is told to whoever adopts it.
    held.outcome.catch(() => undefined);
    const decline = (): void => {
      if (this.#held.get(attemptId) !== held || held.isFollowed) return this.acknowledge(attemptId);
      this.#held.delete(attemptId);
      this.#sendAbort({ attemptId, grant: held.grant ?? 0 }, new DOMException("nobody wants it", "AbortError"));
      this.#parts.onChanged(this);
    };
    held.announce = () => this.#announce({ worker: this, descriptor, outcome: held.outcome, decline });
    return held;
  }

  #announceResult(descriptor: AttemptDescriptor, outcome: Outcome): void {
    const admitted = Promise.resolve(this.#admitted(outcome, descriptor));
    admitted.catch(() => undefined);
    const decline = (): void => this.acknowledge(descriptor.attemptId);
    this.#announce({ worker: this, descriptor, outcome: admitted, decline });
  }

  #announce(attempt: AnnouncedAttempt): void {
    try {
      this.#parts.onAnnounced(attempt);
    } catch (error) {
      const { attemptId } = attempt.descriptor;
      this.#parts.logger.error(
        { attemptId, error: messageOf(error) },
        "an attempt that a worker brought was not taken",
      );
    }
  }

  #admitted(outcome: Outcome, { taskName }: AttemptDescriptor): Outcome | Promise<Outcome> {
    return this.#parts.admit?.(outcome, taskName) ?? outcome;
  }

  #sendAbort(key: GrantKey, reason: unknown): void {
    const { name, message } = reason instanceof Error ? reason : new Error(String(reason));
    this.#send({ type: "Abort", ...key, reason: { name, message } });
  }

  #send(message: MemberMessage): void {
    this.#link?.send(formatMessage(message));
  }
}

interface StoppingAttempt {
  readonly attemptId: string;
  readonly descriptor: AttemptDescriptor;
  grant: number;
  readonly reason: unknown;
  readonly promise: Promise<"stopped" | "sent away">;
  readonly resolve: (how: "stopped" | "sent away") => void;
}

interface ReportedResult {
  grant: number;
  readonly descriptor: AttemptDescriptor;
  /** When somebody was told of it. */
  since: number;
  isFollowed: boolean;
}

function keyOf({ grant, descriptor }: RunningAttempt): GrantKey {
  return { attemptId: descriptor.attemptId, grant };
}
