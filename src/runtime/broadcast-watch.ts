import type { Clock, Timer } from "../base/clock.ts";
import { messageOf } from "../base/error.ts";
import { instanceFields } from "../base/namespace.ts";
import type { Logger } from "../base/logger.ts";
import type { DispatcherStatus } from "../dispatch/dispatcher-status.ts";
import type { WorkerSelector } from "../dispatch/worker-selector.ts";
import type { AwaitedWorkers } from "../kernel/dag/item-table.ts";

/** Finds workers of all members. */
export interface EligibleWorkers {
  /** The time between two looks at whether the workers that broadcasts wait for are still there. */
  readonly lookMs: number;
  /** The workers, by id or address, that would run such an attempt now or later. `CALL_UNANSWERED`. */
  find(selector: WorkerSelector): Promise<readonly string[]>;
}

/** An instance with broadcasts. */
export interface Broadcaster {
  readonly id: string;
  /** False once it waits for no worker and will wait for none. */
  readonly hasRunningBroadcast: boolean;
  /** The workers that items of its running broadcasts wait for. */
  awaitedWorkers(): readonly AwaitedWorkers[];
  selectorOf(task: number): WorkerSelector;
  onWorkersGone(task: number, items: readonly number[]): void;
}

/** Workers that the last look has not found, by task. */
type Missing = Map<number, ReadonlySet<string>>;

/**
 * Looks from time to time whether the workers that the broadcasts of a shard wait for are still there. A worker that two
 * looks in a row have not found is gone: one that goes from one member to another is missing for a moment.
 */
export class BroadcastWatch {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #dispatcher: { readonly status: Pick<DispatcherStatus, "waitOf"> };
  readonly #workers: EligibleWorkers;
  readonly #watched = new Map<Broadcaster, Missing>();
  #timer: Timer | undefined;
  #isLooking = false;
  #isStopped = false;

  constructor(parts: {
    readonly clock: Clock;
    readonly logger: Logger;
    readonly dispatcher: { readonly status: Pick<DispatcherStatus, "waitOf"> };
    readonly workers: EligibleWorkers;
  }) {
    this.#clock = parts.clock;
    this.#dispatcher = parts.dispatcher;
    this.#logger = parts.logger;
    this.#workers = parts.workers;
  }

  find(selector: WorkerSelector): Promise<readonly string[]> {
    return this.#workers.find(selector);
  }

  /** True if the attempt waits for a worker here, be it that one has given it back. */
  isQueued(attemptId: string): boolean {
    return this.#dispatcher.status.waitOf(attemptId) !== undefined;
  }

  /** Watches the workers that the instance waits for: a worker that stops gives back what it runs, without a turn. */
  watch(broadcaster: Broadcaster): void {
    if (!broadcaster.hasRunningBroadcast || this.#watched.has(broadcaster)) return;
    this.#watched.set(broadcaster, new Map());
    this.#arm();
  }

  /** The shard is closed. */
  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
    this.#watched.clear();
  }

  #arm(): void {
    if (this.#timer !== undefined || this.#isLooking || this.#isStopped || this.#watched.size === 0) return;
    this.#timer = this.#clock.after(this.#workers.lookMs, () => {
      this.#timer = undefined;
      void this.#look();
    });
  }

  async #look(): Promise<void> {
    this.#isLooking = true;
    for (const [broadcaster, missing] of this.#watched) {
      if (!broadcaster.hasRunningBroadcast) this.#watched.delete(broadcaster);
      const awaited = broadcaster.awaitedWorkers();
      // Only a look at the same broadcast just before counts.
      for (const task of missing.keys()) if (!awaited.some((each) => each.task === task)) missing.delete(task);
      for (const each of awaited) await this.#lookFor(broadcaster, each, missing);
    }
    this.#isLooking = false;
    this.#arm();
  }

  async #lookFor(broadcaster: Broadcaster, { task, workers }: AwaitedWorkers, before: Missing): Promise<void> {
    try {
      const present = new Set(await this.#workers.find(broadcaster.selectorOf(task)));
      const missing = new Set([...workers.values()].filter((worker) => !present.has(worker)));
      const missingBefore = before.get(task);
      before.set(task, missing);
      if (missingBefore === undefined || !this.#watched.has(broadcaster)) return;
      // The answer may have taken long, and a worker that came back may run its item by now.
      const awaited =
        broadcaster.awaitedWorkers().find((each) => each.task === task)?.workers ?? new Map<number, string>();
      const gone = [...awaited].filter(([, worker]) => missing.has(worker) && missingBefore.has(worker));
      if (gone.length > 0)
        broadcaster.onWorkersGone(
          task,
          gone.map(([item]) => item),
        );
    } catch (error) {
      // The next look may be answered.
      const fields = { ...instanceFields(broadcaster.id), error: messageOf(error) };
      this.#logger.warn(fields, "the workers that a broadcast waits for could not be looked up");
    }
  }
}
