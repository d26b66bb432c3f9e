import type { Clock, Timer } from "../base/clock.ts";
import { EngineError, hasCode, messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import { type ClusterTimings, ownPatience } from "../cluster/timings.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { WorkerConnection } from "../dispatch/worker.ts";
import type { Input } from "./input.ts";
import { type ReportedRun, type AttemptHosting, isRemote } from "./delegated-attempts.ts";
import type { CallOf, CallType, Hint, ResultOf } from "./call.ts";

export interface HostedAttemptsParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly timings: ClusterTimings;
  readonly dispatcher: Pick<
    Dispatcher,
    "abort" | "connectionOf" | "giveUpExpired" | "isReachable" | "isRunning" | "waitOf"
  >;
  readonly member: () => string;
  readonly members: Pick<AttemptHosting, "isLiving" | "hasLeft" | "hasSeen">;
  readonly shardOf: (instanceId: string) => number;
  readonly call: <T extends CallType>(shard: number, call: CallOf<T>, timeoutMs: number) => Promise<ResultOf<T>>;
  readonly hint: (member: string, hint: Hint) => void;
}

/**
 * Attempts that this member hosts for shards of other owners: they were granted here before their shard moved, or their
 * worker connected to this member. This member renews the leases of these attempts regularly, and reports their ends
 * until the owner has made them durable.
 *
 * - O1 An attempt is given up when its lease expires, a little before an owner that receives no renewals declares the
 *   attempt lost; an attempt that runs in this process is stopped. The lease counts from before the renewal was
 *   requested.
 */
export class HostedAttempts implements AttemptHosting {
  readonly lostMs: number;
  readonly stallMs: number;
  readonly #parts: HostedAttemptsParts;
  readonly #attempts = new Map<string, HostedAttempt>();
  /** Deliveries of reports under way, one for each report that its owner has not received yet. */
  readonly #reports = new Set<Promise<void>>();
  #timer: Timer | undefined;
  #expiryTimer: Timer | undefined;
  #incarnation = 0;

  constructor(parts: HostedAttemptsParts) {
    this.#parts = parts;
    this.lostMs = parts.timings.workerLostMs;
    this.stallMs = parts.timings.stallMs;
  }

  readonly isLiving = (member: string): boolean => this.#parts.members.isLiving(member);

  readonly hasLeft = (member: string): boolean => this.#parts.members.hasLeft(member);

