import { messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { WorkerEvent } from "../dispatch/worker-event.ts";

export type WorkerListener = (event: WorkerEvent, namespace: string) => void;

/** Tells listeners what happens to the remote workers that are connected to this process. */
export class WorkerListeners {
  readonly #listeners = new Set<WorkerListener>();

  /** The returned function removes the listener. */
  add(listener: WorkerListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  notify(event: WorkerEvent, namespace: string, logger: Logger): void {
    for (const listener of this.#listeners) {
      try {
        listener(event, namespace);
      } catch (error) {
        logger.warn({ error: messageOf(error) }, "a listener to worker events threw; it is called again");
      }
    }
  }
}
