import { assert } from "../base/assert.ts";
import type { Clock, Timer } from "../base/clock.ts";
import { messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { ClusterTimings } from "../cluster/timings.ts";
import type { Outcome } from "../kernel/input.ts";
import type { Abort } from "./abort.ts";
import { type AttemptDescriptor, describeAttempt, localNames } from "./attempt-descriptor.ts";
import { answerQuestion, type AskOwner } from "./attempt-question.ts";
import type { OnReport } from "./attempt-report.ts";
import type { GrantFence } from "./grant-fence.ts";
import { type AnnouncedAttempt, type ReportedResult, SessionAttempt, type StoppingAttempt } from "./session-attempt.ts";
import type { Link } from "./link.ts";
import {
  formatMessage,
  type Grant,
  type GrantKey,
  type Heartbeat,
  type RenewalAge,
  type Hello,
  type JobDetails,
  type LoggedLine,
  type MemberMessage,
  type QuestionAsked,
  type GrantRefusal,
  type Result,
  type RunningAttempt,
  type LeaseRenewal,
  type WorkerMessage,
} from "./session-message.ts";
import type { OnTaskLog } from "./task-log.ts";
import { type SessionCode, SessionTurns } from "./session-turns.ts";
import type { TaskOfInstance, TaskRun } from "./task-run.ts";
import { WorkerAnnouncement } from "./worker-announcement.ts";
import type { WorkerAnswer, ConnectedWorker, WorkerConnection } from "./worker.ts";

export interface SessionParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly timings: Pick<ClusterTimings, "workerBeatMs" | "workerLostMs">;
  /** The shard of a run and the epoch in which this member owns it; undefined for runs that belong to no shard. */
  readonly fenceOf?: (run: TaskRun) => GrantFence | undefined;
  /** Checks the sub-tasks in an outcome, which a remote worker cannot do. */
  readonly checkOutcome?: (outcome: Outcome, task: TaskOfInstance) => Outcome | Promise<Outcome>;
  /** The age of the last lease renewal by the owner of a hosted attempt; 0 for this member's own attempts. */
  readonly renewalAgeMs?: (attemptId: string) => number;
  /**
   * Called when the worker announces an attempt from an earlier connection, and again with each heartbeat until it is
   * adopted or declined.
   */
  readonly onAnnounced: (attempt: AnnouncedAttempt) => void;
  /** Resolves with true when the worker can be granted an attempt of the domain; undefined if it can at once. */
  readonly prepareGrant?: ((session: WorkerSession, domain: string) => Promise<boolean> | undefined) | undefined;
  readonly onTaskLog?: OnTaskLog | undefined;
  readonly onReport?: OnReport | undefined;
  /** Asks the owner of an instance on behalf of an attempt that runs on the worker. */
  readonly ask?: AskOwner | undefined;
  /** Called with the details of its jobs when a worker has connected. */
  readonly onJobs?: ((jobs: readonly JobDetails[], namespace: string) => void) | undefined;
  /** Questions about code; undefined where code runs in this process only. */
  readonly code?: SessionCode | undefined;
  /** Called when the worker may have other jobs or more free slots than before. */
  readonly onChanged: (session: WorkerSession) => void;
  readonly onOver: (session: WorkerSession, how: SessionEnd) => void;
}

/** A worker is unreachable after this many heartbeat intervals without a message: half an interval is allowed for delays. */
const heartbeatsUntilUnreachable = 1.5;

/** `lost`: no heartbeat for too long. `left`: the worker stopped. `closed`: this member disconnected it. */
export type SessionEnd = "lost" | "left" | "closed";

/**
 * The member's end of a session with a remote worker. It lasts through all connections of the worker to this member, until
 * the worker is lost, leaves or is disconnected.
 *
 * - S1 A slot is the id of an attempt in `#attempts` or `#reserved`. An attempt is in `#attempts` until it is answered,
 *   aborted or forgotten; so it has one answer at most.
 * - S2 With each heartbeat both ends agree on what runs (`#reconcile`): an attempt that the worker should have and does not
 *   have is settled as missing, one that it has and should not is unwanted. So whatever message is lost, the two ends
 *   differ only until the next heartbeat that arrives.
 * - S3 An aborted attempt keeps its slot here, and in its domain, until the worker has shown that it does not run any more;
 *   the abort is repeated until then.
 * - S4 An answer `refused` is given only if the job was never called, or stopped with its worker. An attempt that could have
 *   ended without this member's knowledge, because the worker was connected to another, counts as lost.
 */
