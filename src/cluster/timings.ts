/** Intervals and timeouts among members. */
export interface ClusterTimings {
  /** Interval of a member's heartbeats. */
  readonly beatMs: number;
  /** Time without a new heartbeat after which a member is suspected. */
  readonly suspectMs: number;
  /** Time after the suspicion after which a member is lost, and its shards are taken over. */
  readonly lostMs: number;
  /**
   * Time for which a member's event loop may be blocked while a thread renews its lease. After that the lease expires, and
   * others take over.
   */
  readonly stallMs: number;
  /** Interval at which a member polls its mailboxes in the store. With a bus that is only the safety net. */
  readonly pollMs: number;
  readonly pollWithoutBusMs: number;
  /** Time after which an unanswered call is given up; whether it was carried out is then unknown. */
  readonly callMs: number;
  /** Interval at which a worker reports the attempts that it runs. */
  readonly workerBeatMs: number;
  /** Time without a report after which an attempt counts as lost. */
  readonly workerLostMs: number;
  /** Interval at which members report their use of shared domains. */
  readonly rebalanceMs: number;
}

/** The timings that a member and its remote workers agree on. */
export type WorkerTimings = Pick<ClusterTimings, "workerBeatMs" | "workerLostMs">;

export const defaultTimings: ClusterTimings = {
  beatMs: 2500,
  suspectMs: 10_000,
  lostMs: 30_000,
  stallMs: 120_000,
  pollMs: 5000,
  pollWithoutBusMs: 500,
  callMs: 60_000,
  workerBeatMs: 10_000,
  workerLostMs: 60_000,
  rebalanceMs: 1000,
};

/**
 * A lease ends a little sooner than others give up its holder, a member or a worker: after this part of their patience,
 * by the holder's own clock. Clocks may run up to five percent too fast or too slow.
 */
export const ownPatience = 0.9;

/** Length of a member's lease: shorter than the time after which the others remove it, by more than clocks may differ. */
export function memberLeaseMs({ suspectMs, lostMs }: Pick<ClusterTimings, "suspectMs" | "lostMs">): number {
  return ownPatience * (suspectMs + lostMs);
}
