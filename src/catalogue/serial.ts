/** Runs calls one after the other. */
export class Serial {
  #last: Promise<unknown> = Promise.resolve();

  run<T>(call: () => Promise<T>): Promise<T> {
    const mine = this.#last.then(call);
    // The caller receives the error; the next call begins either way.
    this.#last = mine.catch(() => undefined);
    return mine;
  }
}
