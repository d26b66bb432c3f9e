import type { Clock } from "../base/clock.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { Store } from "../stores/store.ts";
import type { Definition, Definitions } from "./definitions.ts";
import { retryWhileUnavailable } from "./retry-while-unavailable.ts";

export interface DefinitionSaverParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly definitions: Definitions;
  readonly dispatcher: Pick<Dispatcher, "isShutDown">;
}

/** Makes definitions durable ahead of the turn that refers to them. */
export class DefinitionSaver {
  readonly #parts: DefinitionSaverParts;

  constructor(parts: DefinitionSaverParts) {
    this.#parts = parts;
  }

  async save(added: readonly Definition[]): Promise<void> {
    const { store, clock, definitions } = this.#parts;
    const now = clock.now();
    const rows = added.flatMap((definition) => definitions.rowToStore(definition, now) ?? []);
    if (rows.length === 0) return;
    await store.saveDefinitions([...new Set(rows)]);
    for (const { name, version } of rows) definitions.noteStored(name, version);
  }

  /** Waits for a store that is away: a job that has done its work does not fail because of it. */
  async saveWithRetries(added: readonly Definition[]): Promise<void> {
    const { clock, dispatcher } = this.#parts;
    await retryWhileUnavailable(
      clock,
      () => this.save(added),
      () => dispatcher.isShutDown,
    );
  }
}
