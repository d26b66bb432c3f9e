import { memberLeaseMs } from "../../../src/cluster/timings.ts";
import { tickMs } from "../../../src/engine/stall-detector.ts";
import type { Evidence, Freeze, LeaseRenewal, LifeRecord } from "../evidence.ts";
import type { Checker } from "./checker.ts";
import { clocksOf } from "./clocks.ts";

/** Clocks have a resolution of one millisecond. */
const roundingMs = 2;

/**
 * While the event loop of a member is blocked, its thread renews the lease:
 *
 * - not after the loop has been blocked for `stallMs`;
 * - not if the lease has expired by the member's own clocks;
 * - well enough that nobody removes the member, if the thread runs, the store is reachable, and the stall is shorter. A
 *   wall clock that is set ahead by more than the lease cannot be told from a suspended machine: the thread stops then.
 */
export const checkStallRenewals: Checker = (evidence) =>
  evidence.lives.flatMap((life) => {
    const stalls = life.freezes.filter(({ kind }) => kind === "stalled");
    return [
      ...life.renewals.flatMap((renewal) => (renewal.isByThread ? checkRenewal(evidence, life, renewal) : [])),
      ...stalls.flatMap((stall) => checkRemoval(evidence, life, stall)),
    ];
  });

function checkRenewal(evidence: Evidence, life: LifeRecord, renewal: LeaseRenewal): string[] {
  const { setting } = evidence;
  const { member, sentAt } = renewal;
  const stall = life.freezes.findLast(({ kind, from }) => kind === "stalled" && from.at <= sentAt);
  if (stall === undefined) return [`life ${life.number} renewed the lease of ${member} without a stall`];
  const stoppedMs = stall.stop === undefined ? 0 : Math.max(0, Math.min(stall.stop.to, sentAt) - stall.stop.from);
  const lateMs = sentAt - stall.from.at - stoppedMs - (setting.timings.stallMs + tickMs) / life.rate;
  if (lateMs > roundingMs)
    return [`life ${life.number} renewed its lease ${lateMs.toFixed(0)} ms after it had given up`];
  const before = life.renewals.filter((each) => each !== renewal && each.member === member && each.knownAt <= sentAt);
  const lastSentAt = Math.max(...before.map((each) => each.sentAt));
  const overMs = (sentAt - lastSentAt) * life.rate - memberLeaseMs(setting.timings);
  if (overMs > roundingMs) return [`life ${life.number} renewed a lease that was over for ${overMs.toFixed(0)} ms`];
  // A process that was stopped hears of an earlier renewal when it runs again, and prolongs the lease from that one.
  const clocks = clocksOf(evidence);
  const aheadMs = clocks.offsetAt(life.machine, sentAt - roundingMs) - clocks.offsetAt(life.machine, lastSentAt);
  if (sentAt - lastSentAt + aheadMs <= memberLeaseMs(setting.timings) + roundingMs) return [];
  return [`life ${life.number} renewed a lease that was over by its wall clock`];
}

/** The wall clock was set past the end of the lease, soon after a renewal: the thread could not prolong it before. */
function hasSkipped(evidence: Evidence, life: LifeRecord, from: number, to: number): boolean {
  const lapse = clocksOf(evidence).nextLapse(life, { attemptId: "", start: { at: from, order: 0 } });
  if (lapse === undefined || lapse.isTimed || lapse.from >= to) return false;
  const last = life.renewals.findLast(({ sentAt }) => sentAt <= lapse.from);
  return last !== undefined && lapse.from - last.sentAt <= 2 * evidence.setting.timings.beatMs;
}

function checkRemoval(evidence: Evidence, life: LifeRecord, stall: Freeze): string[] {
  const { setting, storeOutages, restores, memberships } = evidence;
  const { beatMs, stallMs } = setting.timings;
  const from = stall.from.at;
  const to = Math.min(stall.to?.at ?? Infinity, life.end?.at ?? Infinity);
  const isShort = (to - from) * life.rate < stallMs - tickMs;
  if (!isShort || stall.stop !== undefined || setting.isStoreRough || restores.length > 0) return [];
  const isAway = storeOutages.some((outage) => outage.machine === life.machine && outage.from < to && outage.to > from);
  const last = life.renewals.findLast(({ knownAt }) => knownAt <= from);
  // The loop had just renewed the lease when it was blocked.
  if (isAway || last === undefined || from - last.sentAt > 2 * beatMs) return [];
  const removal = memberships.find(
    ({ what, member, at }) => what === "removed" && member === last.member && at > from && at <= to,
  );
  if (removal === undefined || hasSkipped(evidence, life, from, removal.at)) return [];
  return [`${last.member} was removed ${(removal.at - from).toFixed(0)} ms after its event loop was blocked`];
}
