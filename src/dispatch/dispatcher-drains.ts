import type { AttemptTable } from "./attempt-table.ts";
import type { ConnectedWorker } from "./worker.ts";
import type { WorkerRing } from "./worker-ring.ts";

export interface DispatcherDrainsParts {
  readonly table: AttemptTable;
  readonly workers: WorkerRing;
  /** Called when the attempts of a drained remote worker have ended. */
  readonly onWorkerDrained?: ((worker: ConnectedWorker) => void) | undefined;
}

/** The drains that are under way: of the whole process, and of single remote workers. */
export class DispatcherDrains {
  readonly #table: AttemptTable;
  readonly #workers: WorkerRing;
  readonly #onWorkerDrained: ((worker: ConnectedWorker) => void) | undefined;
  /** Resolved when nothing runs here any more. */
  #drain: PromiseWithResolvers<void> | undefined;
  readonly #workerDrains = new Map<ConnectedWorker, PromiseWithResolvers<void>>();

  constructor({ table, workers, onWorkerDrained }: DispatcherDrainsParts) {
    this.#table = table;
    this.#workers = workers;
    this.#onWorkerDrained = onWorkerDrained;
  }

  get isDraining(): boolean {
    return this.#drain !== undefined;
  }

  /** Resolves when all running attempts have ended. */
  drain(): Promise<void> {
    this.#drain ??= Promise.withResolvers<void>();
    this.resolve();
    return this.#drain.promise;
  }

  /** Resolves when the attempts of that remote worker for this process have ended; false if it is unknown. */
  async drainWorker(address: string): Promise<boolean> {
    const worker = this.#workers.connected.find((each) => each.address === address);
    if (worker === undefined) return false;
    worker.drain();
    const drain = this.#workerDrains.get(worker) ?? Promise.withResolvers<void>();
    this.#workerDrains.set(worker, drain);
    this.resolve();
    await drain.promise;
    return true;
  }

  /** Resolves the drains whose attempts have all ended. Called at the end of each attempt. */
  resolve(): void {
    if (this.#drain === undefined && this.#workerDrains.size === 0) return;
    const { running, onRemoteWorkers } = this.#table;
    if (running.size === 0) this.#drain?.resolve();
    for (const [worker, drain] of this.#workerDrains) {
      if ([...onRemoteWorkers].some((attempt) => attempt.worker === worker)) continue;
      this.#workerDrains.delete(worker);
      if (this.#workers.connected.includes(worker)) this.#onWorkerDrained?.(worker);
      drain.resolve();
    }
  }
}
