/**
 * Which grants of a connection a worker has seen. A number is good once; with each sign of life all numbers up to the
 * highest seen are closed, so that a worker need not remember them for ever and a member knows that they are void.
 */
export class GrantWindow {
  readonly #seen = new Set<number>();
  #closedUpTo = 0;
  #highest = 0;

  /** Whether it was open. From now on it is not. */
  take(grant: number): boolean {
    if (grant <= this.#closedUpTo || this.#seen.has(grant)) return false;
    this.#seen.add(grant);
    this.#highest = Math.max(this.#highest, grant);
    return true;
  }

  /** Up to which number nothing is open any more. */
  close(): number {
    this.#closedUpTo = this.#highest;
    this.#seen.clear();
    return this.#closedUpTo;
  }
}
