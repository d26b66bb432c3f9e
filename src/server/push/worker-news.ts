import type { WorkerEvent } from "../../dispatch/worker-event.ts";
import type { ClusterOverview } from "../../engine/cluster-overview.ts";

/** What happened to a remote worker of the namespace, at whichever member. */
export interface WorkerNews {
  readonly event: WorkerEvent["type"];
  readonly worker: string;
  readonly member: string;
  /** Epoch ms, by the clock of that member. */
  readonly at: number;
}

export interface WorkerNewsListener {
  readonly onNews: (news: WorkerNews) => void;
  /** News of other members may be missing. */
  readonly onGap: () => void;
}

/** The events of remote workers for all clients of a namespace: one subscription, while there is a client. */
export class WorkerNewsFeed {
  readonly #cluster: Pick<ClusterOverview, "onWorkerEvent">;
  readonly #listeners = new Set<WorkerNewsListener>();
  #subscription: ReturnType<ClusterOverview["onWorkerEvent"]> | undefined;

  constructor(cluster: Pick<ClusterOverview, "onWorkerEvent">) {
    this.#cluster = cluster;
  }

  /** Follows the events from now on. `ready` resolves when every living member sends its own, or after two seconds. */
  follow(listener: WorkerNewsListener): { readonly ready: Promise<void>; readonly stop: () => void } {
    this.#listeners.add(listener);
    this.#subscription ??= this.#cluster.onWorkerEvent((event) => this.#tell(event), { onGap: () => this.#onGap() });
    return { ready: this.#subscription.ready, stop: () => this.#leave(listener) };
  }

  #leave(listener: WorkerNewsListener): void {
    this.#listeners.delete(listener);
    if (this.#listeners.size > 0) return;
    this.#subscription?.();
    this.#subscription = undefined;
  }

  #tell({ type, worker, member, at }: WorkerEvent): void {
    for (const { onNews } of this.#listeners) onNews({ event: type, worker, member, at });
  }

  #onGap(): void {
    for (const { onGap } of this.#listeners) onGap();
  }
}
