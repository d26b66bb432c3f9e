import type { Clock, Timer } from "../base/clock.ts";
import type { TaskProgress } from "../dispatch/task-progress.ts";
import type { AttemptProgress, Hint } from "./call.ts";

/** The pause between two messages to owners. */
const pauseMs = 500;

/** Limit of the reports of one message, so that it stays below the length that buses take. */
const reportsMax = 100;

export interface HostedProgressParts {
  readonly clock: Clock;
  readonly member: () => string;
  /** Sends a hint to the owner of the shard. */
  readonly hintOwner: (shard: number, hint: Hint) => void;
}

/**
 * Passes the progress of hosted attempts on to the owners of their shards, of each attempt the last report, at most twice a
 * second. A message may be lost: the next renewal of the attempt's lease repeats the last report.
 */
export class HostedProgress {
  readonly #parts: HostedProgressParts;
  readonly #due = new Map<number, Map<string, TaskProgress>>();
  #timer: Timer | undefined;

  constructor(parts: HostedProgressParts) {
    this.#parts = parts;
  }

  report(shard: number, { attemptId, progress }: AttemptProgress): void {
    let ofShard = this.#due.get(shard);
    if (ofShard === undefined) this.#due.set(shard, (ofShard = new Map<string, TaskProgress>()));
    ofShard.set(attemptId, progress);
    if (this.#timer === undefined) this.#send();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#due.clear();
  }

  #send(): void {
    const { clock, member, hintOwner } = this.#parts;
    this.#timer = undefined;
    if (this.#due.size === 0) return;
    for (const [shard, ofShard] of this.#due) {
      const reports = Array.from(ofShard, ([attemptId, progress]) => ({ attemptId, progress }));
      for (let from = 0; from < reports.length; from += reportsMax) {
        const some = reports.slice(from, from + reportsMax);
        hintOwner(shard, { type: "AttemptProgress", host: member(), reports: some });
      }
    }
    this.#due.clear();
    this.#timer = clock.after(pauseMs, () => this.#send());
  }
}
