import { parseEvents } from "../kernel/event-text.ts";
import type { Event, TaskFailed, TaskSucceeded } from "../kernel/event.ts";
import { parseOptional } from "../code/values.ts";
import type { Store } from "../stores/store.ts";
import type { ItemPlace, ItemPlaces, MapHookRun, MapItem, MapItemPage } from "../views/item-view.ts";
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

/** Reads the values and the ends of items from the store. With `lengthMax`, the page ends with the output that passes it. */
export async function readItems(
  store: ItemStore,
  instance: { readonly id: string; readonly key: number },
  { counts, places, pages, hooks, next }: ItemPlaces,
  { lengthMax = Infinity }: { readonly lengthMax?: number } = {},
): Promise<MapItemPage> {
  const { key } = instance;
  const read = (refs: readonly number[]): Promise<string[]> => store.loadPayloads(key, refs);
  const values = new Map<number, unknown>();
  for (const { first, items } of pages) {
    const texts = JSON.parse((await readText(items, read)) ?? "[]") as unknown[];
    texts.forEach((value, place) => values.set(first + place, value));
  }
  const ends = await readEnds(store, instance, [...places, ...hooks.map(({ place }) => place)]);
  const outputOf = async ({ number }: ItemPlace): Promise<string | undefined> => {
    const event = ends.get(number)?.event;
    return await readText(event?.type === "TaskSucceeded" ? event.output : undefined, read);
  };
  const hookRuns: MapHookRun[] = [];
  for (const { name, place } of hooks) {
    const output = parseOptional(await outputOf(place));
    hookRuns.push({ name, ...runOf(place, ends.get(place.number)), output });
  }
  const items: MapItem[] = [];
  let length = 0;
  for (const place of places) {
    if (length >= lengthMax) return { counts, items, hooks: hookRuns, next: place.index };
    const text = await outputOf(place);
    length += text?.length ?? 0;
    const { index } = place;
    items.push({
      index,
      item: values.get(index),
      ...runOf(place, ends.get(place.number)),
      output: parseOptional(text),
    });
  }
  return { counts, items, hooks: hookRuns, next };
}

function runOf(place: ItemPlace, end: ItemEnd | undefined): Omit<MapItem, "index" | "item" | "output"> {
  const { status, cause, attempt, worker, startedAt, retryAt, failure } = place;
  return {
    status,
    cause,
    attempt,
    worker: end?.event.worker ?? worker,
    startedAt: end?.event.startedAt ?? startedAt,
    endedAt: end?.at,
    retryAt,
    failure: end?.event.type === "TaskFailed" ? end.event.failure : failure,
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
