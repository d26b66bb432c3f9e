import type { Store } from "../stores/store.ts";

async function leaveOpen(): Promise<void> {}

/**
 * An engine closes its store when it stops. The server still has things to write then: what jobs said last. So the
 * engine's word is not taken for the last one.
 */
export class HeldStore {
  /** For the engine. */
  readonly storage: Store;
  readonly #store: Store;
  #isOpen = false;

  constructor(store: Store) {
    this.#store = store;
    const open = async (): Promise<void> => {
      await store.open();
      this.#isOpen = true;
    };
    this.storage = Object.create(store, { open: { value: open }, close: { value: leaveOpen } }) as Store;
  }

  async release(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    await this.#store.close();
  }
}
