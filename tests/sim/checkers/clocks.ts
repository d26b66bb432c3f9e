import { ownPatience } from "../../../src/cluster/timings.ts";
import { epochMs } from "../clock.ts";
import type { ClockSetting, Evidence, JobRun, LifeRecord, Moment } from "../evidence.ts";

/**
 * The permission of a process to run attempts: lasts for a time by its own clocks, from when it was requested. A
 * member's permissions are the renewals of its lease, and apply to all its attempts. A worker's are the answers to its
 * heartbeats, and apply to single attempts.
 */
interface Permission {
  readonly sentAt: number;
  readonly knownAt: number;
  readonly forMs: number;
}

/** The maximum rate of any monotonic clock. */
export const fastestRate = 1.05;

/** A period of true time in which a process must not run an attempt. */
export interface Lapse {
  readonly from: number;
  readonly to: number;
  /** The monotonic clock shows it, so a timer fires. Otherwise only the wall clock shows it, which has to be polled. */
  readonly isTimed: boolean;
}

/** The clocks of the machines at any time of a run. */
export class Clocks {
  readonly #settings: ReadonlyMap<string, readonly ClockSetting[]>;
  readonly #leaseMs: number;
  readonly #workerLeaseMs: number;
  readonly #lapses = new Map<LifeRecord, readonly Lapse[]>();

  constructor({ clockSettings, setting }: Evidence) {
    this.#settings = Map.groupBy(clockSettings, ({ machine }) => machine);
    const { suspectMs, lostMs, workerLostMs } = setting.timings;
    this.#leaseMs = ownPatience * (suspectMs + lostMs);
    this.#workerLeaseMs = ownPatience * workerLostMs;
  }

  /** Returns by how much the wall clock was ahead at a time. */
  offsetAt(machine: string, at: number): number {
    const settings = this.#settings.get(machine) ?? [];
    return settings.findLast((setting) => setting.at <= at)?.wallOffsetMs ?? 0;
  }

  /** The latest time that the wall clock showed during a period. */
  latestWall(machine: string, from: number, to: number): number {
    const changes = (this.#settings.get(machine) ?? []).filter(({ at }) => at > from && at <= to);
    const shown = changes.map(({ at }) => at + this.offsetAt(machine, Math.max(from, at - 1e-9)));
    return epochMs + Math.max(to + this.offsetAt(machine, to), ...shown);
  }

  /** The maximum difference between the wall clocks of any machines during a period. */
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

  /**
   * The first time after its start from which its process must not run it, by its own clocks; Infinity if it always
   * may.
   */
  lapseOf(life: LifeRecord, run: Started): number {
    return Math.max(this.nextLapse(life, run)?.from ?? Infinity, run.start.at);
  }

  /** The lapse that contains the start, or the first one after it. */
  nextLapse(life: LifeRecord, run: Started): Lapse | undefined {
    return this.#lapsesOf(life, run).find(({ to }) => to > run.start.at);
  }

  /** Whether the lease of a run on a worker had expired, by the fastest clock that any member may have. */
  isGivenUp(life: LifeRecord, run: Started, at: number): boolean {
    const last = this.#renewalsFor(life, run).findLast(({ knownAt }) => knownAt <= at);
    return last === undefined || at >= last.sentAt + last.forMs / fastestRate;
  }

  #lapsesOf(life: LifeRecord, run: Started): readonly Lapse[] {
    if (life.role === "worker") return this.#findLapses(life, this.#renewalsFor(life, run));
    let lapses = this.#lapses.get(life);
    if (lapses === undefined) {
      this.#lapses.set(life, (lapses = this.#findLapses(life, this.#renewalsOf(life))));
    }
    return lapses;
  }

