import { assert } from "../../base/assert.ts";
import type { ItemsAdded, MapPage } from "../event.ts";
import type { Payload } from "../payload.ts";
import { hasSource, type MapSettings, type TaskDefinition, toleratedFailures } from "../task-definition.ts";
import { isFailed, isFinished, isInFlight, newRecord, Phase, type TaskRecord } from "../task-state.ts";
import { HandedIn } from "./handed-in.ts";
import { ItemList, type PlacedPage } from "./item-list.ts";
import { ItemOrder } from "./item-order.ts";
import { ItemResults } from "./item-results.ts";
import { type ItemCounts, ItemStates } from "./item-states.ts";
import { MapHooks } from "./map-hooks.ts";

/** Items have numbers of their own, above those of all tasks: events, attempts and reports name them like tasks. */
export const firstItemNumber = 2 ** 30;

/** Limit of items of one map. */
export const itemsMax = 1_000_000;

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
 * above those of the items. A map whose items are handed in while it runs keeps numbers free for all that it may have. An
 * item that has ended takes nine bytes; its result is read from the history. Only items under way, or between two
 * attempts, have a record.
 *
 * M1  Every item is counted in exactly one phase.
 * M2  Ending an item costs the same, however many there are.
 * M3  No item starts before the hook `before` has succeeded, and the hook after the items starts when all have ended, and
 *     the source that hands them in has succeeded.
 */
export class MapItems {
  readonly task: number;
  readonly first: number;
  readonly settings: MapSettings;
  readonly handedIn = new HandedIn();
  readonly hooks: MapHooks;
  readonly #list: ItemList;
  /** The number of the first hook. */
  readonly #firstHook: number;
  readonly #definition: TaskDefinition;
  readonly #workers: readonly string[] | undefined;
  readonly #states: ItemStates;
  readonly #records = new Map<number, TaskRecord>();
  #order = new ItemOrder();
  readonly #results: ItemResults;
  /** The first item that failed, and how, for the failure of the map. */
  firstFailure: { readonly index: number; readonly message: string } | undefined;

  constructor(definition: TaskDefinition, { task, first, pages, workers }: ListedItems) {
    const { map } = definition;
    assert(map !== undefined, "only a map has items");
    this.task = task;
    this.first = first;
    this.#list = new ItemList(pages ?? pagesOfWorkers(workers ?? []));
    this.settings = map;
    this.#workers = workers;
    this.#definition = { ...definition, kind: "job", map: undefined, skipWhenFailed: true };
    this.#firstHook = first + (hasSource(map) ? itemsMax : this.count);
    this.hooks = new MapHooks(map.hooks, this.#firstHook);
    this.#states = new ItemStates(map.hooks.length);
    this.#states.grow(this.count);
    this.#results = new ItemResults(this.count);
  }

  /** The number of items, without hooks. */
  get count(): number {
    return this.#list.count;
  }

  /** True for the source of the map, and for items of a map with a source. */
  mayHandIn(task: number): boolean {
    const { source } = this.hooks;
    return source !== undefined && (task === source || this.hooks.of(task) === undefined);
  }

  /** The first number that belongs to another map. */
  get end(): number {
    return this.#firstHook + this.hooks.numbers.length;
  }

  pageOf(index: number): PlacedPage {
    return this.#list.pageOf(index);
  }

  /** Adds items that a task of the map has handed in: those of its call from that index on. */
  add({ by, call, from, pages }: ItemsAdded): void {
    const before = this.count;
    this.#list.add(pages);
    const added = this.count - before;
    this.#states.grow(added);
    this.#results.grow(added);
    this.handedIn.note(by, call, from + added);
  }

  /** Items and hooks that are under way. */
  get inFlight(): number {
    return this.itemsInFlight + this.hooks.numbers.filter((hook) => isInFlight(this.phase(hook))).length;
  }

  get itemsInFlight(): number {
    return this.#states.inFlight;
  }

  get counts(): ItemCounts {
    return this.#states.counts;
  }

  /** True if a hook failed, or more items than the map tolerates. */
  get isFailed(): boolean {
    return this.hooks.failure !== undefined || this.#hasTooManyFailures;
  }

  get #hasTooManyFailures(): boolean {
    return this.#states.failed > toleratedFailures(this.settings, this.count);
  }

