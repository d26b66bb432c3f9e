import { randomUUID } from "node:crypto";
import { hasCode } from "../base/error.ts";
import type { DocumentRow, Store } from "../stores/store.ts";

/** `alert-failing`: workflows that failed last time. `alert-sent`: alerts that must not be sent twice. */
export type MarkKind = "alert-failing" | "alert-sent";

const pageSize = 500;

export type MarkStore = Pick<Store, "findDocument" | "listDocuments" | "saveDocument" | "deleteDocument">;

/** Alert state that all members share, across restarts: documents in the store. Exactly one member wins each creation or removal. */
export class AlertMarks {
  readonly #store: MarkStore;
  readonly #now: () => number;

  constructor(store: MarkStore, now: () => number) {
    this.#store = store;
    this.#now = now;
  }

  /** Creates the mark; true for exactly one caller. */
  async set(kind: MarkKind, name: string): Promise<boolean> {
    // Each mark has a unique body: the store would take an equal document for a retry of the same write.
    const mark = { kind, name, revision: 1, at: this.#now(), body: JSON.stringify({ by: randomUUID() }) };
    try {
      return await this.#store.saveDocument(mark);
    } catch (error) {
      if (!hasCode(error, "STORE_UNAVAILABLE")) throw error;
      // Retried after an unknown outcome: giving up here could leave the mark written and the alert unsent.
      return await this.#store.saveDocument(mark);
    }
  }

  /** Removes the mark; true for exactly one caller. */
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