export class WorkerSession implements ConnectedWorker {
  readonly isRemote = true;
  /** The worker's id, prefixed with its namespace and its principal. */
  readonly id: string;
  readonly address: string;
  readonly namespace: string;
  readonly #parts: SessionParts;
  readonly #reserved = new Set<string>();
  readonly #attempts = new Map<string, SessionAttempt>();
  /** Results that are being made durable. */
  readonly #reported = new Map<string, ReportedResult>();
  /** Aborted attempts that the worker may not have stopped yet. */
  readonly #stopping = new Set<StoppingAttempt>();
  readonly #turns: SessionTurns | undefined;
  /** Questions of its jobs that are being answered, by number. */
  readonly #questions = new Set<number>();
  #announced: WorkerAnnouncement;
  #link: Link | undefined;
  /** True if no hello has come over the link yet. */
  #isNew = true;
  #sequence = 0;
  /** The sequence number of the first hello over this link. */
  #since = 0;
  #grants = 0;
  /** True if the worker has refused a grant: it gets none until its next heartbeat. */
  #isRefusing = false;
  #isDraining = false;
  #isOver = false;
  #heardAt: number;
  /** Wall-clock time of the last message. */
  #lastHeardAt: number;
  /** Monotonic time since which no heartbeat was missed and the link was open. Undefined until the first message of a link. */
  #reachableSince: number | undefined;
  #timer: Timer | undefined;

  constructor(worker: Pick<WorkerSession, "id" | "address" | "namespace">, parts: SessionParts) {
    this.id = worker.id;
    this.address = worker.address;
    this.namespace = worker.namespace;
    this.#parts = parts;
    this.#announced = new WorkerAnnouncement(worker.namespace, { jobs: [], slots: 0 });
    this.#heardAt = parts.clock.monotonic();
    this.#lastHeardAt = parts.clock.now();
    this.#armTimer(parts.timings.workerLostMs);
    this.#turns = parts.code && new SessionTurns(this, parts.code, () => this.#link?.bufferedBytes ?? 0);
  }

  // The dispatcher's side

  get slots(): number {
    return this.#announced.slots;
  }

