import type { Store } from "../stores/store.ts";
import { overrideStore } from "../stores/wrap-store.ts";

async function leaveOpen(): Promise<void> {}

/**
 * Opens the store before the engine does and keeps it open when the engine closes it: the server reads its tokens before
 * any task runs, and writes the last task logs after the engine has stopped.
 */
export class HeldStore {
  /** The store for the engine, whose second `open` and whose `close` do nothing. */
  readonly storage: Store;
  readonly #store: Store;
  #isOpen = false;

  constructor(store: Store) {
    this.#store = store;
    const open = async (): Promise<void> => {
      if (this.#isOpen) return;
      await store.open();
      this.#isOpen = true;
    };
    this.storage = overrideStore(store, { open, close: leaveOpen });
  }

  async closeStore(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    await this.#store.close();
  }
}
