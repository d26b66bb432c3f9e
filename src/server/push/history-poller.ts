import type { Clock, Timer } from "../../base/clock.ts";
import { hasCode, messageOf } from "../../base/error.ts";
import type { Logger } from "../../base/logger.ts";
import type { Engine } from "../../engine/engine.ts";
import type { Follower } from "./follower.ts";

export interface HistoryPollerParts {
  readonly engine: Pick<Engine, "members" | "getWorkflowInstanceHistory">;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface PolledInstance {
  readonly instanceId: string;
  /** Sends the turns of the history that the follower has not received. */
  readonly catchUp: () => void;
}

const lookMs = 1000;

/**
 * Polls histories for subscriptions of one instance. A member receives only the turns it commits itself, and another
 * member may own the instance, so in a cluster its history is polled every second.
 */
export class HistoryPoller {
  readonly #parts: HistoryPollerParts;
  readonly #watched = new Map<Follower, PolledInstance>();
  #timer: Timer | undefined;

  constructor(parts: HistoryPollerParts) {
    this.#parts = parts;
  }

  /** True if other members can own instances. */
  get isPossible(): boolean {
    return this.#parts.engine.members().length > 1;
  }

  add(follower: Follower, watched: PolledInstance): void {
    this.#watched.set(follower, watched);
    this.#timer ??= this.#parts.clock.after(lookMs, () => void this.#look());
  }

  delete(follower: Follower): void {
    this.#watched.delete(follower);
    if (this.#watched.size === 0) this.stop();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  async #look(): Promise<void> {
    const timer = this.#timer;
    if (this.isPossible) for (const [follower, watched] of this.#watched) await this.#lookAt(follower, watched);
    // The polling may have been stopped meanwhile.
    if (this.#timer === timer && timer !== undefined) {
      this.#timer = this.#parts.clock.after(lookMs, () => void this.#look());
    }
  }

  async #lookAt(follower: Follower, { instanceId, catchUp }: PolledInstance): Promise<void> {
    const { engine, logger } = this.#parts;
    try {
      const afterTurn = follower.cursor.turn ?? -1;
      const [newer] = await engine.getWorkflowInstanceHistory(instanceId, { afterTurn, limit: 1 });
      if (newer !== undefined && !follower.isCatchingUp && this.#watched.has(follower)) catchUp();
    } catch (error) {
      // The instance may start later, or is moving to another member: the next poll retries.
      if (!hasCode(error, "INSTANCE_UNKNOWN")) {
        logger.debug(
          { instanceId, error: messageOf(error) },
          "the history of a subscribed instance could not be read; retrying",
        );
      }
    }
  }
}
