import { type TaskWait, waits } from "./wait-reason.ts";
import type { ConnectedWorker, Worker } from "./worker.ts";
import { isEligible, nameInAddress, type WorkerSelector } from "./worker-selector.ts";

/** Chooses workers round-robin: the connected ones, and the embedded worker if there is one. */
export class WorkerRing {
  readonly #embedded: Worker | undefined;
  readonly #connected: ConnectedWorker[] = [];
  /** Index of the next worker. The embedded worker comes after the others. */
  #next = 0;

  constructor(embedded: Worker | undefined) {
    this.#embedded = embedded;
  }

  get connected(): readonly ConnectedWorker[] {
    return this.#connected;
  }

  /** The slots of all connected workers. */
  get slots(): number {
    return this.#connected.reduce((sum, worker) => sum + worker.slots, 0);
  }

  add(worker: ConnectedWorker): void {
    if (!this.has(worker)) this.#connected.push(worker);
  }

  remove(worker: ConnectedWorker): void {
    const place = this.#connected.indexOf(worker);
    if (place !== -1) this.#connected.splice(place, 1);
  }

  has(worker: ConnectedWorker): boolean {
    return this.#connected.includes(worker);
  }

  /** The wait of an attempt that no worker may run, whether it has a free slot or not; undefined if one may. */
  reasonAbsent(selector: WorkerSelector): TaskWait | undefined {
    if (this.#hasEligible(selector)) return undefined;
    return this.#hasEligible({ job: selector.job }) ? waits.noEligibleWorker(selector) : waits.noWorker(selector.job);
  }

  /** The names of the workers that would run such an attempt, with a free slot or without: ids of connected ones, and the address of the embedded one. */
  listEligible(selector: WorkerSelector): string[] {
    const names = this.#connected
      .filter((worker) => worker.slots > 0 && !worker.isDraining && isEligible(worker, selector))
      .map(({ address }) => nameInAddress(address));
    if (this.#embedded !== undefined && this.#isEmbeddedEligible(selector)) names.push(this.#embedded.address);
    return names;
  }

  #hasEligible(selector: WorkerSelector): boolean {
    return this.#isEmbeddedEligible(selector) || this.#connected.some((worker) => isEligible(worker, selector));
  }

  /** The next eligible worker with a free slot. The pool knows the free slots of the embedded worker. */
  choose(selector: WorkerSelector, embeddedSlots: number): Worker | undefined {
    const connected = this.#connected;
    if (connected.length === 0) {
      return embeddedSlots > 0 && this.#isEmbeddedEligible(selector) ? this.#embedded : undefined;
    }
    const places = connected.length + 1;
    for (let i = 0; i < places; i++) {
      const place = (this.#next + i) % places;
      const worker = connected[place] ?? this.#embedded;
      if (worker === undefined || !isEligible(worker, selector)) continue;
      if ((worker === this.#embedded ? embeddedSlots : worker.freeSlots) < 1) continue;
      this.#next = (place + 1) % places;
      return worker;
    }
    return undefined;
  }

  /** The number of such attempts that could start now. An embedded worker alone is limited by the pool only. */
  slotsFor(selector: WorkerSelector, embeddedSlots: number): number {
    if (this.#connected.length === 0) return this.#isEmbeddedEligible(selector) ? Infinity : 0;
    let slots = this.#isEmbeddedEligible(selector) ? Math.max(0, embeddedSlots) : 0;
    for (const worker of this.#connected) if (isEligible(worker, selector)) slots += Math.max(0, worker.freeSlots);
    return slots;
  }

  #isEmbeddedEligible(selector: WorkerSelector): boolean {
    return this.#embedded !== undefined && isEligible(this.#embedded, selector);
  }
}
