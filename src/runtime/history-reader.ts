import { type EngineError, hasCode } from "../base/error.ts";
import type { HistoryRow, Store } from "../stores/store.ts";

/** One read takes this many histories at most. */
const instancesPerReadMax = 500;

interface Reader {
  readonly instance: number;
  readonly resolve: (history: HistoryRow[]) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Batches reads of histories that are asked for at the same time: ten thousand instances that wake together take a few
 * reads.
 */
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
    // Requests of the same microtask share one read.
    await Promise.resolve();
    while (this.#waiting.length > 0) await this.#readSome(this.#waiting.splice(0, instancesPerReadMax));
    this.#isReading = false;
  }

  async #readSome(readers: readonly Reader[]): Promise<void> {
    try {
      const histories = await loadHistories(
        this.#store,
        readers.map(({ instance }) => instance),
      );
      for (const { instance, resolve, reject } of readers) {
        const history = histories.get(instance) ?? [];
        if (isDamage(history)) reject(history);
        else resolve(history);
      }
    } catch (error) {
      for (const { reject } of readers) reject(error);
    }
  }
}

/** A history, or why it cannot be read. */
export type ReadHistory = HistoryRow[] | EngineError;

export function isDamage(history: ReadHistory): history is EngineError {
  return !Array.isArray(history);
}

/** Reads them at once, unless one is damaged. Then each is read by itself: damage concerns its own instance alone. */
export async function loadHistories(
  store: Pick<Store, "loadHistory">,
  instances: readonly number[],
): Promise<Map<number, ReadHistory>> {
  try {
    return Map.groupBy(await store.loadHistory(instances), ({ instance }) => instance);
  } catch (error) {
    if (!isCorrupt(error)) throw error;
    const [only] = instances;
    if (instances.length === 1 && only !== undefined) return new Map([[only, error]]);
  }
  const histories = new Map<number, ReadHistory>();
  for (const instance of instances) {
    for (const [key, history] of await loadHistories(store, [instance])) histories.set(key, history);
  }
  return histories;
}

function isCorrupt(error: unknown): error is EngineError {
  return hasCode(error, "STORE_CORRUPT");
}
