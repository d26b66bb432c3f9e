const distinctMax = 200;

/** Stands for every value above the limit. */
export const otherValue = "other";

/**
 * The values of one label. Users choose the names of workflows, tasks and workers, and each one is a time series that
 * Prometheus keeps for weeks: above the limit, those that come later are counted together.
 */
export class LabelValues {
  readonly #known = new Set<string>();

  of(value: string): string {
    if (this.#known.has(value)) return value;
    if (this.#known.size >= distinctMax) return otherValue;
    this.#known.add(value);
    return value;
  }
}
