import type { HistoryRow, Store } from "../stores/store.ts";

/** So many histories are read at a time. */
const instancesPerReadMax = 500;

interface Reader {
  readonly instance: number;
  readonly resolve: (history: HistoryRow[]) => void;
  readonly reject: (error: unknown) => void;
}

/** Reads histories together that are asked for at the same time: ten thousand sleepers that wake are a few reads. */
export class HistoryReader {
  readonly #store: Store;
  readonly #waiting: Reader[] = [];
  #isReading = false;

  constructor(store: Store) {
    this.#store = store;
  }

  read(instance: number): Promise<HistoryRow[]> {
    const { promise, resolve, reject } = Promise.withResolvers<HistoryRow[]>();
    this.#waiting.push({ instance, resolve, reject });
    if (!this.#isReading) void this.#readAll();
    return promise;
  }

  async #readAll(): Promise<void> {
    this.#isReading = true;
    // Whoever asks in the same breath is read with the first.
    await Promise.resolve();
    while (this.#waiting.length > 0) await this.#readSome(this.#waiting.splice(0, instancesPerReadMax));
    this.#isReading = false;
  }

  async #readSome(readers: readonly Reader[]): Promise<void> {
    try {
      const rows = await this.#store.loadHistory(readers.map(({ instance }) => instance));
      const histories = Map.groupBy(rows, ({ instance }) => instance);
      for (const { instance, resolve } of readers) resolve(histories.get(instance) ?? []);
    } catch (error) {
      for (const { reject } of readers) reject(error);
    }
  }
}
