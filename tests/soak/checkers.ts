import { messageOf } from "../../src/base/error.ts";
import { checkers as simulated } from "../sim/checkers/all.ts";
import type { Checker } from "../sim/checkers/checker.ts";
import { checkFencing } from "../sim/checkers/fencing.ts";
import { clocksOf } from "../sim/checkers/clocks.ts";
import type { Evidence, LifeRecord } from "../sim/evidence.ts";
import { evidenceOf, orderOf } from "./evidence.ts";
import { findLandings, type Landings } from "./landings.ts";
import type { Testimony } from "./testimony.ts";

/** A process that has to share its cores is late: by so much at most, we say, and mean that it would be a bug otherwise. */
const lateMs = 500;

/** What checkers look at: the one testimony, read in several ways. */
class Readings {
  readonly testimony: Testimony;
  readonly landings: Landings;
  readonly earliest: Evidence;
  readonly latest: Evidence;

  constructor(testimony: Testimony) {
    this.testimony = testimony;
    this.landings = findLandings(testimony);
    this.earliest = evidenceOf(testimony, this.landings, "earliest");
    this.latest = evidenceOf(testimony, this.landings, "latest");
  }
}

/** Nobody knows there how late a busy machine makes a timer, nor which heartbeats a job sent in a process that was killed. */
const { fencing: _, leases: __, lateness: ___, heartbeats: ____, ...withMoments } = simulated;

const checkers: Readonly<Record<string, (readings: Readings) => readonly string[]>> = {
  database: ({ landings }) => landings.wrong,
  fencing: ({ testimony, landings }) => checkFencing(orderOf(testimony, landings)),
  leases: ({ earliest }) => checkLeases(earliest),
  members: ({ testimony }) => testimony.stayed.map((member) => `member ${member} has left and is among the living`),
  ...Object.fromEntries(
    Object.entries(withMoments).map(([name, check]) => [name, (readings: Readings) => certain(check, readings)]),
  ),
};

/** What is wrong with a run, each with the name of the checker that says so; all of them are asked, or only these. */
export function judge(testimony: Testimony, names: readonly string[] = Object.keys(checkers)): string[] {
  const readings = new Readings(testimony);
  return names.flatMap((name) => (checkers[name]?.(readings) ?? []).map((what) => `${name}: ${what}`));
}

/**
 * What is wrong however early or late the commits came to be durable that nobody saw land. Sentences that tell by how
 * much are the same if they say it of the same thing.
 */
function certain(check: Checker, { earliest, latest }: Readings): string[] {
  const sentence = (what: string): string => what.replaceAll(/-?[\d.]+ ms|Infinity ms/g, "");
  const also = new Set(tryTo(check, latest).map(sentence));
  return tryTo(check, earliest).filter((what) => also.has(sentence(what)));
}

/** Some follow histories with the kernel itself, which does not take everything. */
function tryTo(check: Checker, evidence: Evidence): string[] {
  try {
    return check(evidence);
  } catch (error) {
    return [`it cannot be followed: ${messageOf(error)}`];
  }
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
