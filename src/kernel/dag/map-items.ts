import { assert } from "../../base/assert.ts";
import type { MapPage } from "../event.ts";
import type { Payload } from "../payload.ts";
import { type MapSettings, type TaskDefinition, toleratedFailures } from "../task-definition.ts";
import { isFailed, isFinished, isInFlight, newRecord, Phase, type TaskRecord } from "../task-state.ts";

/** Items have numbers of their own, above those of all tasks: events, attempts and reports name them like tasks. */
export const firstItemNumber = 2 ** 30;

/** Results are part of the output of a map as long as they take no more characters together. */
const resultsLengthMax = 16_384;
const nullLength = "null,".length;

/** The number of items of a map by status. */
export interface ItemCounts {
  readonly total: number;
  readonly waiting: number;
  readonly running: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly canceled: number;
}

/** Where one item stands. */
export interface ItemState {
  readonly index: number;
  readonly phase: Phase;
  readonly attempt: number;
  /** The turn that has its end; undefined if it has not ended. */
  readonly endedInTurn: number | undefined;
  readonly record: TaskRecord | undefined;
}

/**
 * The items of one map task. An item that has ended takes nine bytes; its result is read from the history. Only items
 * under way, or between two attempts, have a record.
 *
 * M1  Every item is counted in exactly one phase.
 * M2  Ending an item costs the same, however many there are.
 */
export class MapItems {
  readonly task: number;
  readonly first: number;
  readonly count: number;
  readonly pages: readonly MapPage[];
  readonly definition: TaskDefinition;
  readonly settings: MapSettings;
  readonly #phases: Uint8Array;
  readonly #attempts: Uint32Array;
  readonly #turns: Uint32Array;
  readonly #records = new Map<number, TaskRecord>();
  readonly #counts: number[] = Array.from({ length: Phase.stoppedByUser + 1 }, () => 0);
  /** Items that were taken back or are due again, from `#againFrom` on. */
  #again: number[] = [];
  #againFrom = 0;
  /** No item below it waits for its first attempt. */
  #next = 0;
  /** Outputs in order, while they are small together. */
  #results: (string | undefined)[] | undefined;
  #resultsLength: number;
  /** The first item that failed, and how, for the failure of the map. */
  firstFailure: { readonly index: number; readonly message: string } | undefined;

  constructor(task: number, first: number, pages: readonly MapPage[], definition: TaskDefinition) {
    const { map } = definition;
    assert(map !== undefined, "only a map has items");
    this.task = task;
    this.first = first;
    this.pages = pages;
    this.settings = map;
    this.definition = { ...definition, kind: "job", map: undefined, skipWhenFailed: true };
    this.count = pages.reduce((sum, page) => sum + page.count, 0);
    this.#phases = new Uint8Array(this.count);
    this.#attempts = new Uint32Array(this.count);
    this.#turns = new Uint32Array(this.count);
    this.#counts[Phase.waiting] = this.count;
    this.#resultsLength = this.count * nullLength;
    this.#results = this.#resultsLength > resultsLengthMax ? undefined : [];
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
    const { count: total, waiting, inFlight: running, succeeded, failed } = this;
    return { total, waiting, running, succeeded, failed, canceled: total - waiting - running - succeeded - failed };
  }

  /** True if more items have failed than the map tolerates. */
  get isFailed(): boolean {
    return this.failed > toleratedFailures(this.settings, this.count);
  }

  /** True if no further item starts, because the map fails fast and has failed. */
  get isTripped(): boolean {
    return this.settings.failFast && this.isFailed;
  }

  /** True if nothing is under way, and nothing more will be. */
  get isSettled(): boolean {
    return this.inFlight === 0 && (this.waiting === 0 || this.isTripped);
  }

  has(item: number): boolean {
    return item >= this.first && item < this.first + this.count;
  }

  phase(item: number): Phase {
    return this.#phases[item - this.first] as Phase;
  }

  record(item: number): TaskRecord | undefined {
    return this.#records.get(item - this.first);
  }

  recordOf(item: number): TaskRecord {
    const index = item - this.first;
    let record = this.#records.get(index);
    if (record === undefined) {
      record = newRecord();
      record.attempt = this.#attempts[index] as number;
      this.#records.set(index, record);
    }
    return record;
  }

