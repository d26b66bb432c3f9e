/**
 * Tells one run to stop. An AbortController is dear to make and most jobs never look at their signal, so it is made
 * when somebody does.
 */
export class Abort {
  #controller: AbortController | undefined;
  #reason: Error | undefined;

  get aborted(): boolean {
    return this.#reason !== undefined;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** The first reason stays. */
  abort(reason: Error): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
  }
}
