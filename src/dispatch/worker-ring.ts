import type { ConnectedWorker, Worker } from "./worker.ts";

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

  knows(job: string): boolean {
    return this.#embedded?.hasJob(job) === true || this.#connected.some((worker) => worker.hasJob(job));
  }

  /** The next worker with the job and a free slot. The pool knows the free slots of the embedded worker. */
  choose(job: string, embeddedSlots: number): Worker | undefined {
    const connected = this.#connected;
    if (connected.length === 0) {
      return embeddedSlots > 0 && this.#embedded?.hasJob(job) === true ? this.#embedded : undefined;
    }
    const places = connected.length + 1;
    for (let i = 0; i < places; i++) {
      const place = (this.#next + i) % places;
      const worker = connected[place] ?? this.#embedded;
      if (worker === undefined || !worker.hasJob(job)) continue;
      if ((worker === this.#embedded ? embeddedSlots : worker.freeSlots) < 1) continue;
      this.#next = (place + 1) % places;
      return worker;
    }
    return undefined;
  }

  /** The number of attempts of the job that could start now. An embedded worker alone is limited by the pool only. */
  slotsFor(job: string, embeddedSlots: number): number {
    if (this.#connected.length === 0) return this.#embedded?.hasJob(job) === true ? Infinity : 0;
    let slots = this.#embedded?.hasJob(job) === true ? Math.max(0, embeddedSlots) : 0;
    for (const worker of this.#connected) if (worker.hasJob(job)) slots += Math.max(0, worker.freeSlots);
    return slots;
  }
}
