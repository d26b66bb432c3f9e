const none: readonly never[] = [];

/**
 * Consumers that still want what a promise of the context is to give: whoever awaits it, whatever is derived from it, a
 * race that it runs in. What nobody wants any more is given up, and so is, in turn, what it was made of.
 *
 * - I1 A consumer counts from the moment it is added until it is removed; one that is never removed wants it for good.
 * - I2 What was given up is taken up again with its next consumer.
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

  /** A race is decided: of what ran in it, only the winner is still wanted, for as long as the race itself is. */
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
