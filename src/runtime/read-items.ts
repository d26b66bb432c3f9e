import { parseEvents } from "../kernel/event-text.ts";
import type { Event, TaskFailed, TaskSucceeded } from "../kernel/event.ts";
import { parseOptional } from "../code/values.ts";
import type { Store } from "../stores/store.ts";
import type { ItemPlace, ItemPlaces, MapItem, MapItemPage } from "../views/item-view.ts";
import { readText } from "./task-inputs.ts";

/** Turns that are read together although no item of the page ended in them. */
const gapMax = 50;
const turnsPerRead = 200;

type ItemStore = Pick<Store, "listHistory" | "loadPayloads">;

/** The event that ended an item, and its time. */
interface ItemEnd {
  readonly event: TaskSucceeded | TaskFailed;
  readonly at: number;
}

/** Reads the values and the ends of items from the store. */
export async function readItems(
  store: ItemStore,
  instance: { readonly id: string; readonly key: number },
  { counts, places, pages, next }: ItemPlaces,
): Promise<MapItemPage> {
  const { key } = instance;
  const read = (refs: readonly number[]): Promise<string[]> => store.loadPayloads(key, refs);
  const values = new Map<number, unknown>();
  for (const { first, items } of pages) {
    const texts = JSON.parse((await readText(items, read)) ?? "[]") as unknown[];
    texts.forEach((value, place) => values.set(first + place, value));
  }
  const ends = await readEnds(store, instance, places);
  const items: MapItem[] = [];
  for (const place of places) {
    const end = ends.get(place.number);
    const succeeded = end?.event.type === "TaskSucceeded" ? end.event : undefined;
    const output = parseOptional(await readText(succeeded?.output, read));
    items.push(itemOf(place, values.get(place.index), end, output));
  }
  return { counts, items, next };
}

function itemOf(place: ItemPlace, item: unknown, end: ItemEnd | undefined, output: unknown): MapItem {
  const { index, status, cause, attempt, worker, startedAt, retryAt, failure } = place;
  return {
    index,
    item,
    status,
    cause,
    attempt,
    worker: end?.event.worker ?? worker,
    startedAt: end?.event.startedAt ?? startedAt,
    endedAt: end?.at,
    retryAt,
    failure: end?.event.type === "TaskFailed" ? end.event.failure : failure,
    output,
  };
}

/** The ends of items by their number. Turns that are near each other are read together. */
async function readEnds(
  store: ItemStore,
  { id, key }: { readonly id: string; readonly key: number },
  places: readonly ItemPlace[],
): Promise<Map<number, ItemEnd>> {
  const ended = places.filter(({ endedInTurn }) => endedInTurn !== undefined);
  const attempts = new Map(ended.map(({ number, attempt }) => [number, attempt]));
  const turns = [...new Set(ended.map(({ endedInTurn }) => endedInTurn as number))].sort((a, b) => a - b);
  const ends = new Map<number, ItemEnd>();
  for (let from = 0; from < turns.length;) {
    const first = turns[from] as number;
    let to = from;
    while (to + 1 < turns.length && isNear(turns, to, first)) to++;
    const limit = (turns[to] as number) - first + 1;
    for (const { turn, at, events } of await store.listHistory(key, { afterTurn: first - 1, limit })) {
      for (const event of parseEvents(events, `turn ${turn} of instance "${id}"`)) {
        if (isEnd(event) && attempts.get(event.task) === event.attempt) ends.set(event.task, { event, at });
      }
    }
    from = to + 1;
  }
  return ends;
}

function isNear(turns: readonly number[], place: number, first: number): boolean {
  const next = turns[place + 1] as number;
  return next - (turns[place] as number) <= gapMax && next - first < turnsPerRead;
}

function isEnd(event: Event): event is TaskSucceeded | TaskFailed {
  return event.type === "TaskSucceeded" || event.type === "TaskFailed";
}
