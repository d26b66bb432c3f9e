import { RecentMap } from "../../cluster/recent-map.ts";
import type { DagSpec } from "../../kernel/dag/dag-spec.ts";
import type { NodeId } from "../../kernel/node-spec.ts";
import { hasEnded } from "../../kernel/status.ts";
import type { InstanceView } from "../../views/instance-view.ts";
import { NodeResults } from "./node-results.ts";
import type { RouteParts } from "./route-parts.ts";

/** Limits of what is kept for the next look: age, number, and weight in all, of tasks and of characters. */
const keptMs = 10 * 60_000;
const keptMax = 500;
const tasksMax = 100_000;
const lengthMax = 16 * 1024 * 1024;

type Parts = Pick<RouteParts, "engine" | "store" | "clock">;

/** Keeps what the monitor read of instances, so that a page which polls it does not read a history with every poll. */
export class EndedInstances {
  readonly #parts: Parts;
  /** Ended instances are not in memory: their status is folded from their history. */
  readonly #views: RecentMap<InstanceView>;
  readonly #results: RecentMap<NodeResults>;

  constructor(parts: Parts) {
    const { clock } = parts;
    this.#parts = parts;
    const limits = { clock, ageMsMax: keptMs, countMax: keptMax };
    this.#views = new RecentMap({ ...limits, weightMax: tasksMax, weightOf: ({ tasks }) => tasks.length });
    this.#results = new RecentMap({ ...limits, weightMax: lengthMax, weightOf: ({ size }) => size });
  }

  /** The status of an instance. `INSTANCE_UNKNOWN`. */
  async view(instanceId: string): Promise<InstanceView> {
    const kept = this.#views.get(instanceId);
    if (kept !== undefined && (await this.#isLike(kept))) return kept;
    this.#views.delete(instanceId);
    const view = await this.#parts.engine.getWorkflowInstanceStatus(instanceId);
    if (hasEnded(view.status)) this.#views.set(instanceId, view);
    return view;
  }

  /** True if the store has the instance as it was: one that was reopened since has no end, or a later one. */
  async #isLike({ instanceId, createdAt, endedAt }: InstanceView): Promise<boolean> {
    const filter = { idPrefix: instanceId, createdFrom: createdAt, createdTo: createdAt, limit: 1000 };
    const rows = await this.#parts.engine.listWorkflowInstances(filter);
    return rows.some((row) => row.id === instanceId && row.endedAt === endedAt);
  }

  /** The outputs of its tasks by node id. */
  async results(view: InstanceView, spec: DagSpec | undefined): Promise<ReadonlyMap<NodeId, unknown>> {
    const key = `${view.createdAt}:${view.instanceId}`;
    const results = this.#results.get(key) ?? new NodeResults(spec);
    // Its size changes with what is read.
    this.#results.delete(key);
    const read = await results.read(this.#parts, view);
    this.#results.set(key, results);
    return read;
  }
}
