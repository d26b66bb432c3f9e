import { randomUUID } from "node:crypto";
import { hasCode } from "../base/error.ts";
import type { DocumentRow, Store } from "../stores/store.ts";

/** `alert-failing`: workflows that failed last time. `alert-sent`: what must not be told twice. */
export type MarkKind = "alert-failing" | "alert-sent";

const pageSize = 500;

export type MarkStore = Pick<Store, "findDocument" | "listDocuments" | "saveDocument" | "deleteDocument">;

/** What all members know of alerts, also after a restart: documents in the store, whose making or removal one of them wins. */
export class AlertMarks {
  readonly #store: MarkStore;
  readonly #now: () => number;

  constructor(store: MarkStore, now: () => number) {
    this.#store = store;
    this.#now = now;
  }

  /** True for the one who made it, once. */
  async set(kind: MarkKind, name: string): Promise<boolean> {
    // No two marks are the same document: the store would take one for the repetition of another.
    const mark = { kind, name, revision: 1, at: this.#now(), body: JSON.stringify({ by: randomUUID() }) };
    try {
      return await this.#store.saveDocument(mark);
    } catch (error) {
      if (!hasCode(error, "STORE_UNAVAILABLE")) throw error;
      // It may have been written all the same. Whoever gives up here will find it made, and never tell.
      return await this.#store.saveDocument(mark);
    }
  }

  /** True for the one who removed it. */
  async remove(kind: MarkKind, name: string): Promise<boolean> {
    const mark = await this.#store.findDocument(kind, name);
    return mark !== undefined && (await this.#store.deleteDocument(kind, name, mark.revision));
  }

  async names(kind: MarkKind): Promise<Set<string>> {
    const names = new Set<string>();
    for await (const { name } of this.#all(kind)) names.add(name);
    return names;
  }

  async removeBefore(kind: MarkKind, at: number): Promise<void> {
    for await (const mark of this.#all(kind)) {
      if (mark.at < at) await this.#store.deleteDocument(kind, mark.name, mark.revision);
    }
  }

  async *#all(kind: MarkKind): AsyncGenerator<DocumentRow> {
    for (let after: string | undefined; ;) {
      const page = await this.#store.listDocuments(kind, { ...(after !== undefined && { after }), limit: pageSize });
      yield* page;
      if (page.length < pageSize) return;
      after = page.at(-1)?.name;
    }
  }
}
