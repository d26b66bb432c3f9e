import type { DagMachine } from "../kernel/dag/dag-machine.ts";
import type { ItemCounts, ItemState, MapItems } from "../kernel/dag/map-items.ts";
import type { MapPage } from "../kernel/event.ts";
import type { Failure } from "../kernel/failure.ts";
import type { CancelCause, TaskStatus } from "../kernel/status.ts";
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

/** A job that a map, or a broadcast, runs once. */
export interface MapHookRun extends Omit<MapItem, "index" | "item"> {
  readonly name: "before" | "after" | "reduce";
}

/** A page of the items of a map, in order. */
export interface MapItemPage {
  readonly counts: ItemCounts;
  readonly items: readonly MapItem[];
  /** The reduce of a map, and the jobs before and after a broadcast. */
  readonly hooks: readonly MapHookRun[];
  /** The index with which the next page begins; undefined after the last. */
  readonly next: number | undefined;
}

/** Which items of a map are listed. */
export interface ItemFilter {
  /** Only items in this status. */
  readonly status?: TaskStatus;
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
  readonly pages: readonly (MapPage & { readonly first: number })[];
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
  const places: ItemPlace[] = [];
  let index = filter.from;
  for (; index < items.count && places.length < filter.limit; index++) {
    const item = items.stateOf(index);
    if (filter.status === undefined || statusOf(item.phase) === filter.status) places.push(placeOf(items, item));
  }
  return {
    counts: items.counts,
    places,
    pages: pagesWith(items, places),
    hooks: items.settings.hooks.map(({ name }, at) => ({
      name,
      place: placeOf(items, items.stateOf(items.count + at)),
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

function pagesWith({ pages }: MapItems, places: readonly ItemPlace[]): ItemPlaces["pages"] {
  const wanted: (MapPage & { readonly first: number })[] = [];
  let first = 0;
  let next = 0;
  for (const page of pages) {
    const end = first + page.count;
    if ((places[next]?.index ?? Infinity) < end) wanted.push({ ...page, first });
    while (next < places.length && (places[next] as ItemPlace).index < end) next++;
    first = end;
  }
  return wanted;
}
