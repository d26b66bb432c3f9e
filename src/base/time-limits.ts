/** Timeouts, waits, rates and delays are at most a century; due times are looked for as far ahead. */
export const yearsMax = 100;

/** The longest duration, in ms. Added to any valid moment, it gives a date that is valid and a number that is exact. */
export const durationMsMax = yearsMax * 366 * 86_400_000;

export const durationSecondsMax = durationMsMax / 1000;

/** The year 9999, in epoch ms: beyond it dates become invalid somewhere. */
export const momentMax = 253_402_300_799_999;

export function isMoment(value: unknown): value is number {
  return Number.isInteger(value) && Math.abs(value as number) <= momentMax;
}

/** A deadline or due time so long after a moment. The result is a whole number: stores keep times as integers. */
export function momentAfter(at: number, durationMs: number): number {
  return Math.ceil(at + Math.min(durationMs, durationMsMax));
}

/** The earlier of two moments, either of which may be none. */
export function earlier(one: number | undefined, other: number | undefined): number | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return Math.min(one, other);
}

/** ISO 8601. A time that no date can hold is shown as its number: a view must not fail because of one value. */
export function isoText(at: number): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? `${at} ms after 1970` : date.toISOString();
}
