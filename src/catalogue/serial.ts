/** Lets one call after the other have its way. */
export class Serial {
  #last: Promise<unknown> = Promise.resolve();

  run<T>(call: () => Promise<T>): Promise<T> {
    const mine = this.#last.then(call);
    // Whoever asked for it hears how it went; the next one begins either way.
    this.#last = mine.catch(() => undefined);
    return mine;
  }
}
