import type { Clock } from "../base/clock.ts";
import { messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import { instanceFields } from "../base/namespace.ts";
import type { InstanceEntry } from "./instance-entry.ts";
import type { ShardInstances } from "./shard-instances.ts";
import type { ShardState } from "./shard-state.ts";
import { WakeQueue } from "./wake-queue.ts";

const retryMs = 1000;

/** The timers of a shard's instances: each unfinished instance receives `TimerDue` when its earliest timer is due. */
export class InstanceWakes {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #instances: ShardInstances;
  readonly #state: ShardState;
  readonly #queue: WakeQueue<InstanceEntry>;

  constructor(parts: { clock: Clock; logger: Logger; instances: ShardInstances; state: ShardState }) {
    this.#clock = parts.clock;
    this.#logger = parts.logger;
    this.#instances = parts.instances;
    this.#state = parts.state;
    this.#queue = new WakeQueue(parts.clock, (entry) => this.#wake(entry));
  }

  /** Replaces the instance's earlier wake-up; undefined removes it. */
  set(entry: InstanceEntry, at: number | undefined): void {
    this.#queue.set(entry, at);
  }

  stop(): void {
    this.#queue.stop();
  }

  async #wake(entry: InstanceEntry): Promise<void> {
    try {
      await this.#instances.withActor(entry.id, (actor) => actor.tell({ input: { type: "TimerDue" } }));
    } catch (error) {
      this.#logger.error({ ...instanceFields(entry.id), error: messageOf(error) }, "an instance could not be woken");
      if (!this.#state.isClosed && entry.quarantined === undefined) this.set(entry, this.#clock.now() + retryMs);
    }
  }
}
