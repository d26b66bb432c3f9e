import type { Clock, Timer } from "../base/clock.ts";
import { EngineError, hasCode, messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import { type ClusterTimings, ownPatience } from "../cluster/timings.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { DispatcherStatus } from "../dispatch/dispatcher-status.ts";
import type { WorkerConnection } from "../dispatch/worker.ts";
import type { TaskProgress } from "../dispatch/task-progress.ts";
import { HostedProgress, type HostedProgressParts } from "./hosted-progress.ts";
import type { Input } from "./input.ts";
import { type ReportedRun, type AttemptHosting, isRemote } from "./delegated-attempts.ts";
import type { CallOf, CallType, Hint, ResultOf } from "./call.ts";

export interface HostedAttemptsParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly timings: ClusterTimings;
  readonly dispatcher: Pick<Dispatcher, "abort" | "giveUpExpired"> & {
    readonly status: Pick<
      DispatcherStatus,
      "connectionOf" | "heartbeatOf" | "isReachable" | "isRunning" | "progressOf" | "waitOf"
    >;
  };
  readonly member: () => string;
  readonly members: Pick<AttemptHosting, "isLiving" | "hasLeft" | "hasSeen">;
  readonly shardOf: (instanceId: string) => number;
  readonly call: <T extends CallType>(shard: number, call: CallOf<T>, timeoutMs: number) => Promise<ResultOf<T>>;
  /** Sends a renewal to the owner of the shard. */
  readonly renew: (
    shard: number,
    renewal: CallOf<"RenewAttempts">,
    timeoutMs: number,
  ) => Promise<ResultOf<"RenewAttempts">>;
  readonly hint: (member: string, hint: Hint) => void;
  readonly hintOwner: HostedProgressParts["hintOwner"];
  /** Called when an attempt of this member that another one hosts has made progress. */
  readonly onProgress: AttemptHosting["onProgress"];
  readonly findMissing: AttemptHosting["findMissing"];
}

/**
 * Attempts that this member hosts for shards of other owners: they were granted here before their shard moved, or their
 * worker connected to this member. This member renews the leases of these attempts regularly, and reports their ends
 * until the owner has made them durable.
 *
 * - O1 An attempt is given up when its lease expires, a little before an owner that receives no renewals declares the
 *   attempt lost; an attempt that runs in this process is stopped. The lease counts from before the renewal was
 *   requested.
 * - O2 An attempt that was interrupted runs again under its id, perhaps here, while the end of its earlier run is still
 *   being reported. Each has a lease of its own: neither the end of that report nor the expiry of its lease concerns the
 *   next run.
 */
export class HostedAttempts implements AttemptHosting {
  readonly lostMs: number;
  readonly blockedMs: number;
  readonly #parts: HostedAttemptsParts;
  readonly #running = new Map<string, HostLease>();
  /** Attempts that have ended here, and whose end is not delivered yet: their owners must not declare them lost. */
  readonly #ended = new Map<string, HostLease>();
  /** Deliveries of reports under way, one for each report that its owner has not received yet. */
  readonly #reports = new Map<Promise<void>, string>();
  readonly #progress: HostedProgress;
  #timer: Timer | undefined;
  #expiryTimer: Timer | undefined;
  #incarnation = 0;

  constructor(parts: HostedAttemptsParts) {
    this.#parts = parts;
    this.#progress = new HostedProgress(parts);
    this.lostMs = parts.timings.workerLostMs;
    const { stallMs, suspectMs, lostMs } = parts.timings;
    // A thread renews the lease of a blocked member for `stallMs` by a clock that may be slow; then the lease runs out.
    this.blockedMs = stallMs / ownPatience + suspectMs + lostMs;
  }

  readonly isLiving = (member: string): boolean => this.#parts.members.isLiving(member);

  readonly hasLeft = (member: string): boolean => this.#parts.members.hasLeft(member);

  readonly hasSeen = (moment: number): boolean => this.#parts.members.hasSeen(moment);

