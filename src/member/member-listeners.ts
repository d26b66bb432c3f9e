import { messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { MemberEvent } from "../cluster/member-event.ts";

/** The listeners to member events. */
export class MemberListeners {
  readonly #logger: Logger;
  readonly #listeners = new Set<(event: MemberEvent) => void>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** The returned function removes the listener. */
  add(listener: (event: MemberEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  notify(event: MemberEvent): void {
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch (error) {
        this.#logger.warn(
          { error: messageOf(error) },
          "a listener to member events threw; it is called again for the next event",
        );
      }
    }
  }
}