  /**
   * The renewals of a member's lease, by its event loop and by its thread. The loop may hear of one that it sent before a
   * stall when the thread has sent later ones: that changes nothing.
   */
  #renewalsOf({ renewals }: LifeRecord): Permission[] {
    const permissions: Permission[] = [];
    for (const { sentAt, knownAt } of renewals) {
      if (sentAt > (permissions.at(-1)?.sentAt ?? -Infinity))
        permissions.push({ sentAt, knownAt, forMs: this.#leaseMs });
    }
    return permissions;
  }

  /**
   * An attempt begins with the worker's last renewal of any kind; after that it has those that apply to it. A renewal
   * that ends sooner than the present one changes nothing.
   */
  #renewalsFor(
    { workerRenewals, rate }: LifeRecord,
    { attemptId, start, answersUntil = Infinity }: Started,
  ): Permission[] {
    const permissions: Permission[] = [];
    let since = -Infinity;
    for (const { sentAt, knownAt, withheld } of workerRenewals) {
      if (knownAt > answersUntil) break;
      const lessMs = knownAt <= start.at ? 0 : (withheld.get(attemptId) ?? 0);
      const countsFrom = sentAt - lessMs / rate;
      if (countsFrom <= since) continue;
      since = countsFrom;
      permissions.push({ sentAt, knownAt, forMs: this.#workerLeaseMs - lessMs });
    }
    return permissions;
  }

  #findLapses(life: LifeRecord, permissions: readonly Permission[]): Lapse[] {
    return permissions.flatMap((permission, place) => {
      const timed = this.#monotonicLapse(life, permission);
      const to = permissions[place + 1]?.knownAt ?? Infinity;
      const lapses = this.#wallLapses(life.machine, permission, Math.min(timed, to));
      return timed < to ? [...lapses, { from: timed, to, isTimed: true }] : lapses;
    });
  }

  #monotonicLapse({ rate, freezes }: LifeRecord, { sentAt, forMs }: Permission): number {
    let lapsesAt = sentAt + forMs / rate;
    for (const { kind, from, to } of freezes) {
      if (kind !== "suspended" || (to?.at ?? Infinity) < sentAt || from.at > lapsesAt) continue;
      lapsesAt += (to?.at ?? Infinity) - Math.max(from.at, sentAt);
    }
    return lapsesAt;
  }

  /**
   * The lapses that only the wall clock shows; it may be set back before they are noticed. Until a permission is known,
   * the one before it counts.
   */
  #wallLapses(machine: string, { sentAt, knownAt, forMs }: Permission, to: number): Lapse[] {
    const offset = this.offsetAt(machine, sentAt);
    const changes = (this.#settings.get(machine) ?? []).filter(({ at }) => at > sentAt).map(({ at }) => at);
    return [sentAt, ...changes].flatMap((at, place) => {
      const from = Math.max(at, knownAt, sentAt + forMs + offset - this.offsetAt(machine, at));
      const until = Math.min(changes[place] ?? Infinity, to);
      return from < until ? [{ from, to: until, isTimed: false }] : [];
    });
  }
}

/** The part of a run that its permissions depend on. */
type Started = Pick<JobRun, "attemptId" | "start"> & {
  /** Answers to the worker after this time do not apply. */
  readonly answersUntil?: number;
};

const clocks = new WeakMap<Evidence, Clocks>();

export function clocksOf(evidence: Evidence): Clocks {
  let known = clocks.get(evidence);
  if (known === undefined) clocks.set(evidence, (known = new Clocks(evidence)));
  return known;
}

/**
 * When a run was over at the latest: its end, its abort, the end of its process, or the time from which its process
 * must not run it.
 */
export function overAt(run: JobRun, evidence: Evidence): Moment {
  const life = evidence.lives[run.life - 1];
  const moments = [run.end, run.abort, life?.end].filter((moment) => moment !== undefined);
  if (life !== undefined && (evidence.setting.isCluster || life.role === "worker"))
    moments.push({ at: clocksOf(evidence).lapseOf(life, run), order: -1 });
  return moments.reduce<Moment>((first, moment) => (isEarlier(moment, first) ? moment : first), {
    at: Infinity,
    order: Infinity,
  });
}

export function isEarlier(a: Moment, b: Moment): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}
