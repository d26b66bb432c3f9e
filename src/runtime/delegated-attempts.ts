import { isDeepStrictEqual } from "node:util";
import { assert } from "../base/assert.ts";
import type { Clock } from "../base/clock.ts";
import { EngineError } from "../base/error.ts";
import type { TaskProgress } from "../dispatch/task-progress.ts";
import type { AttemptListener } from "../dispatch/task-run.ts";
import type { GrantFence } from "../dispatch/grant-fence.ts";
import type { Execution } from "../kernel/event.ts";
import type { Input } from "./input.ts";
import type { ShardClaim } from "../stores/store.ts";
import type { InstanceTaskRun } from "./instance-task-run.ts";

/**
 * The member part of a worker's address. Histories record `member` for the embedded worker, and `member/worker` for a remote
 * one, where the member is the one that granted the attempt.
 */
export function hostOf(workerAddress: string): string {
  const slash = workerAddress.indexOf("/");
  return slash === -1 ? workerAddress : workerAddress.slice(0, slash);
}

export function isRemote(workerAddress: string): boolean {
  return workerAddress.includes("/");
}

/** The remote worker's own name, the same with every member. Empty for an embedded one. */
export function workerOf(workerAddress: string): string {
  return isRemote(workerAddress) ? workerAddress.slice(workerAddress.indexOf("/") + 1) : "";
}

/**
 * The principal of a remote worker, from `member/principal/worker`; empty if it has none. Histories record the worker that an
 * attempt was granted to first. If that one refused it and a worker of another principal runs it, the latter is not trusted
 * after the shard has moved: the attempt is lost, and runs again.
 */
function principalOf(workerAddress: string): string {
  const name = workerOf(workerAddress);
  return name.slice(0, Math.max(0, name.lastIndexOf("/")));
}

/** The instance id in an attempt id: its first part, which may contain colons. */
export function instanceOf(attemptId: string): string {
  return attemptId.split(":").slice(0, -3).join(":");
}

/** Hosting of attempts between members: by others for the shards of this one, and here for theirs. A single member has none. */
export interface AttemptHosting {
  /** True if the newest view contains the member. */
  isLiving(member: string): boolean;
  /** True if that view was requested after the monotonic time. */
  hasSeen(moment: number): boolean;
  /** True if the member left the cluster by itself, after it had stopped its attempts. */
  hasLeft(member: string): boolean;
  /** True if this member hosted it for another owner and is still reporting its end. */
  isReporting(attemptId: string): boolean;
  /**
   * Asks a host which of these attempts it does not have. It refuses their grants for ever after that, if they come from an
   * earlier owner of the shard. Throws if the host does not answer.
   */
  findMissing(host: string, fence: GrantFence, attemptIds: readonly string[]): Promise<readonly string[]>;
  /** Makes a host stop attempts that are not wanted any more. */
  abort(host: string, attemptIds: readonly string[]): void;
  /** Reports the end of an attempt to the new owner of its shard, until it is delivered. */
  report(run: ReportedRun, input: Input, onDelivered: () => void): void;
  /** Hosts these attempts while their shard moves to another owner. */
  add(shard: number, attemptIds: readonly string[]): void;
  /**
   * Counts an attempt outside this process among the slots of its domain, until the returned function is called: with true
   * if the attempt has stopped or this process follows it again, with false if it may keep running for a while.
   */
  hold(run: InstanceTaskRun): (isOver: boolean) => void;
  /** Called when an attempt that another member hosts has made progress. */
  onProgress(run: InstanceTaskRun, progress: TaskProgress): void;
  /** Hosts the attempt no longer, because its shard is owned here again. */
  reclaim(attemptId: string): void;
  readonly lostMs: number;
  /** Time for which a living member may run an attempt and renew nothing, because its event loop is blocked. */
  readonly blockedMs: number;
}

export interface ReportedRun {
  readonly attemptId: string;
  readonly instanceId: string;
}

/**
 * Attempts of this shard that another member hosts: it granted them when it owned the shard, or their worker connected to
 * it. They keep running there, and their host renews their leases here.
 *
 * - T1 An attempt is delegated, or with this member's dispatcher, or lost; never two of these. A report of one that is
 *   not delegated is dropped.
 * - T2 The lease of the host expires before the owner declares the attempt lost (`ownPatience`), so a lost attempt runs
 *   nowhere. A member whose event loop is blocked renews no attempts and stops none, while a thread renews its lease:
 *   so the owner of an attempt in the pool of a living member is patient for the longest such time, too.
 */
export class DelegatedAttempts {
  readonly #clock: Clock;
  readonly #hosting: AttemptHosting;
  readonly #claim: ShardClaim;
  readonly #attempts = new Map<string, DelegatedAttempt>();
  #sweptAt: number;

