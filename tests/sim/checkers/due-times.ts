import type { ScheduleSpec } from "../../../src/schedules/schedule-spec.ts";
import { knownDueTimes, knownTimings } from "../known-timings.ts";

const known = new Map(
  [...knownTimings.steady, ...knownTimings.aroundChange].map((timing) => [canonical(timing.every), timing]),
);

/**
 * The due times of a schedule of the workload after one time and not after another, computed in the simplest way and
 * without the engine's algorithm: rates are counted, and local times are known beforehand.
 */
export function dueTimes(
  { every, startAt = -Infinity, endAt = Infinity }: ScheduleSpec,
  anchor: number,
  { after, until }: { after: number; until: number },
): number[] {
  const first = Math.max(after, startAt - 1);
  const last = Math.min(until, endAt);
  if ("rateMs" in every) return multiples(every.rateMs, startAt === -Infinity ? anchor : startAt, first, last);
  // A delay counts from the end of a run, so nothing is known beforehand.
  if ("delayMs" in every) return [];
  const timing = known.get(canonical(every));
  if (timing === undefined) throw new Error(`nobody has worked out when ${JSON.stringify(every)} is due`);
  return knownDueTimes(timing, first, last);
}

function multiples(rateMs: number, from: number, after: number, until: number): number[] {
  const due: number[] = [];
  for (let at = from; at <= until; at += rateMs) if (at > after) due.push(at);
  return due;
}

/** A key that is independent of the order of the timing's properties. */
function canonical(every: object): string {
  return JSON.stringify(Object.entries(every).sort(([a], [b]) => (a < b ? -1 : 1)));
}
