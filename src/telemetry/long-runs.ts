import type { InstanceChange } from "../engine/instance-change.ts";
import type { Store } from "../stores/store.ts";
import { qualify } from "../base/namespace.ts";

const runsMax = 100_000;
const pageSize = 500;
const pagesMax = 20;

interface Run {
  readonly startedAt: number;
  /** The longest limit that was reported. */
  toldSeconds: number;
}

export interface LongRun {
  /** The qualified id. */
  readonly instanceId: string;
  /** The exceeded limit. */
  readonly seconds: number;
}

/** Running instances with their start times; paused ones are left out. */
export class LongRuns {
  readonly #limits: readonly number[];
  readonly #runs = new Map<string, Run>();

  constructor(limits: readonly number[]) {
    this.#limits = [...new Set(limits)].toSorted((a, b) => a - b);
  }

  get isWanted(): boolean {
    return this.#limits.length > 0;
  }

  /** Adds the instances of all namespaces that were running before this process started. */
  async begin(store: Pick<Store, "listInstances">): Promise<void> {
    let before: { createdAt: number; key: number } | undefined;
    for (let page = 0; page < pagesMax; page++) {
      const filter = { status: ["Running"] as const, limit: pageSize, ...(before !== undefined && { before }) };
      const found = await store.listInstances(filter);
      for (const { id, createdAt } of found) this.#add(id, createdAt);
      before = found.at(-1);
      if (found.length < pageSize) return;
    }
  }

  observe(change: InstanceChange): void {
    if (!this.isWanted) return;
    const { status, startedAt, createdAt } = change;
    const instanceId = qualify(change.namespace, change.instanceId);
    if (status === "Running") this.#add(instanceId, startedAt ?? createdAt);
    else this.#runs.delete(instanceId);
  }

  /** Returns the instances that have exceeded a limit since the last call. */
  due(now: number): LongRun[] {
    const due: LongRun[] = [];
    for (const [instanceId, run] of this.#runs) {
      const ranSeconds = (now - run.startedAt) / 1000;
      for (const seconds of this.#limits) {
        if (seconds > ranSeconds) break;
        if (seconds <= run.toldSeconds) continue;
        run.toldSeconds = seconds;
        due.push({ instanceId, seconds });
      }
    }
    return due;
  }

  /** Marks an instance as not reported, after a failure. */
  again(instanceId: string): void {
    const run = this.#runs.get(instanceId);
    if (run !== undefined) run.toldSeconds = 0;
  }

  #add(instanceId: string, startedAt: number): void {
    if (this.#runs.has(instanceId) || this.#runs.size >= runsMax) return;
    this.#runs.set(instanceId, { startedAt, toldSeconds: 0 });
  }
}