  readonly hasSeen = (moment: number): boolean => this.#parts.members.hasSeen(moment);

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
    this.#attempts.clear();
  }

  /** Resolves when the owners have received all reports, or after the grace period. */
  async whenReported(graceMs: number): Promise<void> {
    const { promise: timeout, resolve } = Promise.withResolvers<void>();
    const timer = this.#parts.clock.after(graceMs, resolve);
    await Promise.race([Promise.all(this.#reports), timeout]);
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
    for (const id of attemptIds) this.#attempts.set(id, { shard, renewedAt, isReporting: false });
  }

  /** The age of the last lease renewal of a hosted attempt; 0 for this member's own attempts. */
  renewalAgeMs(attemptId: string): number {
    const attempt = this.#attempts.get(attemptId);
    return attempt === undefined ? 0 : this.#parts.clock.monotonic() - attempt.renewedAt;
  }

  /**
   * Requests the lease of an attempt that a worker has announced. Returns the time from which it counts; undefined if the
   * owner does not want the attempt. Throws what the call throws.
   */
  async ask(shard: number, attemptId: string, connection: WorkerConnection): Promise<number | undefined> {
    const askedAt = this.#parts.clock.monotonic();
    const unwanted = await this.#renew(shard, [attemptId], { [attemptId]: connection });
    return unwanted.includes(attemptId) ? undefined : askedAt;
  }

  /** Requests renewals from the shard's owner. Returns the ids of unwanted attempts. */
  async #renew(
    shard: number,
    attemptIds: readonly string[],
    connections: Readonly<Record<string, WorkerConnection>>,
  ): Promise<readonly string[]> {
    const { timings, member, call } = this.#parts;
    return await call(shard, { type: "RenewAttempts", host: member(), attemptIds, connections }, timings.workerBeatMs);
  }

  /** Removes an attempt whose shard is owned here again. */
  reclaim(attemptId: string): void {
    this.#attempts.delete(attemptId);
  }

  readonly isReporting = (attemptId: string): boolean => this.#attempts.get(attemptId)?.isReporting === true;

  report(run: ReportedRun, input: Input, onDelivered: () => void): void {
    // A worker that is lost here may be connected to another member. Otherwise the owner of the shard declares the attempt lost.
    if (isLostWorker(input)) return;
    const shard = this.#parts.shardOf(run.instanceId);
    this.#attempts.set(run.attemptId, { shard, renewedAt: this.#parts.clock.monotonic(), isReporting: true });
    const host = this.#parts.member();
    const call = { type: "ReportAttempt", host, attemptId: run.attemptId, id: run.instanceId, input } as const;
    const report = this.#reportUntilDelivered(shard, call, onDelivered);
    this.#reports.add(report);
    void report.then(() => this.#reports.delete(report));
  }

  async #reportUntilDelivered(shard: number, call: CallOf<"ReportAttempt">, onDelivered: () => void): Promise<void> {
    const incarnation = this.#incarnation;
    while (!(await this.#isDelivered(shard, call))) {
      if (incarnation === this.#incarnation) await this.#pause();
      if (incarnation !== this.#incarnation) return;
    }
    onDelivered();
    if (incarnation === this.#incarnation) this.#attempts.delete(call.attemptId);
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

  /**
   * Aborts unwanted attempts. Ignores attempts whose shard this member owns by now, because the message may be late. One
   * that has ended here runs no more: if its dispatcher has it, that is the next run, which its owner wants.
   */
  drop(attemptIds: readonly string[]): void {
    const running = attemptIds.filter((id) => this.#attempts.get(id)?.isReporting === false);
    for (const id of attemptIds) this.#attempts.delete(id);
    this.#parts.dispatcher.abort(running);
  }

  /** Requests renewals from all owners, and gives up attempts whose lease has expired. */
  renewAll(): void {
    this.#forgetVanished();
    this.#stopExpired();
    const { dispatcher } = this.#parts;
    // An unreachable worker may be connected to another member by now, which then renews the leases of its attempts.
    const known = [...this.#attempts].filter(([id, { isReporting }]) => isReporting || isRenewedHere(dispatcher, id));
    for (const [shard, attempt] of Map.groupBy(known, ([, { shard }]) => shard)) {
      void this.#renewShard(
        shard,
        attempt.map(([id]) => id),
      );
    }
  }

  /** Forgets attempts that have left this member: their worker may have connected to another member, which then hosts them. */
  #forgetVanished(): void {
    const { dispatcher } = this.#parts;
    for (const [id, { isReporting }] of this.#attempts) {
      const isHere = isReporting || dispatcher.isRunning(id) || dispatcher.waitOf(id) !== undefined;
      if (!isHere) this.#attempts.delete(id);
    }
  }

  /** Gives up expired attempts, with a timer for the next expiry: an owner may declare them lost between two renewals. */
  #stopExpired(): void {
    const { clock, timings } = this.#parts;
    const leaseMs = ownPatience * timings.workerLostMs;
    const now = clock.monotonic();
    const expired: string[] = [];
    let oldest = Infinity;
    for (const [id, { renewedAt }] of this.#attempts) {
      if (now - renewedAt >= leaseMs) expired.push(id);
      else oldest = Math.min(oldest, renewedAt);
    }
    // The owner may still want these attempts: a remote worker announces them again, even after their end.
    for (const id of expired) this.#attempts.delete(id);
    this.#parts.dispatcher.giveUpExpired(expired);
    this.#expiryTimer?.cancel();
    if (oldest === Infinity) return;
    this.#expiryTimer = clock.after(Math.ceil(oldest + leaseMs - now), () => this.#stopExpired());
  }

  async #renewShard(shard: number, attemptIds: readonly string[]): Promise<void> {
    const { clock, dispatcher, logger } = this.#parts;
    const askedAt = clock.monotonic();
    const incarnation = this.#incarnation;
    const connections = attemptIds.flatMap((id) => {
      const connection = dispatcher.connectionOf(id);
      return connection === undefined ? [] : [[id, connection] as const];
    });
    try {
      const unwanted = await this.#renew(shard, attemptIds, Object.fromEntries(connections));
      if (incarnation !== this.#incarnation) return;
      for (const id of attemptIds) {
        const attempt = this.#attempts.get(id);
        if (attempt !== undefined && !unwanted.includes(id)) attempt.renewedAt = askedAt;
      }
      this.drop(unwanted);
    } catch (error) {
      logger.debug({ shard, error: messageOf(error) }, "an owner did not renew the leases of its attempts");
    }
  }
}

interface HostedAttempt {
  readonly shard: number;
  /** Monotonic time at which the last granted renewal was requested. */
  renewedAt: number;
  /** True if the attempt has ended here, and its end is not delivered yet. */
  readonly isReporting: boolean;
}

function isLostWorker(input: Input): boolean {
  return input.type === "AttemptEnded" && input.outcome.kind === "lost" && isRemote(input.worker ?? "");
}

function isRenewedHere(dispatcher: HostedAttemptsParts["dispatcher"], attemptId: string): boolean {
  return dispatcher.isReachable(attemptId) || dispatcher.waitOf(attemptId) !== undefined;
}

/** The hosting of a single member: attempts that are not here run nowhere. */
export const noHosting: AttemptHosting = {
  lostMs: Infinity,
  stallMs: 0,
  isLiving: () => false,
  hasSeen: () => true,
  hasLeft: () => false,
  isReporting: () => false,
  abort: () => undefined,
  report: () => undefined,
  add: () => undefined,
  hold: () => () => undefined,
  reclaim: () => undefined,
};
