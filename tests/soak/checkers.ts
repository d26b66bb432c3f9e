import { checkers as simulated } from "../sim/checkers/all.ts";
import type { Checker } from "../sim/checkers/checker.ts";
import { clocksOf } from "../sim/checkers/clocks.ts";
import type { Evidence, LifeRecord } from "../sim/evidence.ts";
import { evidenceOf, orderOf } from "./evidence.ts";
import { findLandings } from "./landings.ts";
import type { Testimony } from "./testimony.ts";

/** A process that has to share its cores is late: by so much at most, we say, and mean that it would be a bug otherwise. */
const lateMs = 500;

/** What is wrong with a run, each with the name of the checker that says so. */
export function judge(testimony: Testimony): string[] {
  const landings = findLandings(testimony);
  const earliest = evidenceOf(testimony, landings, "earliest");
  const latest = evidenceOf(testimony, landings, "latest");
  const { fencing, leases: _, ...rest } = simulated;
  const wrong: Record<string, readonly string[]> = {
    database: landings.wrong,
    fencing: fencing?.(orderOf(testimony, landings)) ?? [],
    leases: checkLeases(earliest),
    members: testimony.stayed.map((member) => `member ${member} has left and is still among the living`),
  };
  for (const [name, check] of Object.entries(rest)) wrong[name] = certain(check, earliest, latest);
  return Object.entries(wrong).flatMap(([name, all]) => all.map((what) => `${name}: ${what}`));
}

/**
 * What is wrong however early or late the commits came to be durable that nobody saw land. Sentences that tell by how
 * much are the same if they say it of the same thing.
 */
function certain(check: Checker, earliest: Evidence, latest: Evidence): string[] {
  const sentence = (what: string): string => what.replaceAll(/-?[\d.]+ ms|Infinity ms/g, "");
  const also = new Set(check(latest).map(sentence));
  return check(earliest).filter((what) => also.has(sentence(what)));
}

/**
 * A member whose lease is over by its own clock starts nothing, and stops what runs. The simulator's checker knows to
 * the millisecond when a process is awake; here nobody does, so it may be late.
 */
function checkLeases(evidence: Evidence): string[] {
  return evidence.runs.flatMap((run) => {
    const life = evidence.lives[run.life - 1];
    const lapse = life && clocksOf(evidence).nextLapse(life, run);
    if (life === undefined || lapse === undefined) return [];
    const lapsedMs = run.start.at - lapse.from;
    if (lapsedMs > lateMs)
      return [`${run.attemptId} ran on life ${life.number}, whose lease had been over for ${lapsedMs.toFixed(0)} ms`];
    const stoppedAt = Math.min(run.end?.at ?? Infinity, run.abort?.at ?? Infinity, life.end?.at ?? Infinity);
    const noticedAt = awakeAt(life, lapse.from) + lateMs;
    if (stoppedAt <= noticedAt || lapse.to <= noticedAt) return [];
    const lateBy = (stoppedAt - lapse.from).toFixed(0);
    return [`${run.attemptId} ran on for ${lateBy} ms after the lease of life ${life.number} was over`];
  });
}

/** That time, or the end of the standstill that it falls into. */
function awakeAt({ freezes }: LifeRecord, at: number): number {
  const freeze = freezes.find(({ from, to }) => from.at <= at && at < (to?.at ?? Infinity));
  return freeze === undefined ? at : (freeze.to?.at ?? Infinity);
}
