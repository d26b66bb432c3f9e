import { preview } from "../base/preview.ts";
import { EngineError, type ErrorCode } from "../base/error.ts";
import { didYouMean } from "../base/closest-name.ts";
import { durationMsMax, durationSecondsMax } from "../base/time-limits.ts";

/** Validates the settings of one object, whose name is part of every error message. */
export class SettingCheck {
  readonly #code: ErrorCode;
  readonly #owner: string;

  constructor(code: ErrorCode, owner: string) {
    this.#code = code;
    this.#owner = owner;
  }

  refuse(problem: string): never {
    throw new EngineError(this.#code, `${this.#owner}: ${problem}`);
  }

  name(setting: string, value: unknown): void {
    this.#require(typeof value === "string" && value.trim() !== "", setting, "text, not blank", value);
  }

  flag(setting: string, value: unknown): void {
    this.#require(typeof value === "boolean", setting, "true or false", value);
  }

  seconds(setting: string, value: unknown): void {
    const fits = typeof value === "number" && value > 0 && value <= durationSecondsMax;
    this.#require(fits, setting, `a number of seconds above 0, at most ${durationSecondsMax}`, value);
  }

  /** Checks a duration that is added to a time: a whole number of milliseconds, up to a century. */
  wholeMs(setting: string, value: unknown, min: number): void {
    const fits = Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= durationMsMax;
    this.#require(fits, setting, `a whole number of milliseconds, at least ${min} and at most ${durationMsMax}`, value);
  }

  wholeNumber(setting: string, value: unknown, min: number): void {
    const fits = Number.isSafeInteger(value) && Number(value) >= min;
    this.#require(fits, setting, `a whole number, at least ${min}`, value);
  }

  numberWithin(setting: string, value: unknown, range: { min: number; max: number }): void {
    const fits = typeof value === "number" && value >= range.min && value <= range.max;
    const upTo = range.max === Number.MAX_VALUE ? "" : ` and at most ${range.max}`;
    this.#require(fits, setting, `a number, at least ${range.min}${upTo}`, value);
  }

  oneOf(setting: string, value: unknown, words: readonly string[]): void {
    this.#require(
      typeof value === "string" && words.includes(value),
      setting,
      `one of ${words.map(preview).join(", ")}`,
      value,
    );
  }

  object(setting: string, value: unknown): void {
    const fits = typeof value === "object" && value !== null && !Array.isArray(value);
    this.#require(fits, setting, "an object", value);
  }

  /**
   * Refuses unknown names in an options object: a misspelt option would silently have its default. The compiler checks that
   * `known` has every name of the options' type.
   */
  options<T extends object>(given: T, known: Readonly<Record<keyof T, true>>, what = "its options"): void {
    this.object(what, given);
    const unknown = Object.keys(given).find((name) => !Object.hasOwn(known, name));
    if (unknown === undefined) return;
    const names = Object.keys(known);
    const hint = didYouMean(unknown, names) || `; there ${names.length === 1 ? "is" : "are"} ${names.join(", ")}`;
    this.refuse(`${what} have no ${preview(unknown)}${hint}`);
  }

  names(setting: string, value: unknown): void {
    const fits = Array.isArray(value) && value.every((item) => typeof item === "string" && item.trim() !== "");
    this.#require(fits, setting, "a list of texts that are not blank", value);
  }

  texts(setting: string, value: unknown): void {
    const fits = Array.isArray(value) && value.every((item) => typeof item === "string");
    this.#require(fits, setting, "a list of texts", value);
  }

  #require(fits: boolean, setting: string, expected: string, value: unknown): void {
    if (!fits) this.refuse(`${setting} must be ${expected}, got ${preview(value)}`);
  }
}
