import { assert } from "../base/assert.ts";
import type { Clock } from "../base/clock.ts";
import { EngineError } from "../base/error.ts";
import type { TaskOwner } from "../dispatch/task-run.ts";
import type { Input } from "./input.ts";
import type { ShardClaim } from "../stores/store.ts";
import type { InstanceTaskRun } from "./instance-task-run.ts";

/**
 * A worker's address, as histories keep it: the member that granted the attempt, and, of a remote worker, its own name
 * after a slash. The embedded worker has its member's id.
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
 * Whose worker it is: `principal/worker` is what comes after the member. Empty where workers have none. Histories name the
 * worker that an attempt was given to first; one that it went to then, because that refused it, may be another of any
 * principal, and is then not believed after the shard has moved: the attempt is lost, and runs again.
 */
function principalOf(workerAddress: string): string {
  const name = workerOf(workerAddress);
  return name.slice(0, Math.max(0, name.lastIndexOf("/")));
}

/** The instance that an attempt is of: its id is the first part of the attempt's, and may have colons in it. */
export function instanceOf(attemptId: string): string {
  return attemptId.split(":").slice(0, -3).join(":");
}

/** Other members that may run attempts of a shard's instances. Where there is one member alone, there are none. */
export interface AttemptHosts {
  /** Among the members in the newest view. */
  isLiving(member: string): boolean;
  /** That view was asked for after the moment, on the monotonic clock. */
  hasSeen(moment: number): boolean;
  /** It took its leave in good order, and stopped what it ran. */
  hasLeft(member: string): boolean;
  /** This member ran it while another owned the shard, and has yet to report its end. */
  isReporting(attemptId: string): boolean;
  /** Nobody wants these any more. */
  abort(host: string, attemptIds: readonly string[]): void;
  /** How an attempt of a shard that has moved on has ended: whoever owns it now has to know. */
  report(run: HostedRun, input: Input, onDelivered: () => void): void;
  /** These run on while the shard moves. */
  add(shard: number, attemptIds: readonly string[]): void;
  /** The shard is back. */
  reclaim(attemptId: string): void;
  readonly lostMs: number;
}

export interface HostedRun {
  readonly attemptId: string;
  readonly instanceId: string;
}

/**
 * Attempts of this shard that another member holds: it granted them when it owned the shard, or a worker brought them to
 * it. They go on where they are, and their host reports them here.
 *
 * - T1 An attempt is attempt, or with this member's dispatcher, or lost; never two of these. A report of one that is not
 *   attempt is dropped.
 * - T2 The host gives up before this does (`ownPatience`), so an attempt that is declared lost runs nowhere.
 */
export class RemoteAttempts {
  readonly #clock: Clock;
  readonly #hosts: AttemptHosts;
  readonly #claim: ShardClaim;
  readonly #attempts = new Map<string, RemoteAttempt>();
  #sweptAt: number;

  constructor(clock: Clock, hosts: AttemptHosts, claim: ShardClaim) {
    this.#clock = clock;
    this.#hosts = hosts;
    this.#claim = claim;
    this.#sweptAt = clock.monotonic();
  }

  /** The worker is the one that its start names. */
  add(run: InstanceTaskRun, worker: string): void {
    const renewedAt = this.#clock.monotonic();
    const hosts = new Set([hostOf(worker)]);
    this.#attempts.set(run.attemptId, { run, worker, hosts, addedAt: renewedAt, renewedAt, hasHost: false });
  }

