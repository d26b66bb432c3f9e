/**
 * Deduplicates the grants of a connection. A number is accepted once; each heartbeat closes all numbers up to the highest
 * seen, so that a worker need not remember them for ever and a member knows that they are void.
 */
export class GrantWindow {
  readonly #seen = new Set<number>();
  #closedUpTo = 0;
  #highest = 0;

  /** Accepts the number if it is still open, and closes it. */
  take(grant: number): boolean {
    if (grant <= this.#closedUpTo || this.#seen.has(grant)) return false;
    this.#seen.add(grant);
    this.#highest = Math.max(this.#highest, grant);
    return true;
  }

  /** Closes all numbers up to the highest seen, and returns that one. */
  close(): number {
    this.#closedUpTo = this.#highest;
    this.#seen.clear();
    return this.#closedUpTo;
  }
}
