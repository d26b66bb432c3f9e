const none: readonly never[] = [];

/**
 * Counts the consumers of a promise of the context: awaits, derived promises, and races that it runs in. A promise
 * without consumers is given up, and so are, in turn, the promises that it was made of.
 *
 * - I1 A consumer counts from the moment it is added until it is removed; one that is never removed counts for good.
 * - I2 A promise that was given up is taken up again with its next consumer.
 */
export class Interest {
  #consumers = 0;
  #isGivenUp = false;
  #sources: readonly Interest[];

  constructor(sources: readonly Interest[] = none) {
    this.#sources = sources;
    for (const source of sources) source.addConsumer();
  }

  addConsumer(): void {
    this.#consumers++;
    if (!this.#isGivenUp) return;
    this.#isGivenUp = false;
    this.takeUp();
  }

  removeConsumer(): void {
    if (--this.#consumers > 0) return;
    this.#isGivenUp = true;
    this.giveUp();
  }

  /**
   * Called when a race is decided: it stays a consumer of the winner, as long as it has consumers itself, and of no
   * loser.
   */
  decide(winner: Interest | undefined): void {
    const sources = this.#sources;
    this.#sources = winner === undefined ? none : [winner];
    if (this.#isGivenUp) return;
    for (const source of sources) if (source !== winner) source.removeConsumer();
  }

  takeUp(): void {
    for (const source of this.#sources) source.addConsumer();
  }

  giveUp(): void {
    for (const source of this.#sources) source.removeConsumer();
  }
}
