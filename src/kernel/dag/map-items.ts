import { assert } from "../../base/assert.ts";
import type { MapPage } from "../event.ts";
import type { Payload } from "../payload.ts";
import { type MapHook, type MapSettings, type TaskDefinition, toleratedFailures } from "../task-definition.ts";
import { isFailed, isFinished, isInFlight, newRecord, Phase, type TaskRecord } from "../task-state.ts";
import { ItemOrder } from "./item-order.ts";
import { ItemResults } from "./item-results.ts";

/** Items have numbers of their own, above those of all tasks: events, attempts and reports name them like tasks. */
export const firstItemNumber = 2 ** 30;

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

/** The items of a map as they were listed: pages of values, or workers of a broadcast. */
interface ListedItems {
  readonly task: number;
  /** The number of the first item. */
  readonly first: number;
  readonly pages: readonly MapPage[] | undefined;
  readonly workers: readonly string[] | undefined;
}

/**
 * The items of one map task, and its hooks: jobs that run once, before the items and after them, and have the numbers
 * above those of the items. An item that has ended takes nine bytes; its result is read from the history. Only items under
 * way, or between two attempts, have a record.
 *
 * M1  Every item is counted in exactly one phase.
 * M2  Ending an item costs the same, however many there are.
 * M3  No item starts before the hook `before` has succeeded, and the hook after the items starts when all have ended.
 */
export class MapItems {
  readonly task: number;
  readonly first: number;
  /** The number of items, without hooks. */
  readonly count: number;
  /** The number of items and hooks. */
  readonly size: number;
  readonly pages: readonly MapPage[];
  readonly settings: MapSettings;
  readonly #definition: TaskDefinition;
  readonly #workers: readonly string[] | undefined;
  /** The number of the hook that runs before the items, and of the one after them. */
  readonly #before: number | undefined;
  readonly #after: number | undefined;
  readonly #phases: Uint8Array;
  readonly #attempts: Uint32Array;
  readonly #turns: Uint32Array;
  readonly #records = new Map<number, TaskRecord>();
  readonly #counts: number[] = Array.from({ length: Phase.stoppedByUser + 1 }, () => 0);
  #order = new ItemOrder();
  readonly #results: ItemResults;
  /** The first item that failed, and how, for the failure of the map. */
  firstFailure: { readonly index: number; readonly message: string } | undefined;
  /** The hook that failed, which fails the map. */
  hookFailure: { readonly name: MapHook["name"]; readonly message: string } | undefined;
  #afterOutput: Payload | undefined;

  constructor(definition: TaskDefinition, { task, first, pages, workers }: ListedItems) {
    const { map } = definition;
    assert(map !== undefined, "only a map has items");
    this.task = task;
    this.first = first;
    this.pages = pages ?? pagesOfWorkers(workers ?? []);
    this.settings = map;
    this.#workers = workers;
    this.#definition = { ...definition, kind: "job", map: undefined, skipWhenFailed: true };
    this.count = this.pages.reduce((sum, page) => sum + page.count, 0);
    this.size = this.count + map.hooks.length;
    this.#before = this.#numberOf(({ name }) => name === "before");
    this.#after = this.#numberOf(({ name }) => name !== "before");
    this.#phases = new Uint8Array(this.size);
    this.#attempts = new Uint32Array(this.size);
    this.#turns = new Uint32Array(this.size);
    this.#counts[Phase.waiting] = this.count;
    this.#results = new ItemResults(this.count);
  }

  /** Items and hooks that are under way. */
  get inFlight(): number {
    return this.#itemsInFlight + Number(this.#isHookInFlight(this.#before)) + Number(this.#isHookInFlight(this.#after));
  }

