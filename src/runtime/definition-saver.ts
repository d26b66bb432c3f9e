import type { Clock } from "../base/clock.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { Definition, Definitions } from "./definitions.ts";
import { retryWhileUnavailable } from "./retry-while-unavailable.ts";

export interface DefinitionSaverParts {
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

  /** True if there is nothing to save. */
  areSaved(definitions: readonly Definition[]): boolean {
    return this.#parts.definitions.areStored(definitions);
  }

  async save(added: readonly Definition[]): Promise<void> {
    const { clock, definitions } = this.#parts;
    await definitions.save(added, clock.now());
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
