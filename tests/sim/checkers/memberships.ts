import type { Evidence, LifeRecord, MembershipRecord } from "../evidence.ts";
import type { Checker } from "./checker.ts";

/** Between two looks at the store, no more than so many heartbeats count as time in which the others were watched. */
const beatsCounted = 6;

/** Of the patience: clocks differ, and a look takes its time. */
const leastShare = 0.6;

/**
 * A member is removed if it has ended, or after somebody has watched it being silent. Time in which the remover did not see the store
 * itself, because that was away or the remover stood still, is no evidence against others.
 */
export const checkMemberships: Checker = (evidence) =>
  evidence.memberships.flatMap((removal) => (removal.what === "removed" ? judge(evidence, removal) : []));

function judge({ lives, setting }: Evidence, { life, member, at }: MembershipRecord): string[] {
  const remover = lives[life - 1];
  const removed = lives.find(({ renewals }) => renewals.some((renewal) => renewal.member === member));
  if (remover === undefined || removed === undefined) return [];
  // Its end can be proven where both are on one machine.
  if (removed.end !== undefined && removed.end.at <= at) return [];
  const { suspectMs, lostMs, beatMs } = setting.timings;
  const lastBeat = removed.renewals.findLast((renewal) => renewal.member === member && renewal.sentAt <= at);
  const watchedMs = watchedFor(remover, lastBeat?.sentAt ?? 0, at, beatsCounted * beatMs);
  const leastMs = leastShare * (suspectMs + lostMs);
  if (watchedMs >= leastMs) return [];
  return [`${member} was removed by life ${life}, which had watched it for ${watchedMs.toFixed(0)} of ${leastMs} ms`];
}

/** How long the remover has seen the store, from one moment to another. */
function watchedFor({ renewals, born }: LifeRecord, from: number, to: number, gapMs: number): number {
  let watchedMs = 0;
  let last = Math.max(from, born.at);
  for (const { knownAt } of renewals) {
    if (knownAt <= last || knownAt > to) continue;
    watchedMs += Math.min(knownAt - last, gapMs);
    last = knownAt;
  }
  return watchedMs + Math.min(to - last, gapMs);
}
