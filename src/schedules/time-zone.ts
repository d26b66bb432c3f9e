import { EngineError } from "../base/error.ts";
import { fromMs, type LocalTime, toMs } from "./local-time.ts";

/** Larger than any step of a clock that is put forward or back. */
const searchMs = 24 * 3_600_000;

/** What a wall in some place shows, and when it shows it: once, not at all, or twice. */
export class TimeZone {
  readonly name: string;
  readonly #format: Intl.DateTimeFormat;

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

  /** The instants at which the wall shows that time, the earlier first. Empty where the clock is put forward over it. */
  instantsOf(time: LocalTime): number[] {
    const wall = toMs(time);
    const offsets = new Set([this.offset(wall - searchMs), this.offset(wall + searchMs)]);
    const instants = [...offsets].map((offset) => wall - offset).filter((at) => at + this.offset(at) === wall);
    return instants.sort((a, b) => a - b);
  }

  /** When the clock is put forward over that time: the first instant after it. */
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

  /** When the clock is changed within that time, in which it is: the first instant after. */
  changeBetween(from: number, to: number): number {
    const offset = this.offset(from);
    let before = Math.floor(from / 1000) * 1000;
    let after = Math.ceil(to / 1000) * 1000;
    while (after - before > 1000) {
      const middle = Math.floor((before + after) / 2000) * 1000;
      if (this.offset(middle) === offset) before = middle;
      else after = middle;
    }
    return after;
  }

  /** How far the wall is ahead of Greenwich. */
  offset(at: number): number {
    const seconds = Math.floor(at / 1000) * 1000;
    const parts = Object.fromEntries(this.#format.formatToParts(seconds).map(({ type, value }) => [type, value]));
    const number = (type: string): number => Number(parts[type]);
    const wall = Date.UTC(
      number("year"),
      number("month") - 1,
      number("day"),
      number("hour"),
      number("minute"),
      number("second"),
    );
    return wall - seconds;
  }
}
