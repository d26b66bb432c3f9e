import { shown } from "../base/shown.ts";
import { EngineError, type ErrorCode } from "../base/error.ts";

/** The longest timeout: far above any use, far below where adding it to a time would lose precision. */
const timeoutSecondsMax = 2 ** 31;

/** Checks the settings of one thing, so that every complaint says whose setting it is. */
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
    const fits = typeof value === "number" && value > 0 && value <= timeoutSecondsMax;
    this.#require(fits, setting, `a number of seconds above 0, at most ${timeoutSecondsMax}`, value);
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
      `one of ${words.map(shown).join(", ")}`,
      value,
    );
  }

  object(setting: string, value: unknown): void {
    const fits = typeof value === "object" && value !== null && !Array.isArray(value);
    this.#require(fits, setting, "an object", value);
  }

  texts(setting: string, value: unknown): void {
    const fits = Array.isArray(value) && value.every((item) => typeof item === "string");
    this.#require(fits, setting, "a list of texts", value);
  }

  #require(fits: boolean, setting: string, expected: string, value: unknown): void {
    if (!fits) this.refuse(`${setting} must be ${expected}, got ${shown(value)}`);
  }
}
