import type { Clock } from "../base/clock.ts";
import { elapsedMs, momentOf } from "../base/moment.ts";
import type { LeaseConnection } from "../stores/lease-connection.ts";
import type { LeaseTerm, SharedLease } from "./shared-lease.ts";
import { type ClusterTimings, memberLeaseMs } from "./timings.ts";

export type RenewalTimings = Pick<ClusterTimings, "beatMs" | "suspectMs" | "lostMs" | "stallMs">;

export interface StallRenewalsParts {
  readonly clock: Clock;
  readonly lease: Pick<SharedLease, "read" | "renew">;
  readonly connect: () => Promise<Pick<LeaseConnection, "renewLease" | "close">>;
  readonly timings: RenewalTimings;
  /** Called once for each stall in which a renewal fails. */
  readonly onFailure: (error: unknown) => void;
}

/** Part of `beatMs` after which a renewal is retried. */
const retryShare = 1 / 4;

/**
 * Renews a member's lease from the watchdog's thread while the event loop is blocked.
 *
 * - T1 It prolongs a lease and never begins one: nothing is sent once the lease has expired by this process's own clocks.
 * - T2 It gives up when the loop has been blocked for `stallMs`. The lease then expires, and other members take over.
 * - T3 A renewal raises the heartbeat only if the store has at least what it acknowledged before, so a store that went back
 *   to an earlier state stays noticeable (`RollbackDetector`). If the store refuses, the term is over for this thread.
 *
 * Stalls are rare, so the connection is made when one begins, and closed at its end.
 */
export class StallRenewals {
  readonly #parts: StallRenewalsParts;
  readonly #leaseMs: number;
  #connection: ReturnType<StallRenewalsParts["connect"]> | undefined;
  #isRenewing = false;
  #hasFailed = false;
  #retryAt = -Infinity;
  #refusedTerm = -1;

  constructor(parts: StallRenewalsParts) {
    this.#parts = parts;
    this.#leaseMs = memberLeaseMs(parts.timings);
  }

  /** `stalledMs`: how long the loop has been blocked; 0 while it runs. */
  tick(stalledMs: number): void {
    const { beatMs, stallMs } = this.#parts.timings;
    if (stalledMs === 0) return this.#onRunning();
    if (stalledMs < beatMs || stalledMs > stallMs || this.#isRenewing) return;
    if (this.#parts.clock.monotonic() >= this.#retryAt && this.#dueLease() !== undefined) void this.#renew();
  }

  #dueLease(): LeaseTerm | undefined {
    const { clock, lease, timings } = this.#parts;
    const held = lease.read();
    if (held === undefined || held.term === this.#refusedTerm) return undefined;
    const ageMs = elapsedMs(clock, held.sent);
    return ageMs >= timings.beatMs && ageMs < this.#leaseMs ? held : undefined;
  }

  async #renew(): Promise<void> {
    const { clock, timings, onFailure } = this.#parts;
    this.#isRenewing = true;
    try {
      this.#connection ??= this.#parts.connect();
      const connection = await this.#connection;
      // Connecting takes time, in which the lease may have ended.
      const held = this.#dueLease();
      if (held !== undefined) await this.#send(connection, held);
    } catch (error) {
      this.#retryAt = clock.monotonic() + retryShare * timings.beatMs;
      if (!this.#hasFailed) onFailure(error);
      this.#hasFailed = true;
      await this.#disconnect();
    } finally {
      this.#isRenewing = false;
    }
  }

  async #send(connection: Pick<LeaseConnection, "renewLease">, { term, member, heartbeat }: LeaseTerm): Promise<void> {
    const sent = momentOf(this.#parts.clock);
    if (await connection.renewLease(member, heartbeat)) this.#parts.lease.renew(term, sent, heartbeat + 1);
    else this.#refusedTerm = term;
  }

  #onRunning(): void {
    this.#hasFailed = false;
    this.#retryAt = -Infinity;
    if (this.#connection !== undefined && !this.#isRenewing) void this.#disconnect();
  }

  async #disconnect(): Promise<void> {
    const connection = this.#connection;
    this.#connection = undefined;
    // A connection that was never made, or is broken, has nothing to close; its failure is reported with the renewal.
    await connection?.then((made) => made.close()).catch(() => undefined);
  }
}
