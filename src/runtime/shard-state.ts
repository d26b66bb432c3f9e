import type { Clock } from "../base/clock.ts";
import { retryWhileUnavailable } from "./retry-while-unavailable.ts";

/**
 * State of a shard: it goes from open to closing to released, or from any of these but released to lost, and never
 * back (H4).
 */
export class ShardState {
  readonly #clock: Clock;
  #phase: "open" | "closing" | "released" | "lost" = "open";
  #closedBy: unknown;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * True from the begin of closing: nothing new starts. Until the shard is closed, running attempts continue, and turns
   * are opened and written.
   */
  get isClosing(): boolean {
    return this.#phase !== "open";
  }

  /** True if nothing is written any more. */
  get isClosed(): boolean {
    return this.isReleased || this.isLost;
  }

  /** True if the shard was closed in good order: attempts that still run belong to the next owner. */
  get isReleased(): boolean {
    return this.#phase === "released";
  }

  /** True if another owner has the shard, and it was not closed in good order. */
  get isLost(): boolean {
    return this.#phase === "lost";
  }

  /** The error with which everything is refused once it is closed. */
  get closedBy(): unknown {
    return this.#closedBy;
  }

  beginClosing(): void {
    if (this.#phase === "open") this.#phase = "closing";
  }

  release(error: unknown): void {
    this.#phase = "released";
    this.#closedBy = error;
  }

  lose(error: unknown): void {
    this.#phase = "lost";
    this.#closedBy = error;
  }

  refuseIfClosed(): void {
    if (this.isClosed) throw this.#closedBy;
  }

  /** Repeats a read while the store is unavailable, unless the shard is closing. */
  retryWhileOpen<T>(read: () => Promise<T>): Promise<T> {
    return retryWhileUnavailable(this.#clock, read, () => this.isClosing);
  }
}
