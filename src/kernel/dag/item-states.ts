import { Phase } from "../task-state.ts";

/** The number of items of a map by status. */
export interface ItemCounts {
  readonly total: number;
  readonly waiting: number;
  readonly running: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly canceled: number;
}

/**
 * The phase of each hook and item of a map, the number of its last attempt, and the turn of its end: nine bytes for each,
 * at its place, hooks first. Only items are counted.
 */
export class ItemStates {
  readonly #hookCount: number;
  readonly #counts: number[] = Array.from({ length: Phase.stoppedByUser + 1 }, () => 0);
  #phases: Uint8Array;
  #attempts: Uint32Array;
  #turns: Uint32Array;
  #length: number;

  constructor(hookCount: number) {
    this.#hookCount = hookCount;
    this.#length = hookCount;
    this.#phases = new Uint8Array(hookCount);
    this.#attempts = new Uint32Array(hookCount);
    this.#turns = new Uint32Array(hookCount);
  }

  /** Adds items that wait. The arrays double, so that adding an item costs the same however many there are. */
  grow(count: number): void {
    this.#length += count;
    this.#counts[Phase.waiting] = this.#in(Phase.waiting) + count;
    if (this.#length <= this.#phases.length) return;
    const room = Math.max(this.#length, this.#phases.length * 2);
    this.#phases = copyInto(new Uint8Array(room), this.#phases);
    this.#attempts = copyInto(new Uint32Array(room), this.#attempts);
    this.#turns = copyInto(new Uint32Array(room), this.#turns);
  }

  get inFlight(): number {
    return this.#in(Phase.scheduled) + this.#in(Phase.running);
  }

  get succeeded(): number {
    return this.#in(Phase.success);
  }

  get failed(): number {
    return this.#in(Phase.failed) + this.#in(Phase.timeoutFailed);
  }

  /** Items that have neither ended nor are under way. */
  get waiting(): number {
    return this.#in(Phase.waiting) + this.#in(Phase.ready) + this.#in(Phase.retryWait);
  }

  get counts(): ItemCounts {
    const { waiting, succeeded, failed, inFlight: running } = this;
    const total = this.#length - this.#hookCount;
    return { total, waiting, running, succeeded, failed, canceled: total - waiting - running - succeeded - failed };
  }

  phase(place: number): Phase {
    return this.#phases[place] as Phase;
  }

  setPhase(place: number, phase: Phase): void {
    if (place >= this.#hookCount) {
      (this.#counts[this.phase(place)] as number)--;
      (this.#counts[phase] as number)++;
    }
    this.#phases[place] = phase;
  }

  attempt(place: number): number {
    return this.#attempts[place] as number;
  }

  setAttempt(place: number, attempt: number): void {
    this.#attempts[place] = attempt;
  }

  /** The turn that has the item's end; of an item that has not ended, it means nothing. */
  turn(place: number): number {
    return this.#turns[place] as number;
  }

  setTurn(place: number, turn: number): void {
    this.#turns[place] = turn;
  }

  #in(phase: Phase): number {
    return this.#counts[phase] as number;
  }
}

function copyInto<T extends Uint8Array | Uint32Array>(to: T, from: T): T {
  to.set(from);
  return to;
}
