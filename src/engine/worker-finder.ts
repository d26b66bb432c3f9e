import type { Clock } from "../base/clock.ts";
import { EngineError } from "../base/error.ts";
import { defaultNamespace } from "../base/namespace.ts";
import type { WorkerSelector } from "../dispatch/worker-selector.ts";
import type { EligibleWorkers } from "../runtime/broadcast-watch.ts";
import { ClusterOverview, type ClusterOverviewParts } from "./cluster-overview.ts";

/** Time for which members that do not answer are asked again: by then they have answered, or their lease has expired. */
const patienceMs = 60_000;
const askAgainMs = 1000;

/** Finds the workers of all members that are eligible for a job. */
export class WorkerFinder implements EligibleWorkers {
  readonly lookMs: number;
  readonly #clock: Clock;
  readonly #overview: ClusterOverview;
  readonly #isOver: () => boolean;

  constructor(parts: ClusterOverviewParts, options: { clock: Clock; lookMs: number; isOver: () => boolean }) {
    this.lookMs = options.lookMs;
    this.#clock = options.clock;
    this.#isOver = options.isOver;
    // Jobs have qualified ids, so the namespace is that of the job.
    this.#overview = new ClusterOverview(parts, defaultNamespace);
  }

  async find(selector: WorkerSelector): Promise<readonly string[]> {
    const since = this.#clock.monotonic();
    for (;;) {
      try {
        return await this.#ask(selector);
      } catch (error) {
        // An engine that starts takes up its instances before it answers questions.
        if (this.#isOver() || this.#clock.monotonic() - since > patienceMs) throw error;
      }
      await new Promise<void>((resolve) => this.#clock.after(askAgainMs, resolve));
    }
  }

  async #ask(selector: WorkerSelector): Promise<readonly string[]> {
    const { workers, unanswered } = await this.#overview.findWorkers(selector);
    if (unanswered.length === 0) return workers;
    const message = `members ${unanswered.join(", ")} do not say which workers they have`;
    throw new EngineError("CALL_UNANSWERED", message);
  }
}
