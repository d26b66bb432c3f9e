/** Gathers what comes while one bulk is under way, and sends it as the next: what their makers advise for many at once. */
export class Bulk<Item> {
  readonly #send: (items: Item[]) => Promise<unknown>;
  #waiting: { readonly item: Item; readonly reject: (error: unknown) => void; readonly resolve: () => void }[] = [];
  #isSending = false;

  constructor(send: (items: Item[]) => Promise<unknown>) {
    this.#send = send;
  }

  /** Resolves when the bulk that has it is stored. */
  async add(item: Item): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.push({ item, resolve, reject });
    if (!this.#isSending) void this.#sendAll();
    await promise;
  }

  async #sendAll(): Promise<void> {
    this.#isSending = true;
    while (this.#waiting.length > 0) {
      const bulk = this.#waiting;
      this.#waiting = [];
      try {
        await this.#send(bulk.map(({ item }) => item));
        for (const { resolve } of bulk) resolve();
      } catch (error) {
        for (const { reject } of bulk) reject(error);
      }
    }
    this.#isSending = false;
  }
}
