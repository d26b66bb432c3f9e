import type { DagMachine } from "../kernel/dag/dag-machine.ts";
import type { PlacedPage } from "../kernel/dag/item-list.ts";
import type { ItemCounts } from "../kernel/dag/item-states.ts";
import type { ItemState, MapItems } from "../kernel/dag/map-items.ts";
import type { Failure } from "../kernel/failure.ts";
import type { CancelCause, TaskStatus } from "../kernel/status.ts";
import type { MapHook } from "../kernel/task-definition.ts";
import { causeOf, statusOf } from "../kernel/task-state.ts";

/** One item of a map. Times are epoch milliseconds. */
export interface MapItem {
  /** Its place in the list, from 0. */
  readonly index: number;
  readonly item: unknown;
  readonly status: TaskStatus;
  readonly cause: CancelCause | undefined;
  /** Number of the attempt that runs, or ran last; 0 before the first. */
  readonly attempt: number;
  readonly worker: string | undefined;
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
  readonly retryAt: number | undefined;
  readonly failure: Failure | undefined;
  readonly output: unknown;
}

/** A job that a map, or a broadcast, runs once: `source` hands in the items of a map. */
export interface MapHookRun extends Omit<MapItem, "index" | "item"> {
  readonly name: MapHook["name"];
}

/** A page of the items of a map, in order. */
export interface MapItemPage {
  readonly counts: ItemCounts;
  readonly items: readonly MapItem[];
  /** The source and the reduce of a map, and the jobs before and after a broadcast. */
  readonly hooks: readonly MapHookRun[];
  /** The index with which the next page begins; undefined after the last. */
  readonly next: number | undefined;
}

/** Which items of a map are listed. */
export interface ItemFilter {
  /** Only items in this status, or in one of these. */
  readonly status?: TaskStatus | readonly TaskStatus[];
  /** The first index to look at. */
  readonly from: number;
  readonly limit: number;
}

/** An item as the state has it: how it ended is in the turn of its end. */
export interface ItemPlace extends Omit<MapItem, "item" | "output" | "endedAt"> {
  /** The item's number, as in events. */
  readonly number: number;
  readonly endedInTurn: number | undefined;
}

/** The places of items that pass the filter, and the pages that hold their values. */
export interface ItemPlaces {
  readonly counts: ItemCounts;
  readonly places: readonly ItemPlace[];
  readonly pages: readonly PlacedPage[];
  readonly hooks: readonly { readonly name: MapHookRun["name"]; readonly place: ItemPlace }[];
  readonly next: number | undefined;
}

const noItems: ItemPlaces = {
  counts: { total: 0, waiting: 0, running: 0, succeeded: 0, failed: 0, canceled: 0 },
  places: [],
  pages: [],
  hooks: [],
  next: undefined,
};

/** The items of a map task; none before they are listed. */
export function viewItems({ state }: DagMachine, task: number, filter: ItemFilter): ItemPlaces {
  const items = state.items.ofTask(task);
  if (items === undefined) return noItems;
  const wanted = filter.status === undefined ? undefined : new Set([filter.status].flat());
  const places: ItemPlace[] = [];
  let index = filter.from;
  for (; index < items.count && places.length < filter.limit; index++) {
    const item = items.stateOf(items.first + index);
    if (wanted === undefined || wanted.has(statusOf(item.phase))) places.push(placeOf(items, item));
  }
  return {
    counts: items.counts,
    places,
    pages: pagesWith(items, places),
    hooks: items.hooks.numbers.map((hook, at) => ({
      name: (items.settings.hooks[at] as MapHook).name,
      place: placeOf(items, items.stateOf(hook)),
    })),
    next: index < items.count ? index : undefined,
  };
}

function placeOf({ first }: MapItems, { index, phase, attempt, endedInTurn, record }: ItemState): ItemPlace {
  return {
    number: first + index,
    index,
    status: statusOf(phase),
    cause: causeOf(phase),
    attempt,
    endedInTurn,
    worker: record?.worker,
    startedAt: record?.startedAt,
    retryAt: record?.retryAt,
    failure: record?.failure,
  };
}

function pagesWith(items: MapItems, places: readonly ItemPlace[]): PlacedPage[] {
  return [...new Set(places.map(({ index }) => items.pageOf(index)))];
}