  constructor(clock: Clock, hosting: AttemptHosting, claim: ShardClaim) {
    this.#clock = clock;
    this.#hosting = hosting;
    this.#claim = claim;
    this.#sweptAt = clock.monotonic();
  }

  /** Adds an attempt on the worker that its recorded start names. */
  add(run: InstanceTaskRun, worker: string): void {
    const renewedAt = this.#clock.monotonic();
    const hosts = new Set([hostOf(worker)]);
    this.#remove(run.attemptId, true);
    const release = this.#hosting.hold(run);
    this.#attempts.set(run.attemptId, { run, worker, hosts, addedAt: renewedAt, renewedAt, hasHost: false, release });
  }

  /** Classifies an attempt, and removes it unless it is `elsewhere`. */
  classify(attemptId: string): "elsewhere" | "stopped" | "lost" {
    const attempt = this.#attempts.get(attemptId);
    assert(attempt !== undefined, "an attempt that is classified is delegated");
    const { worker } = attempt;
    const host = hostOf(worker);
    attempt.hasHost ||= this.#hosting.isLiving(host);
    if (this.#isElsewhere(attempt)) return "elsewhere";
    this.#remove(attemptId, true);
    // A leaving member stops its own attempts, but those of remote workers move to other members.
    if (isRemote(worker)) return "lost";
    const { released, previousOwner } = this.#claim;
    // The previous owner was gone when the shard was claimed, so it had stopped its attempts before it left.
    const wasStopped = released && host === previousOwner && !attempt.hasHost;
    return wasStopped || this.#hosting.hasLeft(host) ? "stopped" : "lost";
  }

  #isElsewhere({ run, worker, addedAt, renewedAt }: DelegatedAttempt): boolean {
    const hosting = this.#hosting;
    const silentMs = this.#clock.monotonic() - renewedAt;
    // A remote worker outlives the member it was connected to, and reconnects to another.
    if (isRemote(worker)) return silentMs < hosting.lostMs;
    if (hosting.isLiving(hostOf(worker))) return silentMs < hosting.lostMs + hosting.blockedMs;
    return silentMs < hosting.lostMs && (!hosting.hasSeen(addedAt) || hosting.isReporting(run.attemptId));
  }

  has(attemptId: string): boolean {
    return this.#attempts.has(attemptId);
  }

  /**
   * Renews the lease of an attempt for a host and its worker. False if it is not wanted; `CALL_UNANSWERED` if that is not
   * known yet.
   */
  renew(attemptId: string, host: string, worker?: string): boolean {
    const attempt = this.#attempts.get(attemptId);
    if (attempt === undefined || !this.#mayHost(attempt, host, worker)) return false;
    attempt.hosts.add(host);
    attempt.hasHost = true;
    attempt.renewedAt = this.#clock.monotonic();
    return true;
  }

  /** Notes the progress that a host has reported. Ignored if it is none of the attempt's hosts. */
  noteProgress(attemptId: string, host: string, progress: TaskProgress): void {
    const attempt = this.#attempts.get(attemptId);
    if (attempt === undefined || !attempt.hosts.has(host)) return;
    // A renewal repeats the last report.
    if (isDeepStrictEqual(attempt.progress, progress)) return;
    attempt.progress = progress;
    this.#hosting.onProgress(attempt.run, progress);
  }

  progressOf(attemptId: string): TaskProgress | undefined {
    return this.#attempts.get(attemptId)?.progress;
  }

  /** Its host has renewed it and reported the details of its last heartbeat. */
  onHeartbeat(attemptId: string, details: string): void {
    this.#attempts.get(attemptId)?.run.onHeartbeat(details);
  }

  /** True if it may be hosted there: only a remote worker of the same principal moves it to another living member. */
  #mayHost({ worker, hosts }: DelegatedAttempt, host: string, other: string | undefined): boolean {
    if (other !== undefined && principalOf(`${host}/${other}`) !== principalOf(worker)) return false;
    if (hosts.has(host)) return true;
    if (!isRemote(worker)) return false;
    if (this.#hosting.isLiving(host)) return true;
    // The member has just joined; or it was removed, and its call was delayed in a mailbox.
    throw new EngineError(
      "CALL_UNANSWERED",
      `member ${host} hosts an attempt but is not in the view of this member yet`,
    );
  }

  /** Moves an attempt back to this member's dispatcher, on the worker of that address. Undefined if it is not delegated. */
  reclaim(attemptId: string, worker: string): InstanceTaskRun | undefined {
    const attempt = this.#attempts.get(attemptId);
    if (attempt === undefined || principalOf(attempt.worker) !== principalOf(worker)) return undefined;
    this.#remove(attemptId, true);
    return attempt.run;
  }

  /** False if it is not delegated. */
  #remove(attemptId: string, isOver: boolean): boolean {
    this.#attempts.get(attemptId)?.release(isOver);
    return this.#attempts.delete(attemptId);
  }

