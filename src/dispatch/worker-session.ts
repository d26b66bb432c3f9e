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
  type RenewalAge,
  type Hello,
  type LoggedLine,
  type MemberMessage,
  type Refusal,
  type Result,
  type RunningAttempt,
  type LeaseRenewal,
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
const heartbeatsUntilUnreachable = 1.5;

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
 * - S1 A slot is the id of an attempt in `#attempts` or `#reserved`. An attempt is in `#attempts` until its answer is given, it is
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
  readonly #attempts = new Map<string, SessionAttempt>();
  /** Results that are being made durable. */
  readonly #reported = new Map<string, ReportedResult>();
  /** Attempts that the worker was told to stop, and may not have. */
  readonly #stopping = new Set<StoppingAttempt>();
  #jobs: ReadonlySet<string> = new Set();
  #slots = 0;
  #link: Link | undefined;
  /** No hello has come over the link yet. */
  #isNew = true;
  #sequence = 0;
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
  #reachableSince: number | undefined;
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

  get isReachable(): boolean {
    return this.#reachableSince !== undefined && !this.#hasMissedHeartbeat;
  }

  get #hasMissedHeartbeat(): boolean {
    const { clock, timings } = this.#parts;
    return clock.monotonic() - this.#heardAt >= heartbeatsUntilUnreachable * timings.workerBeatMs;
  }

  get lastHeardAt(): number {
    return this.#lastHeardAt;
  }

  get jobs(): readonly string[] {
    return [...this.#jobs];
  }

  timeoutGraceMs(since: number): number {
    const { clock, timings } = this.#parts;
    if (this.#reachableSince === undefined || this.#hasMissedHeartbeat) return Infinity;
    if (this.#reachableSince <= since) return 0;
    return Math.max(0, this.#reachableSince + timings.workerBeatMs - clock.monotonic());
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
    if (!this.isReachable || this.#isRefusing || this.#isDraining) return 0;
    return Math.max(0, this.#slots - this.#attempts.size - this.#reserved.size - this.#stopping.size);
  }

  hasJob(id: string): boolean {
    return this.#jobs.has(id);
  }

  reserve(attemptId: string): void {
    if (!this.#attempts.has(attemptId)) this.#reserved.add(attemptId);
  }

  /** An attempt that the worker has brought along itself needs no grant. */
  execute(run: TaskRun, abort: Abort): Promise<Answer> {
    this.#reserved.delete(run.attemptId);
    const known = this.#attempts.get(run.attemptId);
    if (known !== undefined) {
      assert(!known.isFollowed, "an attempt is started once on a worker");
      this.follow(run.attemptId, abort);
      return known.outcome;
    }
    if (this.freeSlots < 1) return Promise.resolve({ kind: "refused", why: "the worker has no free slot any more" });
    const attempt = new SessionAttempt(describeAttempt(run, this.#parts.clock.now()), "granted");
    this.#attempts.set(run.attemptId, attempt);
    this.#stopOnAbort(attempt, abort);
    void this.#grant(attempt, run);
    return attempt.outcome;
  }

  follow(attemptId: string, abort: Abort): boolean {
    this.#reserved.delete(attemptId);
    const reported = this.#reported.get(attemptId);
    if (reported !== undefined) reported.isFollowed = true;
    const attempt = this.#attempts.get(attemptId);
    if (attempt === undefined) return reported !== undefined;
    attempt.isFollowed = true;
    this.#stopOnAbort(attempt, abort);
    return true;
  }

  whenStopped(attemptId: string): Promise<"stopped" | "disconnected"> | undefined {
    return [...this.#stopping].findLast((stopping) => stopping.attemptId === attemptId)?.promise;
  }

  forget(attemptId: string): void {
    this.#reserved.delete(attemptId);
    this.#attempts.delete(attemptId);
  }

  release(attemptId: string): void {
    const attempt = this.#attempts.get(attemptId);
    this.forget(attemptId);
    // One that was not sent yet never will be.
    if (attempt?.grant !== undefined)
      this.#addAnnounced(attempt.grant, attempt.descriptor).isConfirmed = attempt.isConfirmed;
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
    this.#reachableSince = undefined;
    this.#isNew = true;
    this.#grants = 0;
  }

  /** What comes over an earlier link does not count any more. */
  receive(link: Link, message: WorkerMessage): void {
    if (link !== this.#link) return;
    this.#noteContact();
    switch (message.type) {
      case "Hello":
        return this.#onHello(message);
      case "Heartbeat":
        return this.#onHeartbeat(message);
      case "Result":
        return this.#onResult(message, undefined);
      case "Refused":
        return this.#onRefused(message);
      case "Leaving":
        return this.#end("left");
      case "Logged":
        return message.lines.forEach((line) => this.#log(line));
    }
  }

  /** Only an attempt that this worker was given, and that somebody wants, can log. */
  #log({ attemptId, at, level, message, fields }: LoggedLine): void {
    const running = this.#attempts.get(attemptId);
    const ended = this.#reported.get(attemptId) ?? [...this.#stopping].find((each) => each.attemptId === attemptId);
    const descriptor = running?.isFollowed === true ? running.descriptor : ended?.descriptor;
    if (descriptor === undefined) return;
    const { instanceId, workflowName, taskName, attempt } = descriptor;
    this.#parts.onTaskLog?.({ attemptId, instanceId, workflowName, taskName, attempt, at, level, message, fields });
  }

  /** It may come again over another. Until then it gets nothing new. */
  onLinkClosed(link: Link): void {
    if (link !== this.#link) return;
    this.#link = undefined;
    this.#reachableSince = undefined;
  }

  #noteContact(): void {
    const { clock } = this.#parts;
    const now = clock.monotonic();
    if (this.#reachableSince === undefined || this.#hasMissedHeartbeat) this.#reachableSince = now;
    this.#heardAt = now;
    this.#lastHeardAt = clock.now();
  }

  // Signs of life

  #onHello(hello: Hello): void {
    if (hello.sequence <= this.#sequence) return;
    this.#jobs = new Set(hello.jobs);
    this.#slots = hello.slots;
    const running = hello.running.map(keyOf);
    const listed = [...running, ...hello.results.map(keyOf)];
    if (this.#isNew) this.#onFirstHello(hello, listed);
    const verdict = this.#reconcile(hello, running, listed);
    this.#send({ type: "Welcome", welcome: this.address, ...verdict });
    this.#parts.onChanged(this);
  }

  #onHeartbeat(heartbeat: Heartbeat): void {
    if (heartbeat.sequence <= this.#sequence) return;
    const { running, finished } = heartbeat;
    this.#send({ type: "Renewed", ...this.#reconcile(heartbeat, running, [...running, ...finished]) });
    this.#parts.onChanged(this);
  }

  /**
   * The first hello of a connection says all that is left of earlier ones. What it does not name has not reached the
   * worker, or has ended while it was connected to somebody else.
   */
  #onFirstHello(hello: Hello, listed: readonly GrantKey[]): void {
    const hasBeenElsewhere = hello.lastWelcome !== this.address;
    this.#isNew = false;
    this.#since = hello.sequence;
    const names = new Set(listed.map(({ attemptId }) => attemptId));
    for (const attempt of this.#attempts.values()) {
      if (attempt.grant === undefined) continue;
      attempt.grant = 0;
      if (!names.has(attempt.attemptId)) this.#settleMissing(attempt, hasBeenElsewhere);
    }
    for (const reported of this.#reported.values()) reported.grant = 0;
    for (const stopping of this.#stopping) stopping.grant = 0;
    for (const { grant, descriptor } of hello.running) {
      if (!this.#attempts.has(descriptor.attemptId)) this.#addAnnounced(grant, descriptor);
    }
    for (const { grant, descriptor, outcome } of hello.results) {
      const { attemptId, startedAt } = descriptor;
      this.#onResult({ type: "Result", attemptId, grant, outcome, startedAt }, descriptor);
    }
  }

  /** Brings both ends to agree on what runs (S2). */
  #reconcile(
    { sequence, lastGrant }: { readonly sequence: number; readonly lastGrant: number },
    running: readonly GrantKey[],
    listed: readonly GrantKey[],
  ): LeaseRenewal {
    this.#sequence = sequence;
    this.#isRefusing = false;
    const grants = new Map(listed.map(({ attemptId, grant }) => [attemptId, grant]));
    for (const attempt of this.#attempts.values()) {
      if (attempt.grant === undefined) continue;
      if (grants.get(attempt.attemptId) === attempt.grant) this.#confirm(attempt);
      else if (attempt.grant <= lastGrant || attempt.isConfirmed) this.#settleMissing(attempt, false);
      else if (attempt.message !== undefined) this.#send(attempt.message);
    }
    this.#settleAllStopping(lastGrant, new Map(running.map(({ attemptId, grant }) => [attemptId, grant])));
    return { sequence, ...this.#renewLeases(running) };
  }

  /** One that does not run, and will not because its grant is void, has stopped. */
  #settleAllStopping(lastGrant: number, running: ReadonlyMap<string, number>): void {
    for (const { attemptId, grant, reason } of this.#stopping) {
      if (running.get(attemptId) === grant) continue;
      if (grant <= lastGrant) this.#settleStopping({ attemptId, grant });
      else this.#sendAbort({ attemptId, grant }, reason);
    }
  }

  #settleStopping({ attemptId, grant }: GrantKey): void {
    for (const stopping of this.#stopping) {
      if (stopping.attemptId !== attemptId || stopping.grant !== grant) continue;
      this.#stopping.delete(stopping);
      stopping.resolve("stopped");
    }
  }

  #confirm(attempt: SessionAttempt): void {
    attempt.confirm();
    if (!attempt.isFollowed) attempt.announce?.();
  }

  #renewLeases(running: readonly GrantKey[]): Omit<LeaseRenewal, "sequence"> {
    const unwanted: GrantKey[] = [];
    const undecided: GrantKey[] = [];
    const renewalAges: RenewalAge[] = [];
    for (const { attemptId, grant } of running) {
      const attempt = this.#attempts.get(attemptId);
      const ageMs = this.#parts.renewalAgeMs?.(attemptId) ?? 0;
      if (attempt?.grant !== grant) unwanted.push({ attemptId, grant });
      else if (!attempt.isFollowed) undecided.push({ attemptId, grant });
      else if (ageMs > 0) renewalAges.push({ attemptId, grant, ageMs });
    }
    return { unwanted, undecided, renewalAges };
  }

  /** The worker does not have it, and there is no result of it. */
  #settleMissing(attempt: SessionAttempt, hasBeenElsewhere: boolean): void {
    this.#attempts.delete(attempt.attemptId);
    // A worker that is stopping gives everything back, and the word of it may be lost.
    const isGivenBack = this.#slots === 0 && !hasBeenElsewhere;
    if (isGivenBack) attempt.settle({ kind: "refused", why: "the worker is stopping" });
    else if (attempt.isConfirmed || hasBeenElsewhere) attempt.settle({ kind: "lost" });
    else attempt.settle({ kind: "refused", why: "it did not reach the worker" });
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
    this.#attempts.clear();
    this.#reserved.clear();
    this.#reported.clear();
    for (const { resolve } of this.#stopping) resolve(how === "closed" ? "disconnected" : "stopped");
    this.#stopping.clear();
    this.#parts.onOver(this, how);
  }

  // Attempts

  async #grant(attempt: SessionAttempt, run: TaskRun): Promise<void> {
    const { attemptId, descriptor } = attempt;
    const { params } = run;
    let message: Omit<Grant, "grant">;
    try {
      const inputs = await run.inputs();
      const fence = this.#parts.fenceOf?.(run);
      message = { type: "Grant", descriptor, params, inputs, ...(fence === undefined ? {} : { fence }) };
    } catch (error) {
      if (this.#attempts.get(attemptId) === attempt) this.#attempts.delete(attemptId);
      attempt.fail(error);
      return;
    }
    if (this.#attempts.get(attemptId) !== attempt) return;
    if (this.#link === undefined) return this.#settleMissing(attempt, false);
    attempt.grant = ++this.#grants;
    attempt.message = { ...message, grant: attempt.grant };
    this.#send(attempt.message);
  }

  #stopOnAbort(attempt: SessionAttempt, abort: Abort): void {
    const { attemptId } = attempt;
    const stop = (): void => {
      if (this.#attempts.get(attemptId) !== attempt) return;
      this.#attempts.delete(attemptId);
      if (attempt.grant !== undefined) this.#stop(attempt.grant, attempt.descriptor, abort.signal.reason);
    };
    if (abort.aborted) stop();
    else abort.signal.addEventListener("abort", stop, { once: true });
  }

  /** Said again until the worker has shown that it knows. */
  #stop(grant: number, descriptor: AttemptDescriptor, reason: unknown): void {
    const { attemptId } = descriptor;
    const { promise, resolve } = Promise.withResolvers<"stopped" | "disconnected">();
    this.#stopping.add({ attemptId, descriptor, grant, reason, promise, resolve });
    this.#sendAbort({ attemptId, grant }, reason);
  }

  /** `descriptor` is there if the worker brings it along from elsewhere: then somebody else may want it. */
  #onResult({ attemptId, grant, outcome }: Result, descriptor: AttemptDescriptor | undefined): void {
    const { clock, timings } = this.#parts;
    const since = clock.monotonic();
    this.#settleStopping({ attemptId, grant });
    const attempt = this.#attempts.get(attemptId);
    const reported = this.#reported.get(attemptId);
    if (attempt?.grant === grant) {
      this.#attempts.delete(attemptId);
      this.#reported.set(attemptId, { grant, descriptor: attempt.descriptor, since, isFollowed: attempt.isFollowed });
      attempt.settle(this.#admit(outcome, attempt.descriptor));
      if (!attempt.isFollowed) this.#parts.onChanged(this);
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

  #onRefused({ attemptId, grant, why }: Refusal): void {
    this.#settleStopping({ attemptId, grant });
    const attempt = this.#attempts.get(attemptId);
    if (attempt === undefined || attempt.grant !== grant) return;
    this.#isRefusing = true;
    this.#attempts.delete(attemptId);
    attempt.settle({ kind: "refused", why });
  }

  #addAnnounced(grant: number, descriptor: AttemptDescriptor): SessionAttempt {
    const { attemptId } = descriptor;
    const attempt = new SessionAttempt(descriptor, "announced");
    attempt.grant = grant;
    this.#attempts.set(attemptId, attempt);
    // Looked at or not: a rejection is told to whoever adopts it.
    attempt.outcome.catch(() => undefined);
    const decline = (): void => {
      if (this.#attempts.get(attemptId) !== attempt || attempt.isFollowed) return this.acknowledge(attemptId);
      this.#attempts.delete(attemptId);
      this.#sendAbort({ attemptId, grant: attempt.grant ?? 0 }, new DOMException("nobody wants it", "AbortError"));
      this.#parts.onChanged(this);
    };
    attempt.announce = () => this.#announce({ worker: this, descriptor, outcome: attempt.outcome, decline });
    return attempt;
  }

  #announceResult(descriptor: AttemptDescriptor, outcome: Outcome): void {
    const admitted = Promise.resolve(this.#admit(outcome, descriptor));
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

  #admit(outcome: Outcome, { taskName }: AttemptDescriptor): Outcome | Promise<Outcome> {
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
  readonly promise: Promise<"stopped" | "disconnected">;
  readonly resolve: (how: "stopped" | "disconnected") => void;
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