  /** What can be said of it by now. One that is not elsewhere is attempt no longer. */
  classify(attemptId: string): "elsewhere" | "stopped" | "lost" {
    const attempt = this.#attempts.get(attemptId);
    assert(attempt !== undefined, "an attempt that is judged is attempt");
    const { worker } = attempt;
    const host = hostOf(worker);
    attempt.hasHost ||= this.#hosts.isLiving(host);
    if (this.#isElsewhere(attempt)) return "elsewhere";
    this.#attempts.delete(attemptId);
    // A member that leaves stops what it runs itself, and sends its workers to others.
    if (isRemote(worker)) return "lost";
    const { clean, previousOwner } = this.#claim;
    // The last owner was not there any more when the shard came here, so it stopped what it ran before it left.
    const wasStopped = clean && host === previousOwner && !attempt.hasHost;
    return wasStopped || this.#hosts.hasLeft(host) ? "stopped" : "lost";
  }

  #isElsewhere({ run, worker, addedAt, renewedAt }: RemoteAttempt): boolean {
    const hosts = this.#hosts;
    if (this.#clock.monotonic() - renewedAt >= hosts.lostMs) return false;
    // A remote worker outlives the member it was connected to, and will turn up at another.
    if (isRemote(worker)) return true;
    return !hosts.hasSeen(addedAt) || hosts.isLiving(hostOf(worker)) || hosts.isReporting(run.attemptId);
  }

  has(attemptId: string): boolean {
    return this.#attempts.has(attemptId);
  }

  /**
   * Its host says that it has it, on that worker. False: it is not wanted. `CALL_UNANSWERED`: that cannot be said yet.
   */
  renew(attemptId: string, host: string, worker?: string): boolean {
    const attempt = this.#attempts.get(attemptId);
    if (attempt === undefined || !this.#mayHost(attempt, host, worker)) return false;
    attempt.hosts.add(host);
    attempt.hasHost = true;
    attempt.renewedAt = this.#clock.monotonic();
    return true;
  }

  /** Only a remote worker takes an attempt along, to a member that lives; and only one of the same principal. */
  #mayHost({ worker, hosts }: RemoteAttempt, host: string, other: string | undefined): boolean {
    if (other !== undefined && principalOf(`${host}/${other}`) !== principalOf(worker)) return false;
    if (hosts.has(host)) return true;
    if (!isRemote(worker)) return false;
    if (this.#hosts.isLiving(host)) return true;
    // It has just joined; or it was given up, and its word comes late, by mailbox.
    throw new EngineError("CALL_UNANSWERED", `member ${host} holds an attempt and is not among the living here`);
  }

  /** It is with this member's dispatcher again, on the worker of that address. Undefined if it is not attempt. */
  reclaim(attemptId: string, worker: string): InstanceTaskRun | undefined {
    const attempt = this.#attempts.get(attemptId);
    if (attempt === undefined || principalOf(attempt.worker) !== principalOf(worker)) return undefined;
    this.#attempts.delete(attemptId);
    return attempt.run;
  }

  /**
   * Its end is known. False if it is not attempt, or cannot be with that host. `CALL_UNANSWERED`: that cannot be said
   * yet.
   */
  delete(attemptId: string, host: string, worker?: string): boolean {
    const attempt = this.#attempts.get(attemptId);
    return attempt !== undefined && this.#mayHost(attempt, host, worker) && this.#attempts.delete(attemptId);
  }

  abort(attemptIds: readonly string[]): void {
    const byHost = new Map<string, string[]>();
    for (const id of attemptIds) {
      const attempt = this.#attempts.get(id);
      if (attempt === undefined) continue;
      this.#attempts.delete(id);
      for (const host of attempt.hosts) byHost.set(host, [...(byHost.get(host) ?? []), id]);
    }
    for (const [host, ids] of byHost) this.#hosts.abort(host, ids);
  }

  /** Aborts the attempts of an instance that is quarantined. */
  forget(owner: TaskOwner): void {
    this.abort([...this.#attempts.values()].filter(({ run }) => run.owner === owner).map(({ run }) => run.attemptId));
  }

  /**
   * Sweeps come often. If one is late, this member stood still; without a new view it does not reach the store, through
   * which others report. Either way it heard nothing for its own reasons, and they may have a result by now.
   */
  #extendAfterStall(): void {
    const now = this.#clock.monotonic();
    const graceMs = this.#hosts.lostMs / 2;
    const hasStalled = now - this.#sweptAt > graceMs;
    this.#sweptAt = now;
    if (!hasStalled && this.#hosts.hasSeen(now - graceMs)) return;
    for (const attempt of this.#attempts.values()) attempt.renewedAt = Math.max(attempt.renewedAt, now - graceMs);
  }

  /** Now and then, and when members come and go: tells the instances of those that are lost, or were stopped. */
  sweep(): void {
    this.#extendAfterStall();
    for (const [id, { run }] of this.#attempts) {
      const place = this.classify(id);
      // Where nothing new is to start, an attempt that is taken back would never end.
      if (place === "stopped" && !run.actor.machine.state.failing) run.actor.withdrawn(run);
      else if (place !== "elsewhere") run.actor.lost(run);
    }
  }
}

interface RemoteAttempt {
  readonly run: InstanceTaskRun;
  readonly worker: string;
  /**
   * Whoever said that it has it, the member that granted it among them. A worker has taken it from one to the next, and
   * their words may come in any order: it is the same run they speak of, so each of them may tell how it ended.
   */
  readonly hosts: Set<string>;
  readonly addedAt: number;
  renewedAt: number;
  /** A member was there that could have it. */
  hasHost: boolean;
}
