import { ownPatience } from "../../../src/cluster/timings.ts";
import { epochMs } from "../clock.ts";
import type { ClockSetting, Evidence, LifeRecord, Moment } from "../evidence.ts";

/** A stretch of true time in which a lease was over. */
export interface Lapse {
  readonly from: number;
  readonly to: number;
  /** The monotonic clock shows it, so a timer tells. The wall clock has to be looked at. */
  readonly isTimed: boolean;
}

/** What the clocks of the machines showed at any time of a run. */
export class Clocks {
  readonly #settings: ReadonlyMap<string, readonly ClockSetting[]>;
  readonly #leaseMs: number;
  readonly #lapses = new Map<LifeRecord, readonly Lapse[]>();

  constructor({ clockSettings, setting }: Evidence) {
    this.#settings = Map.groupBy(clockSettings, ({ machine }) => machine);
    this.#leaseMs = ownPatience * (setting.timings.suspectMs + setting.timings.lostMs);
  }

  /** How far the wall clock was ahead. */
  offsetAt(machine: string, at: number): number {
    const settings = this.#settings.get(machine) ?? [];
    return settings.findLast((setting) => setting.at <= at)?.wallOffsetMs ?? 0;
  }

  /** The latest that the wall clock showed at any time of a stretch. */
  latestWall(machine: string, from: number, to: number): number {
    const changes = (this.#settings.get(machine) ?? []).filter(({ at }) => at > from && at <= to);
    const shown = changes.map(({ at }) => at + this.offsetAt(machine, Math.max(from, at - 1e-9)));
    return epochMs + Math.max(to + this.offsetAt(machine, to), ...shown);
  }

  /** By how much wall clocks of any machines differed, from one end of a stretch to the other. */
  spread(from: number, to: number): number {
    let least = 0;
    let most = 0;
    for (const [machine, settings] of this.#settings) {
      const within = settings.filter(({ at }) => at > from && at <= to).map(({ wallOffsetMs }) => wallOffsetMs);
      for (const offset of [this.offsetAt(machine, from), ...within]) {
        least = Math.min(least, offset);
        most = Math.max(most, offset);
      }
    }
    return most - least;
  }

  /** When the life's lease was over by its own clocks, first after that time; Infinity if it never was. */
  lapseAfter(life: LifeRecord, after: number): number {
    return Math.max(this.nextLapse(life, after)?.from ?? Infinity, after);
  }

  /** The lapse that the time falls into, or the first after it. */
  nextLapse(life: LifeRecord, after: number): Lapse | undefined {
    return this.#lapsesOf(life).find(({ to }) => to > after);
  }

  #lapsesOf(life: LifeRecord): readonly Lapse[] {
    let lapses = this.#lapses.get(life);
    if (lapses === undefined) this.#lapses.set(life, (lapses = this.#findLapses(life)));
    return lapses;
  }

  #findLapses(life: LifeRecord): Lapse[] {
    return life.renewals.flatMap(({ sentAt }, place) => {
      const timed = this.#monotonicLapse(life, sentAt);
      const to = life.renewals[place + 1]?.knownAt ?? Infinity;
      const lapses = this.#wallLapses(life.machine, sentAt, Math.min(timed, to));
      return timed < to ? [...lapses, { from: timed, to, isTimed: true }] : lapses;
    });
  }

  #monotonicLapse({ rate, freezes }: LifeRecord, sentAt: number): number {
    let lapsesAt = sentAt + this.#leaseMs / rate;
    for (const { kind, from, to } of freezes) {
      if (kind !== "suspended" || (to?.at ?? Infinity) < sentAt || from.at > lapsesAt) continue;
      lapsesAt += (to?.at ?? Infinity) - Math.max(from.at, sentAt);
    }
    return lapsesAt;
  }

  /** A wall clock that was set ahead may be set back before anybody has looked at it. */
  #wallLapses(machine: string, sentAt: number, to: number): Lapse[] {
    const offset = this.offsetAt(machine, sentAt);
    const changes = (this.#settings.get(machine) ?? []).filter(({ at }) => at > sentAt).map(({ at }) => at);
    return [sentAt, ...changes].flatMap((at, place) => {
      const from = Math.max(at, sentAt + this.#leaseMs + offset - this.offsetAt(machine, at));
      const until = Math.min(changes[place] ?? Infinity, to);
      return from < until ? [{ from, to: until, isTimed: false }] : [];
    });
  }
}

const clocks = new WeakMap<Evidence, Clocks>();

export function clocksOf(evidence: Evidence): Clocks {
  let known = clocks.get(evidence);
  if (known === undefined) clocks.set(evidence, (known = new Clocks(evidence)));
  return known;
}

/** When a run was over, at the latest: its end, the signal, its process's end, or the lapse of its member's lease. */
export function overAt(
  run: {
    readonly life: number;
    readonly start: Moment;
    readonly end?: Moment | undefined;
    readonly abort?: Moment | undefined;
  },
  evidence: Evidence,
): Moment {
  const life = evidence.lives[run.life - 1];
  const moments = [run.end, run.abort, life?.end].filter((moment) => moment !== undefined);
  if (evidence.setting.isCluster && life !== undefined)
    moments.push({ at: clocksOf(evidence).lapseAfter(life, run.start.at), order: -1 });
  return moments.reduce((first, moment) => (isEarlier(moment, first) ? moment : first), {
    at: Infinity,
    order: Infinity,
  });
}

export function isEarlier(a: Moment, b: Moment): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}