  /** True if no further item starts, because the map fails fast and has failed. A share is one of all items. */
  get isTripped(): boolean {
    const { failFast, tolerateFailures } = this.settings;
    if (!failFast || (typeof tolerateFailures === "string" && this.#isSourceOpen)) return false;
    return this.#hasTooManyFailures;
  }

  /** True while the hook that hands in items has not succeeded. */
  get #isSourceOpen(): boolean {
    const { source } = this.hooks;
    return source !== undefined && this.phase(source) !== Phase.success;
  }

  /** True if nothing is under way, and nothing more will be. */
  get isSettled(): boolean {
    if (this.inFlight > 0) return false;
    if (this.hooks.failure !== undefined) return true;
    if (!this.#mayStartItems) return false;
    if (this.#states.waiting > 0 || this.#isSourceOpen) return this.isTripped;
    const { after } = this.hooks;
    return after === undefined || this.#hasTooManyFailures || this.phase(after) === Phase.success;
  }

  /** True unless the hook before the items is still to succeed. */
  get #mayStartItems(): boolean {
    const { before } = this.hooks;
    return before === undefined || this.phase(before) === Phase.success;
  }

  /** True if an item or hook has not ended. */
  get isOpen(): boolean {
    for (const item of this.#numbers()) if (!isFinished(this.phase(item))) return true;
    return false;
  }

  /** The numbers of all items and hooks. */
  *#numbers(): Generator<number> {
    for (let index = 0; index < this.count; index++) yield this.first + index;
    yield* this.hooks.numbers;
  }

  has(item: number): boolean {
    return (item >= this.first && item < this.first + this.count) || (item >= this.#firstHook && item < this.end);
  }

  /** The place of an item or hook among the states. */
  #placeOf(item: number): number {
    return item < this.#firstHook ? this.hooks.numbers.length + item - this.first : item - this.#firstHook;
  }

  definitionOf(item: number): TaskDefinition {
    const definition = this.#definition;
    const hook = this.hooks.of(item);
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
    return this.#states.phase(this.#placeOf(item));
  }

  record(item: number): TaskRecord | undefined {
    return this.#records.get(item);
  }

  recordOf(item: number): TaskRecord {
    let record = this.#records.get(item);
    if (record === undefined) {
      record = newRecord();
      record.attempt = this.#states.attempt(this.#placeOf(item));
      this.#records.set(item, record);
    }
    return record;
  }

  attempt(item: number): number {
    return this.record(item)?.attempt ?? this.#states.attempt(this.#placeOf(item));
  }

  stateOf(item: number): ItemState {
    const phase = this.phase(item);
    const attempt = this.attempt(item);
    const endedInTurn = isFinished(phase) && attempt > 0 ? this.#states.turn(this.#placeOf(item)) : undefined;
    return { index: item - this.first, phase, attempt, endedInTurn, record: this.record(item) };
  }

  setPhase(item: number, phase: Phase): void {
    this.#states.setPhase(this.#placeOf(item), phase);
  }

  /**
   * Takes the next items to start: first those that were under way before, then by index; a hook when it is its turn. The
   * source takes no place of an item.
   */
  takeNext(limit: number): number[] {
    const source = this.#dueSource;
    const items = source === undefined ? this.#takeItems(limit) : [source, ...this.#takeItems(limit)];
    if (items.length > 0 || limit <= 0) return items;
    const hook = this.#nextHook();
    return hook === undefined ? [] : [hook];
  }

  #takeItems(limit: number): number[] {
    const mayStart = this.#mayStartItems;
    const { first, count } = this;
    const isReady = (item: number): boolean => this.phase(item) === Phase.ready && item !== this.hooks.source;
    const isWaiting = (index: number): boolean => this.phase(first + index) === Phase.waiting;
    const nextIndex = (): number | undefined => (mayStart ? this.#order.takeFirst(count, isWaiting) : undefined);
    const items: number[] = [];
    while (items.length < limit) {
      const again = this.#order.takeAgain(isReady);
      const index = again === undefined ? nextIndex() : again - first;
      if (index === undefined) break;
      items.push(first + index);
    }
    return items;
  }

  get #dueSource(): number | undefined {
    const { source } = this.hooks;
    const phase = source === undefined ? undefined : this.phase(source);
    return phase === Phase.waiting || phase === Phase.ready ? source : undefined;
  }

  #nextHook(): number | undefined {
    const { before, after } = this.hooks;
    const hook = this.#mayStartItems ? after : before;
    if (hook === undefined || this.phase(hook) !== Phase.waiting) return undefined;
    if (hook === before) return hook;
    const isOver = this.#states.waiting + this.itemsInFlight === 0 && !this.#isSourceOpen;
    return isOver && !this.#hasTooManyFailures ? hook : undefined;
  }

