import { EngineError } from "../base/error.ts";
import { fromMs, type LocalTime, toMs } from "./local-time.ts";

const dayMs = 86_400_000;
const quarterMs = 900_000;

/** Search window around a wall-clock time, larger than any clock change. */
const searchMs = dayMs;

/** Size of the cache of days, which is then emptied; a schedule looks at few days at a time. */
const daysKeptMax = 1000;

/** A clock change of a time zone: forward if `since` is above `before`, otherwise back. */
export interface ClockChange {
  /** The first instant after the change. */
  readonly at: number;
  /** UTC offset before the change, and since. */
  readonly before: number;
  readonly since: number;
}

/** The wall clock of a time zone: converts between instants and local times, which occur once, not at all, or twice. */
export class TimeZone {
  readonly name: string;
  readonly #format: Intl.DateTimeFormat;
  /**
   * The UTC offset at the beginning of each UTC day, cached because asking for one is slow. No day has two clock
   * changes.
   */
  readonly #dayOffsets = new Map<number, number>();
  readonly #changes = new Map<number, ClockChange>();

  /** `SCHEDULE_INVALID`. */
  constructor(name: string) {
    this.name = name;
    try {
      this.#format = new Intl.DateTimeFormat("en-US", {
        timeZone: name,
        hourCycle: "h23",
        era: "short",
        year: "numeric",
        month: "numeric",
        day: "numeric",
        hour: "numeric",
        minute: "numeric",
        second: "numeric",
      });
    } catch (error) {
      const message = `${JSON.stringify(name)} is not a time zone; they have names such as "Europe/Berlin" or "UTC"`;
      throw new EngineError("SCHEDULE_INVALID", message, { cause: error });
    }
  }

  static ofThisProcess(): string {
    return new Intl.DateTimeFormat().resolvedOptions().timeZone;
  }

  toLocal(at: number): LocalTime {
    return fromMs(at + this.offset(at));
  }

  /**
   * Returns the instants at which the wall clock shows that time, the earlier first. Empty if the time is in a gap (the
   * clock is put forward over it).
   */
  instantsOf(time: LocalTime): number[] {
    const wall = toMs(time);
    const offsets = new Set([this.offset(wall - searchMs), this.offset(wall + searchMs)]);
    const instants = [...offsets].map((offset) => wall - offset).filter((at) => at + this.offset(at) === wall);
    return instants.sort((a, b) => a - b);
  }

  /** Returns the first instant after the gap that contains that time (the clock is put forward over it). */
  endOfGap(time: LocalTime): number {
    const wall = toMs(time);
    let before = wall - searchMs - this.offset(wall - searchMs);
    let after = wall + searchMs - this.offset(wall + searchMs);
    while (after - before > 1000) {
      const middle = Math.floor((before + after) / 2000) * 1000;
      if (middle + this.offset(middle) > wall) after = middle;
      else before = middle;
    }
    return after;
  }

  /** Returns the first clock change after that instant and not after `until`, which is a few days later at most. */
  firstChange(after: number, until: number): ClockChange | undefined {
    for (let day = Math.floor(after / dayMs); day <= Math.floor(until / dayMs); day++) {
      const change = this.#changeOn(day);
      if (change !== undefined && change.at > after && change.at <= until) return change;
    }
    return undefined;
  }

  /** Returns the UTC offset at that instant. */
  offset(at: number): number {
    const day = Math.floor(at / dayMs);
    const change = this.#changeOn(day);
    if (change === undefined) return this.#offsetAtBeginning(day);
    return at < change.at ? change.before : change.since;
  }

  /** Returns the clock change after the beginning of that UTC day, up to the beginning of the next. */
  #changeOn(day: number): ClockChange | undefined {
    const before = this.#offsetAtBeginning(day);
    const since = this.#offsetAtBeginning(day + 1);
    if (before === since) return undefined;
    const known = this.#changes.get(day);
    if (known !== undefined) return known;
    const change = { at: this.#findChange(day * dayMs, before), before, since };
    this.#changes.set(day, change);
    return change;
  }

  /** Searches by quarters of an hour first, where nearly all changes are, which halves the number of lookups. */
  #findChange(begin: number, offset: number): number {
    const after = this.#bisect([begin, begin + dayMs], offset, quarterMs);
    const isExact = this.#readOffset(after - 1000) === offset;
    return isExact ? after : this.#bisect([after - quarterMs, after], offset, 1000);
  }

  #bisect([begin, end]: readonly [number, number], offset: number, unitMs: number): number {
    let before = begin;
    let after = end;
    while (after - before > unitMs) {
      const middle = Math.floor((before + after) / (2 * unitMs)) * unitMs;
      if (this.#readOffset(middle) === offset) before = middle;
      else after = middle;
    }
    return after;
  }

  #offsetAtBeginning(day: number): number {
    const known = this.#dayOffsets.get(day);
    if (known !== undefined) return known;
    if (this.#dayOffsets.size >= daysKeptMax) {
      this.#dayOffsets.clear();
      this.#changes.clear();
    }
    const offset = this.#readOffset(day * dayMs);
    this.#dayOffsets.set(day, offset);
    return offset;
  }

  #readOffset(at: number): number {
    const parts = Object.fromEntries(this.#format.formatToParts(at).map(({ type, value }) => [type, value]));
    const number = (type: string): number => Number(parts[type]);
    const wall = Date.UTC(
      number("year"),
      number("month") - 1,
      number("day"),
      number("hour"),
      number("minute"),
      number("second"),
    );
    return wall - at;
  }
}