  get #itemsInFlight(): number {
    return this.#in(Phase.scheduled) + this.#in(Phase.running);
  }

  #isHookInFlight(hook: number | undefined): boolean {
    return hook !== undefined && isInFlight(this.phase(hook));
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
    const { count: total, waiting, succeeded, failed } = this;
    const running = this.#itemsInFlight;
    return { total, waiting, running, succeeded, failed, canceled: total - waiting - running - succeeded - failed };
  }

  /** True if a hook failed, or more items than the map tolerates. */
  get isFailed(): boolean {
    return this.hookFailure !== undefined || this.#hasTooManyFailures;
  }

  get #hasTooManyFailures(): boolean {
    return this.failed > toleratedFailures(this.settings, this.count);
  }

  /** True if no further item starts, because the map fails fast and has failed. */
  get isTripped(): boolean {
    return this.settings.failFast && this.#hasTooManyFailures;
  }

  /** True if nothing is under way, and nothing more will be. */
  get isSettled(): boolean {
    if (this.inFlight > 0) return false;
    if (this.hookFailure !== undefined) return true;
    if (!this.#mayStartItems) return false;
    if (this.waiting > 0) return this.isTripped;
    return this.#after === undefined || this.#hasTooManyFailures || this.phase(this.#after) === Phase.success;
  }

  /** True unless the hook before the items is still to succeed. */
  get #mayStartItems(): boolean {
    return this.#before === undefined || this.phase(this.#before) === Phase.success;
  }

  /** True if an item or hook has not ended. */
  get isOpen(): boolean {
    return this.#phases.some((phase) => !isFinished(phase as Phase));
  }

  has(item: number): boolean {
    return item >= this.first && item < this.first + this.size;
  }

  /** The hook of that number; undefined for an item. */
  hookOf(item: number): MapHook | undefined {
    return this.settings.hooks[item - this.first - this.count];
  }

  /** The number of the hook that runs after the items. */
  get after(): number | undefined {
    return this.#after;
  }

  /** The numbers of its hooks, in the order in which they run. */
  get hookNumbers(): number[] {
    return this.settings.hooks.map((_, place) => this.first + this.count + place);
  }

  #numberOf(isWanted: (hook: MapHook) => boolean): number | undefined {
    const place = this.settings.hooks.findIndex(isWanted);
    return place < 0 ? undefined : this.first + this.count + place;
  }

  definitionOf(item: number): TaskDefinition {
    const definition = this.#definition;
    const hook = this.hookOf(item);
    if (hook !== undefined) {
      const { name, jobName, jobId, nodeParams: params } = hook;
      return { ...definition, name: `${definition.name}[${name}]`, jobName, jobId, params };
    }
    const index = item - this.first;
    const name = `${definition.name}[${index}]`;
    return this.#workers === undefined
      ? { ...definition, name }
      : { ...definition, name, worker: this.#workers[index] };
  }

  get isBroadcast(): boolean {
    return this.#workers !== undefined;
  }

  /** The workers of a broadcast that items wait for, by item: those not known to have started, and those that came back. */
  awaitedWorkers(isReturned: (item: number) => boolean): Map<number, string> {
    const workers = this.#workers ?? [];
    const isAwaited = (item: number): boolean => {
      const phase = this.phase(item);
      return phase === Phase.scheduled || (phase === Phase.running && isReturned(item));
    };
    const items = this.inFlightItems().filter((item) => item - this.first < workers.length && isAwaited(item));
    return new Map(items.map((item) => [item, workers[item - this.first] as string]));
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
    if (index < this.count) {
      (this.#counts[this.#phases[index] as number] as number)--;
      (this.#counts[phase] as number)++;
    }
    this.#phases[index] = phase;
  }

  /** Takes the next items to start: first those that were under way before, then by index; a hook when it is its turn. */
  takeNext(limit: number): number[] {
    const mayStart = this.#mayStartItems;
    const isReady = (index: number): boolean => this.#phases[index] === Phase.ready;
    const isWaiting = (index: number): boolean => this.#phases[index] === Phase.waiting;
    const items: number[] = [];
    while (items.length < limit) {
      const index =
        this.#order.takeAgain(isReady) ?? (mayStart ? this.#order.takeFirst(this.count, isWaiting) : undefined);
      if (index === undefined) break;
      items.push(this.first + index);
    }
    if (items.length > 0) return items;
    const hook = this.#nextHook();
    return hook === undefined ? [] : [hook];
  }

  #nextHook(): number | undefined {
    const hook = this.#mayStartItems ? this.#after : this.#before;
    if (hook === undefined || this.phase(hook) !== Phase.waiting) return undefined;
    const isDue = hook === this.#before || (this.waiting + this.#itemsInFlight === 0 && !this.#hasTooManyFailures);
    return isDue ? hook : undefined;
  }

  /** The item is to be started again: its attempt was lost or taken back, or the next one is due. */
  putBack(item: number): void {
    this.setPhase(item, Phase.ready);
    this.#order.addAgain(item - this.first);
  }

  finish(item: number, phase: Phase, turn: number, output?: Payload): void {
    const index = item - this.first;
    const record = this.#records.get(index);
    this.setPhase(item, phase);
    this.#attempts[index] = record?.attempt ?? 0;
    this.#turns[index] = turn;
    const message = record?.failure?.message ?? "";
    const hook = this.hookOf(item);
    if (hook !== undefined) this.#finishHook(item, hook, isFailed(phase) ? message : undefined, output);
    else if (isFailed(phase)) this.firstFailure ??= { index, message };
    else this.#results.keep(index, output);
    this.#records.delete(index);
  }

  #finishHook(item: number, { name }: MapHook, failed: string | undefined, output: Payload | undefined): void {
    if (failed !== undefined) this.hookFailure = { name, message: failed };
    else if (item === this.#after) this.#afterOutput = output;
  }

  /** The map has ended: what is under way is stopped, what waits is canceled. Returns those that waited for a retry. */
  close(): number[] {
    const retries: number[] = [];
    for (let item = this.first; item < this.first + this.size; item++) {
      const phase = this.phase(item);
      if (isFinished(phase)) continue;
      if (phase === Phase.retryWait) retries.push(item);
      const index = item - this.first;
      this.#attempts[index] = this.attempt(item);
      this.setPhase(item, isInFlight(phase) ? Phase.stopped : Phase.canceledEnded);
    }
    this.#records.clear();
    this.#order = new ItemOrder();
    return retries;
  }

  /** The map runs again: items and hooks that succeeded stay, all others have a new attempt. */
  reopen(): void {
    for (let item = this.first; item < this.first + this.size; item++) {
      if (this.phase(item) !== Phase.success) this.setPhase(item, Phase.waiting);
    }
    this.firstFailure = undefined;
    this.hookFailure = undefined;
    this.#order = new ItemOrder();
  }

  inFlightItems(): number[] {
    return [...this.#records.keys()].map((index) => this.first + index).filter((item) => isInFlight(this.phase(item)));
  }

  /** What the map gives: the output of the hook after the items, or else a summary. */
  get output(): Payload | undefined {
    return this.#after === undefined ? this.#summary() : this.#afterOutput;
  }

  /** JSON text of counts, and of the results in order where they are small together. */
  #summary(): string {
    const { count: total, succeeded, failed } = this;
    const { texts } = this.#results;
    return `{"total":${total},"succeeded":${succeeded},"failed":${failed}${texts ? `,"results":[${texts.join(",")}]` : ""}}`;
  }

  #in(phase: Phase): number {
    return this.#counts[phase] as number;
  }
}

/** The item of a broadcast is the address of its worker. */
function pagesOfWorkers(workers: readonly string[]): MapPage[] {
  return workers.length === 0 ? [] : [{ count: workers.length, items: JSON.stringify(workers) }];
}