  readonly findMissing: AttemptHosting["findMissing"] = (host, fence, attemptIds) =>
    this.#parts.findMissing(host, fence, attemptIds);

  readonly onProgress: AttemptHosting["onProgress"] = (run, progress) => this.#parts.onProgress(run, progress);

  readonly abort = (host: string, attemptIds: readonly string[]): void => {
    if (host === this.#parts.member()) this.drop(attemptIds);
    else this.#parts.hint(host, { type: "AbortAttempts", attemptIds });
  };

  start(): void {
    const { clock, timings } = this.#parts;
    this.#timer = clock.after(timings.workerBeatMs, () => {
      this.renewAll();
      this.start();
    });
  }

  /** Forgets all attempts, because this member was removed. */
  clear(): void {
    this.#incarnation++;
    this.#running.clear();
    this.#ended.clear();
    this.#progress.stop();
  }

  /** Resolves when the owners have received all reports, or after the grace period. */
  async whenReported(graceMs: number): Promise<void> {
    const { promise: timeout, resolve } = Promise.withResolvers<void>();
    const timer = this.#parts.clock.after(graceMs, resolve);
    await Promise.race([Promise.all(this.#reports.keys()), timeout]);
    timer.cancel();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#expiryTimer?.cancel();
    this.clear();
  }

  /** The allocator of the domain counts it, as reported by its host. */
  readonly hold = (): (() => void) => () => undefined;

  add(shard: number, attemptIds: readonly string[], renewedAt = this.#parts.clock.monotonic()): void {
    for (const id of attemptIds) this.#running.set(id, { shard, renewedAt });
  }

  /** Tells the owner of a hosted attempt how far it is. False for an attempt of this member. */
  tellProgress(attemptId: string, progress: TaskProgress): boolean {
    const lease = this.#running.get(attemptId);
    if (lease !== undefined) this.#progress.report(lease.shard, { attemptId, progress });
    return lease !== undefined;
  }

  /** The age of the last lease renewal of a hosted attempt; 0 for this member's own attempts. */
  renewalAgeMs(attemptId: string): number {
    const lease = this.#running.get(attemptId) ?? this.#ended.get(attemptId);
    return lease === undefined ? 0 : this.#parts.clock.monotonic() - lease.renewedAt;
  }

  /**
   * Requests the lease of an attempt that a worker has announced. Returns the time from which it counts; undefined if the
   * owner does not want the attempt. Throws what the call throws.
   */
  async ask(shard: number, attemptId: string, connection: WorkerConnection): Promise<number | undefined> {
    const askedAt = this.#parts.clock.monotonic();
    const unwanted = await this.#renew(shard, { attemptIds: [attemptId], connections: { [attemptId]: connection } });
    return unwanted.includes(attemptId) ? undefined : askedAt;
  }

  /** Requests renewals from the shard's owner. Returns the ids of unwanted attempts. */
  async #renew(shard: number, renewed: Omit<CallOf<"RenewAttempts">, "type" | "host">): Promise<readonly string[]> {
    const { timings, member, renew } = this.#parts;
    return await renew(shard, { type: "RenewAttempts", host: member(), ...renewed }, timings.workerBeatMs);
  }

  /** Removes an attempt whose shard is owned here again. */
  reclaim(attemptId: string): void {
    this.#running.delete(attemptId);
  }

  readonly isReporting = (attemptId: string): boolean => this.#ended.has(attemptId);

  /** True if the end of a run here is still to be delivered, though its lease may have expired while the shard had no owner. */
  hasUndelivered(attemptId: string): boolean {
    return [...this.#reports.values()].includes(attemptId);
  }

  report(run: ReportedRun, input: Input, onDelivered: () => void): void {
    // A worker that is lost here may be connected to another member. Otherwise the owner of the shard declares the attempt lost.
    if (isLostWorker(input)) return;
    const shard = this.#parts.shardOf(run.instanceId);
    const { attemptId, instanceId: id } = run;
    const lease: HostLease = { shard, renewedAt: this.#parts.clock.monotonic() };
    this.#running.delete(attemptId);
    this.#ended.set(attemptId, lease);
    const host = this.#parts.member();
    const report = this.#reportUntilDelivered(
      lease,
      { type: "ReportAttempt", host, attemptId, id, input },
      onDelivered,
    );
    this.#reports.set(report, attemptId);
    void report.then(() => this.#reports.delete(report));
  }

  async #reportUntilDelivered(lease: HostLease, call: CallOf<"ReportAttempt">, onDelivered: () => void): Promise<void> {
    const incarnation = this.#incarnation;
    while (!(await this.#isDelivered(lease.shard, call))) {
      if (incarnation === this.#incarnation) await this.#pause();
      if (incarnation !== this.#incarnation) return;
    }
    onDelivered();
    deleteLease(this.#ended, call.attemptId, lease);
  }

  /** Returns true if the owner has received the report; false if the report must be sent again, because the owner is unknown or does not know this member yet. */
  async #isDelivered(shard: number, call: CallOf<"ReportAttempt">): Promise<boolean> {
    try {
      await this.#parts.call(shard, call, Infinity);
      return true;
    } catch (error) {
      if (hasCode(error, "INSTANCE_UNKNOWN")) return true;
      const { attemptId } = call;
      this.#parts.logger.warn(
        { attemptId, error: messageOf(error) },
        "the end of an attempt was not delivered to its owner",
      );
      return !(error instanceof EngineError && (error.retryable || error.code === "ENGINE_STATE"));
    }
  }

  async #pause(): Promise<void> {
    const { clock, timings } = this.#parts;
    await new Promise<void>((resolve) => void clock.after(timings.beatMs, resolve));
  }

  /** Aborts unwanted attempts. Ignores attempts whose shard this member owns by now, because the message may be late. */
  drop(attemptIds: readonly string[]): void {
    for (const id of attemptIds) this.#ended.delete(id);
    this.#parts.dispatcher.abort(attemptIds.filter((id) => this.#running.delete(id)));
  }

  /** Requests renewals from all owners, and gives up attempts whose lease has expired. */
  renewAll(): void {
    this.#forgetVanished();
    this.#stopExpired();
    const { dispatcher } = this.#parts;
    // An unreachable worker may be connected to another member by now, which then renews the leases of its attempts.
    const running = [...this.#running].filter(([id]) => isRenewedHere(dispatcher, id));
    for (const [shard, leases] of Map.groupBy([...running, ...this.#ended], ([, lease]) => lease.shard)) {
      void this.#renewShard(shard, leases);
    }
  }

  /** Forgets attempts that have left this member: their worker may have connected to another member, which then hosts them. */
  #forgetVanished(): void {
    const { dispatcher } = this.#parts;
    for (const id of this.#running.keys()) {
      if (!dispatcher.status.isRunning(id) && dispatcher.status.waitOf(id) === undefined) this.#running.delete(id);
    }
  }

  /** Gives up expired attempts, with a timer for the next expiry: an owner may declare them lost between two renewals. */
  #stopExpired(): void {
    const { clock, timings, dispatcher } = this.#parts;
    const leaseMs = ownPatience * timings.workerLostMs;
    const now = clock.monotonic();
    // The owner may still want these attempts: a remote worker announces them again, even after their end.
    dispatcher.giveUpExpired(takeExpired(this.#running, now - leaseMs));
    // A report whose lease has expired is still delivered.
    takeExpired(this.#ended, now - leaseMs);
    this.#expiryTimer?.cancel();
    const leases = [...this.#running.values(), ...this.#ended.values()];
    if (leases.length === 0) return;
    const oldest = leases.reduce((least, { renewedAt }) => Math.min(least, renewedAt), Infinity);
    this.#expiryTimer = clock.after(Math.ceil(oldest + leaseMs - now), () => this.#stopExpired());
  }

  /** The details of last heartbeats that the owner does not have, so that it has them if this member is lost. */
  #newHeartbeats(leases: readonly (readonly [string, HostLease])[]): Record<string, string> | undefined {
    const { status } = this.#parts.dispatcher;
    const fresh = leases.flatMap(([id, { heartbeat }]) => {
      const details = status.heartbeatOf(id);
      return details === undefined || details === heartbeat ? [] : [[id, details] as const];
    });
    return fresh.length === 0 ? undefined : Object.fromEntries(fresh);
  }

  async #renewShard(shard: number, leases: readonly (readonly [string, HostLease])[]): Promise<void> {
    const { clock, dispatcher, logger } = this.#parts;
    const askedAt = clock.monotonic();
    const attemptIds = [...new Set(leases.map(([id]) => id))];
    const connections = definedFor(attemptIds, (id) => dispatcher.status.connectionOf(id));
    const progress = definedFor(attemptIds, (id) => dispatcher.status.progressOf(id));
    const heartbeats = this.#newHeartbeats(leases);
    const news = { connections, progress, ...(heartbeats !== undefined && { heartbeats }) };
    try {
      const unwanted = new Set(await this.#renew(shard, { attemptIds, ...news }));
      const stopped: string[] = [];
      for (const [id, lease] of leases) {
        if (!unwanted.has(id)) {
          lease.renewedAt = askedAt;
          lease.heartbeat = heartbeats?.[id] ?? lease.heartbeat;
        } else if (!deleteLease(this.#ended, id, lease) && deleteLease(this.#running, id, lease)) stopped.push(id);
      }
      dispatcher.abort(stopped);
    } catch (error) {
      logger.debug({ shard, error: messageOf(error) }, "an owner did not renew the leases of its attempts");
    }
  }
}

/** The lease of one run of an attempt here, or of the report of its end. */
interface HostLease {
  readonly shard: number;
  /** Monotonic time at which the last granted renewal was requested. */
  renewedAt: number;
  /** The details of the last heartbeat that its owner has. */
  heartbeat?: string | undefined;
}

/** Deletes the lease of one run or report. False if it is not there any more, or is that of another run. */
function deleteLease(leases: Map<string, HostLease>, attemptId: string, lease: HostLease): boolean {
  return leases.get(attemptId) === lease && leases.delete(attemptId);
}

/** Removes the leases that were last renewed at that monotonic time or before, and returns the ids of their attempts. */
function takeExpired(leases: Map<string, HostLease>, moment: number): string[] {
  const expired = [...leases].filter(([, { renewedAt }]) => renewedAt <= moment).map(([id]) => id);
  for (const id of expired) leases.delete(id);
  return expired;
}

/** The values of the attempts that have one, by attempt id. */
function definedFor<Value>(
  attemptIds: readonly string[],
  valueOf: (attemptId: string) => Value | undefined,
): Record<string, Value> {
  const found = attemptIds.flatMap((id) => {
    const value = valueOf(id);
    return value === undefined ? [] : [[id, value] as const];
  });
  return Object.fromEntries(found);
}

function isLostWorker(input: Input): boolean {
  return input.type === "AttemptEnded" && input.outcome.kind === "lost" && isRemote(input.worker ?? "");
}

function isRenewedHere(dispatcher: HostedAttemptsParts["dispatcher"], attemptId: string): boolean {
  return dispatcher.status.isReachable(attemptId) || dispatcher.status.waitOf(attemptId) !== undefined;
}

/** The hosting of a single member: attempts that are not here run nowhere. */
export const noHosting: AttemptHosting = {
  lostMs: Infinity,
  blockedMs: 0,
  isLiving: () => false,
  hasSeen: () => true,
  hasLeft: () => false,
  isReporting: () => false,
  abort: () => undefined,
  report: () => undefined,
  add: () => undefined,
  hold: () => () => undefined,
  onProgress: () => undefined,
  reclaim: () => undefined,
  findMissing: async () => [],
};