  get tags(): ReadonlySet<string> {
    return this.#announced.tags;
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
    return this.#announced.jobs;
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
    return Math.max(0, this.slots - this.#attempts.size - this.#reserved.size - this.#stopping.size);
  }

  /** True if the worker may run attempts that nobody follows here. */
  get hasStrays(): boolean {
    return this.#stopping.size > 0 || [...this.#attempts.values()].some(({ isFollowed }) => !isFollowed);
  }

  hasJob(id: string): boolean {
    return this.#announced.hasJob(id);
  }

  reserve(attemptId: string): void {
    if (!this.#attempts.has(attemptId)) this.#reserved.add(attemptId);
  }

  /** Grants the attempt to the worker, unless the worker has announced that it runs it already. */
  execute(run: TaskRun, abort: Abort): Promise<WorkerAnswer> {
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

  unfollow(attemptId: string): void {
    const attempt = this.#attempts.get(attemptId);
    this.forget(attemptId);
    // An attempt whose grant was not sent yet will not be sent any more.
    if (attempt?.grant !== undefined)
      this.#addAnnounced(attempt.grant, attempt.descriptor).isConfirmed = attempt.isConfirmed;
  }

  keepResult(attemptId: string): void {
    const { grant, descriptor } = this.#attempts.get(attemptId) ?? {};
    if (grant === undefined || descriptor === undefined) return;
    this.#reported.set(attemptId, { grant, descriptor, since: this.#parts.clock.monotonic(), isFollowed: true });
  }

  acknowledge(attemptId: string): void {
    const reported = this.#reported.get(attemptId);
    if (reported === undefined) return;
    this.#reported.delete(attemptId);
    this.send({ type: "Acknowledged", attemptId, grant: reported.grant });
  }

  /** Disconnects the worker, which takes its attempts to another member. */
  stop(): Promise<void> {
    this.#end("closed");
    return Promise.resolve();
  }

  // The connection's side

  /** Replaces the link of the worker, which has connected (again); its hello follows. */
  attach(link: Link): void {
    this.#link?.close();
    this.#link = link;
    this.#reachableSince = undefined;
    this.#isNew = true;
    this.#grants = 0;
  }

  /** Handles a message of the worker; ignores those of an earlier link. */
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
      case "TurnAnswered":
        return this.#turns?.onAnswered(message);
      case "HistoryAsked":
        return void this.#turns?.onHistoryAsked(message);
      case "QuestionAsked":
        return void this.#onQuestion(message);
      case "Leaving":
        return this.#end("left");
      case "Logged":
        return message.lines.forEach((line) => this.#log(line));
      case "Reported":
        // A report counts only if its attempt runs on this worker and an owner follows it.
        for (const { attemptId, ...report } of message.reports) {
          if (this.#attempts.get(attemptId)?.isFollowed === true) this.#parts.onReport?.(attemptId, report);
        }
        return;
    }
  }

  /** A worker asks for attempts that were granted to it only. It repeats a question that it finds unanswered. */
  async #onQuestion({ question, attemptId, body }: QuestionAsked): Promise<void> {
    const attempt = this.#attempts.get(attemptId);
    if (attempt?.isFollowed !== true || this.#questions.has(question)) return;
    this.#questions.add(question);
    const answer = await answerQuestion(this.#parts.ask, attempt.descriptor, { question, body });
    this.#questions.delete(question);
    this.send({ type: "QuestionAnswered", ...answer });
  }

  /** Passes a log line on if its attempt was granted to this worker and an owner follows it. */
  #log({ attemptId, at, level, message, fields }: LoggedLine): void {
    const running = this.#attempts.get(attemptId);
    const ended = this.#reported.get(attemptId) ?? [...this.#stopping].find((each) => each.attemptId === attemptId);
    const descriptor = running?.isFollowed === true ? running.descriptor : ended?.descriptor;
    if (descriptor === undefined) return;
    this.#parts.onTaskLog?.({ attemptId, ...localNames(descriptor), at, level, message, fields });
  }

  /** Makes the worker unreachable: it gets nothing new until it connects again. */
  onLinkClosed(link: Link): void {
    if (link !== this.#link) return;
    this.#link = undefined;
    this.#reachableSince = undefined;
    this.#turns?.onLinkClosed();
  }

  #noteContact(): void {
    const { clock } = this.#parts;
    const now = clock.monotonic();
    if (this.#reachableSince === undefined || this.#hasMissedHeartbeat) this.#reachableSince = now;
    this.#heardAt = now;
    this.#lastHeardAt = clock.now();
  }

  // Heartbeats

  #onHello(hello: Hello): void {
    if (hello.sequence <= this.#sequence) return;
    this.#announced = new WorkerAnnouncement(this.namespace, hello);
    if (this.#isNew && hello.slots > 0) this.#parts.onJobs?.(hello.jobDetails ?? [], this.namespace);
    const running = hello.running.map(keyOf);
    const listed = [...running, ...hello.results.map(keyOf)];
    if (this.#isNew) this.#onFirstHello(hello, listed);
    const verdict = this.#reconcile(hello, running, listed);
    const { workerBeatMs: beatMs, workerLostMs: lostMs } = this.#parts.timings;
    this.send({ type: "Welcome", welcome: this.address, beatMs, lostMs, ...verdict });
    this.#turns?.onHello(hello);
    this.#parts.onChanged(this);
  }

  #onHeartbeat(heartbeat: Heartbeat): void {
    if (heartbeat.sequence <= this.#sequence) return;
    const { running, finished } = heartbeat;
    this.send({ type: "Renewed", ...this.#reconcile(heartbeat, running, [...running, ...finished]) });
    this.#turns?.onHeartbeat(heartbeat.turns ?? []);
    this.#parts.onChanged(this);
  }

  /**
   * Handles the first hello of a connection, which lists all that is left of earlier ones. An attempt that it does not name
   * has not reached the worker, or has ended while the worker was connected to another member.
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

  /** Makes both ends agree on what runs (S2), and renews the leases of the attempts that are wanted. */
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
      if (grants.get(attempt.attemptId) === attempt.grant) {
        attempt.confirm();
        if (!attempt.isFollowed) attempt.announce?.();
      } else if (attempt.grant <= lastGrant || attempt.isConfirmed) this.#settleMissing(attempt, false);
      else if (attempt.message !== undefined) this.send(attempt.message);
    }
    this.#settleAllStopping(lastGrant, new Map(running.map(({ attemptId, grant }) => [attemptId, grant])));
    return { sequence, ...this.#renewLeases(running) };
  }

  /** Settles aborted attempts that do not run and whose grant is void; repeats the abort of the others. */
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
      this.#parts.onChanged(this);
    }
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

  /** Settles an attempt that the worker neither runs nor has a result of. */
  #settleMissing(attempt: SessionAttempt, hasBeenElsewhere: boolean): void {
    this.#attempts.delete(attempt.attemptId);
    // A stopping worker refuses all its attempts, and those messages may be lost.
    const isGivenBack = this.slots === 0 && !hasBeenElsewhere;
    if (isGivenBack) attempt.settle({ kind: "refused", why: "the worker is stopping" });
    else if (attempt.isConfirmed || hasBeenElsewhere) attempt.settle({ kind: "lost" });
    else attempt.settle({ kind: "refused", why: "it did not reach the worker" });
  }

  /** Declares the worker lost after `workerLostMs` without a message. Reads messages that arrived while this member was busy first. */
  #armTimer(delayMs: number): void {
    const { clock, timings } = this.#parts;
    const look = (): void => {
      const silentMs = clock.monotonic() - this.#heardAt;
      if (this.#isOver) return;
      if (silentMs < timings.workerLostMs) this.#armTimer(Math.max(1, timings.workerLostMs - silentMs));
      else this.#end("lost");
    };
    this.#timer = clock.after(delayMs, () => clock.soon(look));
  }

  #end(how: SessionEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#timer?.cancel();
    if (how !== "left") this.send({ type: "Goodbye" });
    this.#link?.close();
    this.#link = undefined;
    this.#attempts.clear();
    this.#reserved.clear();
    this.#reported.clear();
    for (const { resolve } of this.#stopping) resolve(how === "closed" ? "disconnected" : "stopped");
    this.#stopping.clear();
    this.#turns?.end(how === "lost" ? "lost" : "left");
    this.#parts.onOver(this, how);
  }

  // Attempts

  async #grant(attempt: SessionAttempt, run: TaskRun): Promise<void> {
    const { attemptId, descriptor } = attempt;
    const { params, completionToken } = run;
    let message: Omit<Grant, "grant">;
    const preparing = this.#parts.prepareGrant?.(this, run.domain);
    const isPrepared = preparing === undefined || (await preparing);
    try {
      const inputs = await run.inputs();
      const fence = this.#parts.fenceOf?.(run);
      message = {
        type: "Grant",
        descriptor,
        params,
        inputs,
        ...(completionToken === undefined ? {} : { completionToken }),
        ...(fence === undefined ? {} : { fence }),
      };
    } catch (error) {
      if (this.#attempts.get(attemptId) === attempt) this.#attempts.delete(attemptId);
      attempt.fail(error);
      return;
    }
    if (this.#attempts.get(attemptId) !== attempt) return;
    if (!isPrepared) this.#isRefusing = true;
    if (!isPrepared || this.#link === undefined) return this.#settleMissing(attempt, false);
    attempt.grant = ++this.#grants;
    attempt.message = { ...message, grant: attempt.grant };
    this.send(attempt.message);
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

  /** Sends an abort, which is repeated with each heartbeat until the worker has stopped the attempt (S3). */
  #stop(grant: number, descriptor: AttemptDescriptor, reason: unknown): void {
    const { attemptId } = descriptor;
    const { promise, resolve } = Promise.withResolvers<"stopped" | "disconnected">();
    this.#stopping.add({ attemptId, descriptor, grant, reason, promise, resolve });
    this.#sendAbort({ attemptId, grant }, reason);
  }

  /** Handles a result. `descriptor` is given for results of an earlier connection, which another owner may want. */
  #onResult({ attemptId, grant, outcome }: Result, descriptor: AttemptDescriptor | undefined): void {
    const { clock, timings } = this.#parts;
    const since = clock.monotonic();
    this.#settleStopping({ attemptId, grant });
    const attempt = this.#attempts.get(attemptId);
    const reported = this.#reported.get(attemptId);
    if (attempt?.grant === grant) {
      this.#attempts.delete(attemptId);
      this.#reported.set(attemptId, { grant, descriptor: attempt.descriptor, since, isFollowed: attempt.isFollowed });
      attempt.settle(this.#parts.checkOutcome?.(outcome, attempt.descriptor) ?? outcome);
      if (!attempt.isFollowed) this.#parts.onChanged(this);
      // No owner has renewed it since it was announced, so it may soon count as lost: its result is announced at once.
      if (!attempt.isFollowed && outcome.kind !== "lost") attempt.announce?.();
    } else if (outcome.kind === "lost") {
      // Another owner has no use for the news that this worker lost it, and may have started the attempt again.
      this.send({ type: "Acknowledged", attemptId, grant });
    } else if (reported?.grant === grant) {
      // No owner is known yet, or the owner has not made the result durable in time; the shard may have a new owner.
      if (since - reported.since < (reported.isFollowed ? 2 * timings.workerBeatMs : timings.workerBeatMs)) return;
      Object.assign(reported, { since, isFollowed: false });
      this.#announceResult(reported.descriptor, outcome);
    } else if (descriptor !== undefined) {
      this.#reported.set(attemptId, { grant, descriptor, since, isFollowed: false });
      this.#announceResult(descriptor, outcome);
    } else this.send({ type: "Acknowledged", attemptId, grant });
  }

  #onRefused({ attemptId, grant, why }: GrantRefusal): void {
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
    // A rejection is handled by whoever adopts the attempt; until then it must not count as unhandled.
    attempt.outcome.catch(() => undefined);
    const decline = (): void => {
      if (this.#attempts.get(attemptId) !== attempt || attempt.isFollowed) return this.acknowledge(attemptId);
      this.#attempts.delete(attemptId);
      this.#stop(attempt.grant ?? 0, descriptor, new DOMException("the attempt is not wanted", "AbortError"));
      this.#parts.onChanged(this);
    };
    attempt.announce = () => this.#announce({ worker: this, descriptor, outcome: attempt.outcome, decline });
    return attempt;
  }

  #announceResult(descriptor: AttemptDescriptor, outcome: Outcome): void {
    const checked = Promise.resolve(this.#parts.checkOutcome?.(outcome, descriptor) ?? outcome);
    checked.catch(() => undefined);
    const decline = (): void => this.acknowledge(descriptor.attemptId);
    this.#announce({ worker: this, descriptor, outcome: checked, decline });
  }

  #announce(attempt: AnnouncedAttempt): void {
    try {
      this.#parts.onAnnounced(attempt);
    } catch (error) {
      const { attemptId } = attempt.descriptor;
      this.#parts.logger.error(
        { attemptId, error: messageOf(error) },
        "an attempt that a worker announced could not be handled",
      );
    }
  }

  #sendAbort(key: GrantKey, reason: unknown): void {
    const { name, message } = reason instanceof Error ? reason : new Error(String(reason));
    this.send({ type: "Abort", ...key, reason: { name, message } });
  }

  send(message: MemberMessage): void {
    this.#link?.send(formatMessage(message));
  }
}

function keyOf({ grant, descriptor }: RunningAttempt): GrantKey {
  return { attemptId: descriptor.attemptId, grant };
}
