import type { Evidence, LifeRecord, MembershipRecord } from "../evidence.ts";
import type { Checker } from "./checker.ts";

/** The maximum of heartbeats between two reads of the store that counts as time in which the others were observed. */
const beatsCounted = 6;

/** The tolerance as a share of the timeout: clocks differ, and a read takes time. */
const leastShare = 0.6;

/**
 * A member is removed if it has ended, or after another member has observed its silence. Time in which the remover
 * could not read the store, because that was unavailable or the remover was stalled, does not count.
 */
export const checkMemberships: Checker = (evidence) =>
  evidence.memberships.flatMap((removal) => (removal.what === "removed" ? judge(evidence, removal) : []));

function judge({ lives, setting }: Evidence, { life, member, at }: MembershipRecord): string[] {
  const remover = lives[life - 1];
  const removed = lives.find(({ renewals }) => renewals.some((renewal) => renewal.member === member));
  if (remover === undefined || removed === undefined) return [];
  // The end of a process can be proven if both are on one machine.
  if (removed.end !== undefined && removed.end.at <= at) return [];
  const { suspectMs, lostMs, beatMs } = setting.timings;
  const lastBeat = removed.renewals.findLast((renewal) => renewal.member === member && renewal.sentAt <= at);
  const watchedMs = watchedFor(remover, lastBeat?.sentAt ?? 0, at, beatsCounted * beatMs);
  const leastMs = leastShare * (suspectMs + lostMs);
  if (watchedMs >= leastMs) return [];
  return [`${member} was removed by life ${life}, which had watched it for ${watchedMs.toFixed(0)} of ${leastMs} ms`];
}

/** For how long the remover could read the store between two moments. */
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