  /**
   * Removes an attempt whose end its host reports. False if it is not delegated, or cannot be hosted there; `CALL_UNANSWERED`
   * if that is not known yet.
   */
  delete(attemptId: string, host: string, worker?: string): boolean {
    const attempt = this.#attempts.get(attemptId);
    return attempt !== undefined && this.#mayHost(attempt, host, worker) && this.#remove(attemptId, true);
  }

  /**
   * True if a report is about an earlier run of the attempt, which has counted as lost since: the attempt runs again under
   * the same id, and a report that was delayed in a mailbox must not end that run.
   */
  isOfEarlierRun(attemptId: string, { startedAt }: Execution): boolean {
    const run = this.#attempts.get(attemptId)?.run;
    const recordedAt = run?.actor.machine.state.record(run.task)?.startedAt;
    return startedAt !== undefined && recordedAt !== undefined && startedAt !== recordedAt;
  }

  abort(attemptIds: readonly string[]): void {
    const byHost = new Map<string, string[]>();
    for (const id of attemptIds) {
      const attempt = this.#attempts.get(id);
      if (attempt === undefined) continue;
      this.#remove(id, false);
      for (const host of attempt.hosts) byHost.set(host, [...(byHost.get(host) ?? []), id]);
    }
    for (const [host, ids] of byHost) this.#hosting.abort(host, ids);
  }

  /** True if that run of an attempt is delegated, and no later one. */
  isDelegated(run: InstanceTaskRun): boolean {
    return this.#attempts.get(run.attemptId)?.run === run;
  }

  /** Takes a run back that its host has refused for ever: it never ran there. Does nothing if it is not delegated any more. */
  takeBack(run: InstanceTaskRun): void {
    if (!this.isDelegated(run)) return;
    this.#remove(run.attemptId, true);
    this.#withdraw(run);
  }

  /** A failing instance starts nothing new, so a withdrawn attempt would never end. */
  #withdraw(run: InstanceTaskRun): void {
    if (run.actor.machine.state.failing) run.actor.onLost(run);
    else run.actor.onWithdrawn(run);
  }

  /** The attempts in the pools of other members, by member; attempts on remote workers may have gone elsewhere with them. */
  get inPools(): ReadonlyMap<string, readonly InstanceTaskRun[]> {
    const inPools = [...this.#attempts.values()].filter(({ worker }) => !isRemote(worker));
    const byHost = Map.groupBy(inPools, ({ worker }) => hostOf(worker));
    return new Map([...byHost].map(([host, attempts]) => [host, attempts.map(({ run }) => run)]));
  }

  /** Aborts the attempts of an instance that is quarantined. */
  forget(listener: AttemptListener): void {
    this.abort(
      [...this.#attempts.values()].filter(({ run }) => run.listener === listener).map(({ run }) => run.attemptId),
    );
  }

  /**
   * Extends all leases by a grace period after this member was stalled (a sweep is late) or cut off from the store (the view
   * is old). Renewals are missing for its own reasons then, and hosts may have results by now.
   */
  #extendAfterStall(): void {
    const now = this.#clock.monotonic();
    const graceMs = this.#hosting.lostMs / 2;
    const hasStalled = now - this.#sweptAt > graceMs;
    this.#sweptAt = now;
    if (!hasStalled && this.#hosting.hasSeen(now - graceMs)) return;
    for (const attempt of this.#attempts.values()) attempt.renewedAt = Math.max(attempt.renewedAt, now - graceMs);
  }

  /** Reports lost and stopped attempts to their instances. Called periodically and when the view changes. */
  sweep(): void {
    this.#extendAfterStall();
    for (const [id, { run }] of this.#attempts) {
      const place = this.classify(id);
      if (place === "stopped") this.#withdraw(run);
      else if (place === "lost") run.actor.onLost(run);
    }
  }
}

interface DelegatedAttempt {
  readonly run: InstanceTaskRun;
  readonly worker: string;
  /**
   * All members that have hosted it, including the one that granted it. Its worker has moved from one to the next, and their
   * calls may arrive in any order; they are about the same run, so each of them may report its end.
   */
  readonly hosts: Set<string>;
  readonly addedAt: number;
  renewedAt: number;
  /** A living member has been seen that could host it. */
  hasHost: boolean;
  readonly release: (isOver: boolean) => void;
  progress?: TaskProgress;
}
