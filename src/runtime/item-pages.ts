import { EngineError } from "../base/error.ts";
import { toJsonText } from "../base/json-text.ts";
import { preview } from "../base/preview.ts";
import { utf8Length } from "../base/utf8.ts";
import type { PlacedPage } from "../kernel/dag/item-list.ts";
import { itemsMax, type MapItems } from "../kernel/dag/map-items.ts";
import type { MapPage } from "../kernel/event.ts";
import { payloadBytesMax } from "../kernel/payload.ts";
import { readText } from "./task-inputs.ts";

const itemsPerPageMax = 500;
const pageBytesMax = 65_536;
/** Pages in memory of one instance: items start in order, so few are in use. */
const pagesKept = 4;

/** Divides the items of a map into pages. `MAP_ITEMS_INVALID`. */
export function pagesOf(items: unknown, taskName: string): MapPage[] {
  if (!Array.isArray(items)) throw refusal(taskName, `must be a list, got ${preview(items)}`);
  if (items.length > itemsMax) throw refusal(taskName, `are ${items.length}; a map has at most ${itemsMax}`);
  const pages: MapPage[] = [];
  let texts: string[] = [];
  let pageBytes = 0;
  let bytes = 0;
  for (const [index, item] of items.entries()) {
    const text = toJsonText(item, `item ${index} of task "${taskName}"`) ?? "null";
    const added = utf8Length(text);
    bytes += added;
    if (texts.length === itemsPerPageMax || (texts.length > 0 && pageBytes + added > pageBytesMax)) {
      pages.push(pageFrom(texts));
      texts = [];
      pageBytes = 0;
    }
    texts.push(text);
    pageBytes += added;
  }
  if (bytes > payloadBytesMax) throw refusal(taskName, `take ${bytes} bytes; at most ${payloadBytesMax} are allowed`);
  if (texts.length > 0) pages.push(pageFrom(texts));
  return pages;
}

function pageFrom(texts: readonly string[]): MapPage {
  return { count: texts.length, items: `[${texts.join(",")}]` };
}

function refusal(taskName: string, problem: string): EngineError {
  return new EngineError("MAP_ITEMS_INVALID", `the items of task "${taskName}" ${problem}`);
}

type ReadPayloads = (refs: readonly number[]) => Promise<string[]>;

/** Pages of items that were read last. */
export class ItemPages {
  readonly #read: ReadPayloads;
  /** Items by the first number of their page, the page used last at the end. */
  readonly #pages = new Map<number, readonly unknown[] | Promise<readonly unknown[]>>();

  constructor(read: ReadPayloads) {
    this.#read = read;
  }

  /** JSON text of an item. */
  textOf(items: MapItems, item: number): string | Promise<string> {
    const index = item - items.first;
    const page = items.pageOf(index);
    return this.#textIn(page, items.first + page.first, index - page.first);
  }

  #textIn(page: PlacedPage, first: number, place: number): string | Promise<string> {
    const values = this.#pages.get(first) ?? this.#load(page, first);
    this.#pages.delete(first);
    this.#pages.set(first, values);
    if (this.#pages.size > pagesKept) this.#pages.delete(this.#pages.keys().next().value as number);
    return values instanceof Promise
      ? values.then((read) => JSON.stringify(read[place]))
      : JSON.stringify(values[place]);
  }

  #load({ items }: MapPage, first: number): readonly unknown[] | Promise<readonly unknown[]> {
    if (typeof items === "string") return valuesIn(items);
    const reading = readText(items, this.#read).then((text) => {
      const values = valuesIn(text ?? "[]");
      if (this.#pages.get(first) === reading) this.#pages.set(first, values);
      return values;
    });
    reading.catch(() => this.#pages.delete(first));
    return reading;
  }
}

function valuesIn(text: string): readonly unknown[] {
  return JSON.parse(text) as readonly unknown[];
}
