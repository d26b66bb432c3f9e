import { assert } from "../base/assert.ts";
import { messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { Outcome } from "../kernel/input.ts";
import type { Abort } from "./abort.ts";
import { type AttemptDescriptor, describeAttempt } from "./attempt-descriptor.ts";
import { AttemptMessages, type AttemptMessagesParts } from "./attempt-messages.ts";
import type { GrantFence } from "./grant-fence.ts";
import { type AnnouncedAttempt, SessionAttempt } from "./session-attempt.ts";
import { grantMessage } from "./grant-message.ts";
import { renewLeases } from "./lease-renewal.ts";
import type { Link } from "./link.ts";
import { ReportedResults } from "./reported-results.ts";
import {
  formatMessage,
  type Grant,
  type GrantKey,
  type Heartbeat,
  type Hello,
  type JobDetails,
  type MemberMessage,
  type GrantRefusal,
  type Result,
  type RunningAttempt,
  type LeaseRenewal,
  type WorkerMessage,
} from "./session-message.ts";
import { type SessionCode, SessionTurns } from "./session-turns.ts";
import { type HowStopped, StoppingAttempts } from "./stopping-attempts.ts";
import type { TaskOfInstance, TaskRun } from "./task-run.ts";
import { WorkerAnnouncement } from "./worker-announcement.ts";
import { WorkerContact, type WorkerContactParts } from "./worker-contact.ts";
import type { WorkerAnswer, ConnectedWorker, WorkerConnection } from "./worker.ts";

export interface SessionParts extends AttemptMessagesParts, Omit<WorkerContactParts, "onLost"> {
  readonly logger: Logger;
  /** The shard of a run and the epoch in which this member owns it; undefined for runs that belong to no shard. */
  readonly fenceOf?: (run: TaskRun) => GrantFence | undefined;
  /** Checks the sub-tasks in an outcome, which a remote worker cannot do. */
  readonly checkOutcome?: (outcome: Outcome, task: TaskOfInstance) => Outcome | Promise<Outcome>;
  /** The age of the last lease renewal by the owner of a hosted attempt; 0 for this member's own attempts. */
  readonly renewalAgeMs?: (attemptId: string) => number;
  /** Called for an attempt of an earlier connection, and again with each heartbeat until it is adopted or declined. */
  readonly onAnnounced: (attempt: AnnouncedAttempt) => void;
  /** Resolves with true when the worker can be granted an attempt of the domain; undefined if it can at once. */
  readonly prepareGrant?: ((session: WorkerSession, domain: string) => Promise<boolean> | undefined) | undefined;
  /** Called with the details of its jobs when a worker has connected. */
  readonly onJobs?: ((jobs: readonly JobDetails[], namespace: string) => void) | undefined;
  /** Questions about code; undefined where code runs in this process only. */
  readonly code?: SessionCode | undefined;
  /** Called when the worker may have other jobs or more free slots than before. */
  readonly onChanged: (session: WorkerSession) => void;
  readonly onOver: (session: WorkerSession, how: SessionEnd) => void;
}

interface OpenLink {
  readonly link: Link;
  /** True if no hello has come over the link yet. */
  isNew: boolean;
  /** The number of the last grant over the link. */
  grants: number;
}

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
  workflows: ConnectedWorker["workflows"] = [];
  readonly #parts: SessionParts;
  readonly #reserved = new Set<string>();
  readonly #attempts = new Map<string, SessionAttempt>();
  readonly #reported: ReportedResults;
  readonly #stopping: StoppingAttempts;
  readonly #messages: AttemptMessages;
  readonly #turns: SessionTurns | undefined;
  readonly #contact: WorkerContact;
  #announced: WorkerAnnouncement;
  #openLink: OpenLink | undefined;
  #sequence = 0;
  /** The sequence number of the first hello over this link. */
  #since = 0;
  /** True if the worker has refused a grant: it gets none until its next heartbeat. */
  #isRefusing = false;
  #isDraining = false;
  #isOver = false;

  constructor(worker: Pick<WorkerSession, "id" | "address" | "namespace">, parts: SessionParts) {
    this.id = worker.id;
    this.address = worker.address;
    this.namespace = worker.namespace;
    this.#parts = parts;
    this.#announced = new WorkerAnnouncement(worker.namespace, { jobs: [], slots: 0 });
    const { clock, timings } = parts;
    this.#contact = new WorkerContact({ clock, timings, onLost: () => this.#end("lost") });
    const onStopped = (): void => this.#parts.onChanged(this);
    this.#stopping = new StoppingAttempts((message) => this.send(message), onStopped);
    this.#reported = new ReportedResults(() => clock.monotonic());
    this.#messages = this.#makeMessages();
    this.#turns = parts.code && new SessionTurns(this, parts.code, () => this.#openLink?.link.bufferedBytes ?? 0);
  }

  #makeMessages(): AttemptMessages {
    const followed = (attemptId: string): AttemptDescriptor | undefined => {
      const attempt = this.#attempts.get(attemptId);
      return attempt?.isFollowed === true ? attempt.descriptor : undefined;
    };
    const ended = (attemptId: string): AttemptDescriptor | undefined =>
      this.#reported.descriptorOf(attemptId) ?? this.#stopping.descriptorOf(attemptId);
    return new AttemptMessages(this.#parts, { followed, ended }, (message) => this.send(message));
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
    return this.#contact.isReachable;
  }

  get lastHeardAt(): number {
    return this.#contact.lastHeardAt;
  }

  get jobs(): readonly string[] {
    return this.#announced.jobs;
  }

  timeoutGraceMs(since: number): number {
    return this.#contact.timeoutGraceMs(since);
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
    const hasResult = this.#reported.follow(attemptId);
    const attempt = this.#attempts.get(attemptId);
    if (attempt === undefined) return hasResult;
    attempt.isFollowed = true;
    this.#stopOnAbort(attempt, abort);
    return true;
  }

  whenStopped(attemptId: string): Promise<HowStopped> | undefined {
    return this.#stopping.whenStopped(attemptId);
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
    this.#reported.add(grant, descriptor, true);
  }

  acknowledge(attemptId: string): void {
    const grant = this.#reported.take(attemptId);
    if (grant !== undefined) this.send({ type: "Acknowledged", attemptId, grant });
  }

  /** Disconnects the worker, which takes its attempts to another member. */
  stop(): Promise<void> {
    this.#end("closed");
    return Promise.resolve();
  }

  // The connection's side

  /** Replaces the link of the worker, which has connected (again); its hello follows. */
  attach(link: Link): void {
    this.#openLink?.link.close();
    this.#openLink = { link, isNew: true, grants: 0 };
    this.#contact.onLinkChanged();
  }

  /** Handles a message of the worker; ignores those of an earlier link. */
  receive(link: Link, message: WorkerMessage): void {
    if (link !== this.#openLink?.link) return;
    this.#contact.onMessage();
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
        return void this.#messages.onQuestion(message);
      case "Leaving":
        return this.#end("left");
      case "Logged":
        return this.#messages.onLogged(message.lines);
      case "Reported":
        return this.#messages.onReported(message.reports);
    }
  }

  /** Makes the worker unreachable: it gets nothing new until it connects again. */
  onLinkClosed(link: Link): void {
    if (link !== this.#openLink?.link) return;
    this.#openLink = undefined;
    this.#contact.onLinkChanged();
    this.#turns?.onLinkClosed();
  }

  // Heartbeats

  #onHello(hello: Hello): void {
    if (hello.sequence <= this.#sequence) return;
    this.#announced = new WorkerAnnouncement(this.namespace, hello);
    const isFirst = this.#openLink?.isNew === true;
    if (isFirst && hello.slots > 0) this.#parts.onJobs?.(hello.jobDetails ?? [], this.namespace);
    if (this.#openLink !== undefined) this.#openLink.isNew = false;
    const running = hello.running.map(keyOf);
    const listed = [...running, ...hello.results.map(keyOf)];
    if (isFirst) this.#onFirstHello(hello, listed);
    const verdict = this.#reconcile(hello, running, listed);
    const { workerBeatMs: beatMs, workerLostMs: lostMs } = this.#parts.timings;
    this.send({ type: "Welcome", welcome: this.address, beatMs, lostMs, ...verdict });
    this.workflows = this.#turns?.onHello(hello) ?? [];
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
    this.#since = hello.sequence;
    const names = new Set(listed.map(({ attemptId }) => attemptId));
    for (const attempt of this.#attempts.values()) {
      if (attempt.grant === undefined) continue;
      attempt.grant = 0;
      if (!names.has(attempt.attemptId)) this.#settleMissing(attempt, hasBeenElsewhere);
    }
    this.#reported.onConnected();
    this.#stopping.onConnected();
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
    this.#stopping.reconcile(lastGrant, new Map(running.map(({ attemptId, grant }) => [attemptId, grant])));
    return { sequence, ...renewLeases(running, this.#attempts, this.#parts.renewalAgeMs) };
  }

  /** Settles an attempt that the worker neither runs nor has a result of. */
  #settleMissing(attempt: SessionAttempt, hasBeenElsewhere: boolean): void {
    this.#attempts.delete(attempt.attemptId);
    // A stopping worker refuses all its attempts, and those messages may be lost.
    const isGivenBack = this.slots === 0 && !hasBeenElsewhere;
    const isLost = !isGivenBack && (attempt.isConfirmed || hasBeenElsewhere);
    const why = isGivenBack ? "the worker is stopping" : "it did not reach the worker";
    attempt.settle(isLost ? { kind: "lost" } : { kind: "refused", why });
  }

  #end(how: SessionEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#contact.end();
    if (how !== "left") this.send({ type: "Goodbye" });
    this.#openLink?.link.close();
    this.#openLink = undefined;
    this.#attempts.clear();
    this.#reserved.clear();
    this.#reported.clear();
    this.#stopping.end(how === "closed" ? "disconnected" : "stopped");
    this.#turns?.end(how === "lost" ? "lost" : "left");
    this.#parts.onOver(this, how);
  }

  // Attempts

  async #grant(attempt: SessionAttempt, run: TaskRun): Promise<void> {
    const { attemptId, descriptor } = attempt;
    let message: Omit<Grant, "grant">;
    const preparing = this.#parts.prepareGrant?.(this, run.domain);
    const isPrepared = preparing === undefined || (await preparing);
    try {
      message = await grantMessage(run, descriptor, this.#parts.fenceOf);
    } catch (error) {
      if (this.#attempts.get(attemptId) === attempt) this.#attempts.delete(attemptId);
      attempt.fail(error);
      return;
    }
    if (this.#attempts.get(attemptId) !== attempt) return;
    if (!isPrepared) this.#isRefusing = true;
    if (!isPrepared || this.#openLink === undefined) return this.#settleMissing(attempt, false);
    attempt.grant = ++this.#openLink.grants;
    attempt.message = { ...message, grant: attempt.grant };
    this.send(attempt.message);
  }

  #stopOnAbort(attempt: SessionAttempt, abort: Abort): void {
    const { attemptId } = attempt;
    const stop = (): void => {
      if (this.#attempts.get(attemptId) !== attempt) return;
      this.#attempts.delete(attemptId);
      if (attempt.grant !== undefined) this.#stopping.add(attempt.grant, attempt.descriptor, abort.signal.reason);
    };
    if (abort.aborted) stop();
    else abort.signal.addEventListener("abort", stop, { once: true });
  }

  /** Handles a result. `descriptor` is given for results of an earlier connection, which another owner may want. */
  #onResult({ attemptId, grant, outcome }: Result, descriptor: AttemptDescriptor | undefined): void {
    this.#stopping.settle({ attemptId, grant });
    const attempt = this.#attempts.get(attemptId);
    if (attempt?.grant === grant) {
      this.#attempts.delete(attemptId);
      this.#reported.add(grant, attempt.descriptor, attempt.isFollowed);
      attempt.settle(this.#parts.checkOutcome?.(outcome, attempt.descriptor) ?? outcome);
      if (!attempt.isFollowed) this.#parts.onChanged(this);
      // No owner has renewed it since it was announced, so it may soon count as lost: its result is announced at once.
      if (!attempt.isFollowed && outcome.kind !== "lost") attempt.announce?.();
    } else if (outcome.kind === "lost") {
      // Another owner has no use for the news that this worker lost it, and may have started the attempt again.
      this.send({ type: "Acknowledged", attemptId, grant });
    } else if (this.#reported.has({ attemptId, grant })) {
      const reported = this.#reported.repeat(attemptId, this.#parts.timings.workerBeatMs);
      if (reported !== undefined) this.#announceResult(reported, outcome);
    } else if (descriptor !== undefined) {
      this.#reported.add(grant, descriptor, false);
      this.#announceResult(descriptor, outcome);
    } else this.send({ type: "Acknowledged", attemptId, grant });
  }

  #onRefused({ attemptId, grant, why }: GrantRefusal): void {
    this.#stopping.settle({ attemptId, grant });
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
      this.#stopping.add(attempt.grant ?? 0, descriptor, new DOMException("the attempt is not wanted", "AbortError"));
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
      const problem = { attemptId: attempt.descriptor.attemptId, error: messageOf(error) };
      this.#parts.logger.error(problem, "an attempt that a worker announced could not be handled");
    }
  }

  send(message: MemberMessage): void {
    this.#openLink?.link.send(formatMessage(message));
  }
}

function keyOf({ grant, descriptor }: RunningAttempt): GrantKey {
  return { attemptId: descriptor.attemptId, grant };
}
