const defaultMax = 200;

/** The value of all labels above the limit. */
export const otherValue = "other";

/**
 * The values of one label. Names of workflows, tasks and workers are unbounded, and each one is a time series that
 * Prometheus keeps for weeks: values above the limit are counted as one.
 */
export class LabelValues {
  readonly #known = new Set<string>();
  readonly #max: number;

  constructor(max = defaultMax) {
    this.#max = max;
  }

  of(value: string): string {
    if (this.#known.has(value)) return value;
    if (this.#known.size >= this.#max) return otherValue;
    this.#known.add(value);
    return value;
  }
}