  /** The item is to be started again: its attempt was lost or taken back, or the next one is due. */
  putBack(item: number): void {
    this.setPhase(item, Phase.ready);
    this.#order.addAgain(item);
  }

  finish(item: number, phase: Phase, turn: number, output?: Payload): void {
    const place = this.#placeOf(item);
    const record = this.#records.get(item);
    const index = item - this.first;
    this.setPhase(item, phase);
    this.#states.setAttempt(place, record?.attempt ?? 0);
    this.#states.setTurn(place, turn);
    const message = record?.failure?.message ?? "";
    if (this.hooks.of(item) !== undefined) this.hooks.finish(item, isFailed(phase) ? message : undefined, output);
    else if (isFailed(phase)) this.firstFailure ??= { index, message };
    else this.#results.keep(index, output);
    if (!isFailed(phase)) this.handedIn.forget(item);
    this.#records.delete(item);
  }

  /** The map has ended: what is under way is stopped, what waits is canceled. Returns those that waited for a retry. */
  close(): number[] {
    const retries: number[] = [];
    for (const item of this.#numbers()) {
      const phase = this.phase(item);
      if (isFinished(phase)) continue;
      if (phase === Phase.retryWait) retries.push(item);
      this.#states.setAttempt(this.#placeOf(item), this.attempt(item));
      this.setPhase(item, isInFlight(phase) ? Phase.stopped : Phase.canceledEnded);
    }
    this.#records.clear();
    this.#order = new ItemOrder();
    return retries;
  }

  /** The map runs again: items and hooks that succeeded stay, all others have a new attempt. */
  reopen(): void {
    for (const item of this.#numbers()) {
      if (this.phase(item) !== Phase.success) this.setPhase(item, Phase.waiting);
    }
    this.firstFailure = undefined;
    this.hooks.failure = undefined;
    this.#order = new ItemOrder();
  }

  inFlightItems(): number[] {
    return [...this.#records.keys()].filter((item) => isInFlight(this.phase(item)));
  }

  /** What the map gives: the output of the hook after the items, or else a summary. */
  get output(): Payload | undefined {
    return this.hooks.after === undefined ? this.#summary() : this.hooks.output;
  }

  /** JSON text of counts, and of the results in order where they are small together. */
  #summary(): string {
    const { total, succeeded, failed } = this.counts;
    const { texts } = this.#results;
    return `{"total":${total},"succeeded":${succeeded},"failed":${failed}${texts ? `,"results":[${texts.join(",")}]` : ""}}`;
  }
}

/** The item of a broadcast is the address of its worker. */
function pagesOfWorkers(workers: readonly string[]): MapPage[] {
  return workers.length === 0 ? [] : [{ count: workers.length, items: JSON.stringify(workers) }];
}
