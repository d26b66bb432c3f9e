import { firstKey } from "../stores/instance-key.ts";
import type { FinishedRow, InstanceRow, InstanceSummary, OutboxRow, Store } from "../stores/store.ts";
import type { PayloadRef } from "../kernel/payload.ts";
import type { OutboxMessage } from "../runtime/outbox.ts";
import type { KeyRow, PartKind, Rows, TurnRow, ValueRow } from "./export-line.ts";
import { readFinished } from "./finished-row.ts";
import { payloadRefs } from "./references.ts";

const instancesPerPage = 500;
const turnsPerPage = 100;

/** Number of queries under way at once: on a server the round trip takes far longer than the query. */
const instancesAhead = 8;

/** Large values are read together until they have this many bytes; one may have more. */
const bytesPerPage = 512 * 1024;

type Head =
  | { readonly kind: "unfinished"; readonly row: InstanceRow }
  | { readonly kind: "finished"; readonly row: FinishedRow };

export type Part = {
  readonly [Kind in PartKind]: { readonly kind: Kind; readonly rows: readonly Rows[Kind][] };
}[PartKind];

/** An instance: its row, and a stream of its other rows. */
export type FoundInstance = Head & { readonly parts: AsyncIterable<Part> };

/** Reads all rows of instances, page by page, from a store that nobody writes to. */
export class StoreContents {
  readonly #store: Store;
  readonly #shards: readonly number[];

  /** Takes the shards to read; shards that were never claimed have no instances. */
  constructor(store: Store, shards: readonly number[]) {
    this.#store = store;
    this.#shards = shards;
  }

  async *keys(): AsyncGenerator<KeyRow[]> {
    for await (const page of this.#unfinished()) yield page.map(keyRow);
    for await (const page of this.#finished()) yield page.map(keyRow);
  }

  async *instances(): AsyncGenerator<FoundInstance> {
    const ahead: FoundInstance[] = [];
    for await (const head of this.#heads()) {
      ahead.push({ ...head, parts: this.#parts(head.row.key) });
      const next = ahead.length > instancesAhead ? ahead.shift() : undefined;
      if (next !== undefined) yield next;
    }
    yield* ahead;
  }

  async *#heads(): AsyncGenerator<Head> {
    for await (const page of this.#unfinished()) for (const row of page) yield { kind: "unfinished", row };
    for await (const page of this.#finished()) {
      for (let start = 0; start < page.length; start += instancesAhead) {
        const summaries = page.slice(start, start + instancesAhead);
        const rows = await Promise.all(summaries.map((summary) => readFinished(this.#store, summary)));
        for (const row of rows) yield { kind: "finished", row };
      }
    }
  }

  #parts(instance: number): AsyncGenerator<Part> {
    // The first page of turns, which is all that most instances have, is read ahead.
    const opening = this.#turns(instance, -1);
    // The reader of the stream gets the error; without a reader it is dropped.
    opening.catch(() => undefined);
    return this.#partsAfter(instance, opening);
  }

  /** Large values come after the turn that first refers to them. */
  async *#partsAfter(instance: number, opening: Promise<readonly TurnRow[]>): AsyncGenerator<Part> {
    let turns = await opening;
    // References go up from turn to turn, so those that are not above the last were there before.
    let lastRef = -1;
    while (turns.length > 0) {
      yield { kind: "history", rows: turns };
      const before = lastRef;
      const found = turns.flatMap(({ events }) => payloadRefs(events)).filter(({ ref }) => ref > before);
      for (const { ref } of found) lastRef = Math.max(lastRef, ref);
      for (const refs of inPages(found)) yield { kind: "payloads", rows: await this.#values(instance, refs) };
      const isLast = turns.length < turnsPerPage;
      turns = isLast ? [] : await this.#turns(instance, turns.at(-1)?.turn ?? 0);
    }
  }

  /** Returns messages between instances (see `isBetweenInstances`) shard by shard, in order for each pair of shards. */
  async *messages(): AsyncGenerator<OutboxRow[]> {
    for (const shard of this.#shards) yield (await this.#store.loadOutbox([shard])).filter(isBetweenInstances);
  }

  async *#unfinished(): AsyncGenerator<InstanceRow[]> {
    for (const shard of this.#shards) {
      let after = firstKey(shard) - 1;
      for (;;) {
        const page = await this.#store.listUnfinished(shard, { after, limit: instancesPerPage });
        const last = page.at(-1);
        if (last === undefined) break;
        yield page;
        after = last.key;
      }
    }
  }

  async *#finished(): AsyncGenerator<InstanceSummary[]> {
    for (let before: InstanceSummary | undefined; ;) {
      const page = await this.#store.listInstances({
        status: ["Success", "Failed", "Terminated"],
        ...(before !== undefined && { before }),
        limit: instancesPerPage,
      });
      before = page.at(-1);
      if (before === undefined) return;
      yield page;
    }
  }

  async #turns(instance: number, afterTurn: number): Promise<readonly TurnRow[]> {
    return await this.#store.listHistory(instance, { afterTurn, limit: turnsPerPage });
  }

  async #values(instance: number, refs: readonly number[]): Promise<ValueRow[]> {
    const bodies = await this.#store.loadPayloads(instance, refs);
    return bodies.map((body, place) => ({ ref: refs[place] as number, body }));
  }
}

/** Returns references in order, each once. */
function* inPages(found: readonly PayloadRef[]): Generator<number[]> {
  const sizes = new Map(found.map(({ ref, bytes }) => [ref, bytes]));
  let page: number[] = [];
  let bytes = 0;
  for (const ref of [...sizes.keys()].sort((a, b) => a - b)) {
    page.push(ref);
    bytes += sizes.get(ref) ?? 0;
    if (bytes < bytesPerPage) continue;
    yield page;
    page = [];
    bytes = 0;
  }
  if (page.length > 0) yield page;
}

function keyRow({ key, createdAt, id }: KeyRow): KeyRow {
  return { key, createdAt, id };
}

/**
 * Tombstones are not exported: they only keep the numbers without a gap. Messages between instances and the gates of their
 * workflows are not exported either: a gate is rebuilt from its instances, and waiting instances apply again. Only the
 * message that ends an instance for lack of a place is exported.
 */
function isBetweenInstances({ body }: OutboxRow): boolean {
  const message = JSON.parse(body) as OutboxMessage;
  if (message.kind === "admit") return message.refusal !== undefined;
  return message.kind !== "tombstone" && message.kind !== "enter-gate" && message.kind !== "leave-gate";
}
