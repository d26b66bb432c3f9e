import { EngineError } from "../base/error.ts";

/** One field of a cron expression: what it is called, and which values it may have. */
export interface FieldRange {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  /** Number of values before they come again, where it is not all from `min` to `max`. */
  readonly count?: number;
  /** Words for the first values: JAN for 1, SUN for the first day. */
  readonly words?: readonly string[];
}

/**
 * The values of a plain field: `*`, numbers, words, ranges, lists and steps. `SCHEDULE_INVALID` with the field and what is
 * wrong with it. A range that runs backwards, such as FRI-MON, goes around the end.
 */
export function valuesOf(text: string, range: FieldRange): number[] {
  const values = new Set<number>();
  for (const part of text.split(",")) for (const value of partValues(part, range)) values.add(value);
  return [...values].sort((a, b) => a - b);
}

function partValues(part: string, range: FieldRange): number[] {
  const [span = "", stepText, ...rest] = part.split("/");
  if (rest.length > 0 || (span === "" && stepText === undefined))
    throw fieldError(range, part, "is not a value, a range or a step");
  const step = stepText === undefined ? 1 : stepOf(stepText, range, part);
  const [from, to] = spanOf(span, stepText !== undefined, range, part);
  const count = range.count ?? range.max - range.min + 1;
  const length = to >= from ? to - from : to - from + count;
  const values: number[] = [];
  for (let offset = 0; offset <= length; offset += step) {
    const value = from + offset;
    values.push(value > range.max ? value - count : value);
  }
  return values;
}

function spanOf(span: string, hasStep: boolean, range: FieldRange, part: string): [number, number] {
  if (span === "*" || span === "") return [range.min, range.max];
  const [fromText = "", toText, ...rest] = span.split("-");
  if (rest.length > 0) throw fieldError(range, part, "is not a range");
  const from = numberOf(fromText, range);
  if (toText !== undefined) return [from, numberOf(toText, range)];
  return [from, hasStep ? range.max : from];
}

export function numberOf(text: string, range: FieldRange): number {
  const word = range.words?.indexOf(text.toUpperCase()) ?? -1;
  const value = word === -1 ? Number(text) : range.min + word;
  if (!/^\d+$/.test(text) && word === -1) throw fieldError(range, text, "is not a number");
  if (value < range.min || value > range.max) {
    throw fieldError(range, text, `is not between ${range.min} and ${range.max}`);
  }
  return value;
}

function stepOf(text: string, range: FieldRange, part: string): number {
  const step = Number(text);
  if (!/^\d+$/.test(text) || step === 0) throw fieldError(range, part, "has a step that is not a number above 0");
  if (step > range.max) throw fieldError(range, part, `has a step that is larger than ${range.max}`);
  return step;
}

export function fieldError(range: FieldRange, part: string, problem: string): EngineError {
  return new EngineError("SCHEDULE_INVALID", `the ${range.name} field: "${part}" ${problem}`);
}
