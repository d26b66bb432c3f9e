import { assert } from "../../base/assert.ts";
import type { MapStarted } from "../event.ts";
import type { TaskDefinition } from "../task-definition.ts";
import { firstItemNumber, MapItems } from "./map-items.ts";

/** The workers that items of a broadcast wait for. */
export interface AwaitedWorkers {
  readonly task: number;
  /** The workers by item. */
  readonly workers: ReadonlyMap<number, string>;
}

/** Most instances have no maps. Collections are made with the first one, and these stay empty. */
const noMaps = new Map<number, MapItems>();
const noneRunning = new Set<MapItems>();

/** The items of all maps of an instance, by number. Ranges of maps that ran again are not given to others. */
export class ItemTable {
  #maps = noMaps;
  #running = noneRunning;
  #next = firstItemNumber;

  /** Lists the items of a map task, in place of earlier ones. */
  add({ task, pages, workers }: MapStarted, definition: TaskDefinition): MapItems {
    this.forget(task);
    const items = new MapItems(definition, { task, first: this.#next, pages, workers });
    this.#next = items.end;
    if (this.#maps === noMaps) this.#maps = new Map();
    this.#maps.set(task, items);
    return items;
  }

  /** Maps whose items run now. */
  get running(): ReadonlySet<MapItems> {
    return this.#running;
  }

  start(items: MapItems): void {
    if (this.#running === noneRunning) this.#running = new Set();
    this.#running.add(items);
  }

  stop(items: MapItems): void {
    this.#running.delete(items);
  }

  ofTask(task: number): MapItems | undefined {
    return this.#maps.get(task);
  }

  /** The map of an item; undefined if it is no item, or no longer one of the instance. */
  find(item: number): MapItems | undefined {
    for (const items of this.#maps.values()) if (items.has(item)) return items;
    return undefined;
  }

  /** The map of an item of the instance. */
  get(item: number): MapItems {
    const items = this.find(item);
    assert(items !== undefined, "an item belongs to a map");
    return items;
  }

  isRunning(task: number): boolean {
    const items = this.#maps.get(task);
    return items !== undefined && this.#running.has(items);
  }

  forget(task: number): void {
    const items = this.#maps.get(task);
    if (items === undefined) return;
    this.stop(items);
    this.#maps.delete(task);
  }

  all(): Iterable<MapItems> {
    return this.#maps.values();
  }

  /** True if a running map waits for nothing more. */
  get hasSettled(): boolean {
    for (const items of this.#running) if (items.isSettled) return true;
    return false;
  }

  get hasRunningBroadcast(): boolean {
    for (const items of this.#running) if (items.isBroadcast) return true;
    return false;
  }

  /** Of each broadcast that waits for some of its workers. An item is returned if its worker gave it back after its start. */
  awaitedWorkers(isReturned: (item: number) => boolean): AwaitedWorkers[] {
    return [...this.#running].flatMap((items) => {
      const workers = items.awaitedWorkers(isReturned);
      return workers.size === 0 ? [] : [{ task: items.task, workers }];
    });
  }

  inFlightItems(): number[] {
    return [...this.#running].flatMap((items) => items.inFlightItems());
  }
}