  attempt(item: number): number {
    return this.record(item)?.attempt ?? (this.#attempts[item - this.first] as number);
  }

  stateOf(index: number): ItemState {
    const item = this.first + index;
    const phase = this.phase(item);
    const endedInTurn = isFinished(phase) && this.attempt(item) > 0 ? this.#turns[index] : undefined;
    return { index, phase, attempt: this.attempt(item), endedInTurn, record: this.record(item) };
  }

  setPhase(item: number, phase: Phase): void {
    const index = item - this.first;
    (this.#counts[this.#phases[index] as number] as number)--;
    (this.#counts[phase] as number)++;
    this.#phases[index] = phase;
  }

  /** Takes the next items to start: first those that were under way before, then by index. */
  takeNext(limit: number): number[] {
    const items: number[] = [];
    while (items.length < limit) {
      const item = this.#takeAgain() ?? this.#takeFirst();
      if (item === undefined) break;
      items.push(item);
    }
    return items;
  }

  /** The item is to be started again: its attempt was lost or taken back, or the next one is due. */
  putBack(item: number): void {
    this.setPhase(item, Phase.ready);
    this.#again.push(item);
  }

  finish(item: number, phase: Phase, turn: number, output?: Payload): void {
    const index = item - this.first;
    const record = this.#records.get(index);
    this.setPhase(item, phase);
    this.#attempts[index] = record?.attempt ?? 0;
    this.#turns[index] = turn;
    if (isFailed(phase)) this.firstFailure ??= { index, message: record?.failure?.message ?? "" };
    else this.#keepResult(index, output);
    this.#records.delete(index);
  }

  /** The map has ended: what is under way is stopped, what waits is canceled. Returns those that waited for a retry. */
  close(): number[] {
    const retries: number[] = [];
    for (let item = this.first; item < this.first + this.count; item++) {
      const phase = this.phase(item);
      if (isFinished(phase)) continue;
      if (phase === Phase.retryWait) retries.push(item);
      const index = item - this.first;
      this.#attempts[index] = this.attempt(item);
      this.setPhase(item, isInFlight(phase) ? Phase.stopped : Phase.canceledEnded);
    }
    this.#records.clear();
    this.#forgetOrder();
    return retries;
  }

  /** The map runs again: items that succeeded stay, all others have a new attempt. */
  reopen(): void {
    for (let item = this.first; item < this.first + this.count; item++) {
      if (this.phase(item) !== Phase.success) this.setPhase(item, Phase.waiting);
    }
    this.firstFailure = undefined;
    this.#forgetOrder();
  }

  inFlightItems(): number[] {
    return [...this.#records.keys()].map((index) => this.first + index).filter((item) => isInFlight(this.phase(item)));
  }

  /** JSON text of what the map gives: counts, and the results in order where they are small together. */
  summary(): string {
    const { count: total, succeeded, failed } = this;
    const results = this.#results && Array.from({ length: total }, (_, index) => this.#results?.[index] ?? "null");
    return `{"total":${total},"succeeded":${succeeded},"failed":${failed}${results ? `,"results":[${results.join(",")}]` : ""}}`;
  }

  #in(phase: Phase): number {
    return this.#counts[phase] as number;
  }

  #takeAgain(): number | undefined {
    while (this.#againFrom < this.#again.length) {
      const item = this.#again[this.#againFrom++] as number;
      if (this.phase(item) === Phase.ready) return item;
    }
    this.#again = [];
    this.#againFrom = 0;
    return undefined;
  }

  #takeFirst(): number | undefined {
    while (this.#next < this.count) {
      const index = this.#next++;
      if (this.#phases[index] === Phase.waiting) return this.first + index;
    }
    return undefined;
  }

  #forgetOrder(): void {
    this.#again = [];
    this.#againFrom = 0;
    this.#next = 0;
  }

  #keepResult(index: number, output: Payload | undefined): void {
    if (this.#results === undefined || output === undefined) return;
    this.#resultsLength += typeof output === "string" ? output.length : Infinity;
    if (this.#resultsLength > resultsLengthMax) this.#results = undefined;
    else this.#results[index] = output as string;
  }
}
