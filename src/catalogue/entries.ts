import type { Workflow } from "../authoring/workflow.ts";
import type { Clock } from "../base/clock.ts";
import { EngineError, hasCode } from "../base/error.ts";
import { preview } from "../base/preview.ts";
import type { DagSpec } from "../kernel/dag/dag-spec.ts";
import { workflowDocument } from "../stores/document-kinds.ts";
import type { Store } from "../stores/store.ts";
import { type CatalogueEntry, documentOf, entryOf, type StoredEntry } from "./catalogue-entry.ts";

export type CatalogueStore = Pick<
  Store,
  | "clusters"
  | "saveDefinitions"
  | "findDefinition"
  | "findDocument"
  | "listDocuments"
  | "saveDocument"
  | "deleteDocument"
  | "appendLines"
  | "listLines"
  | "deleteLines"
>;

const pageSize = 100;

const uuid = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** Topic on which members announce changed entries. It only reduces latency: the documents are authoritative. */
const changesTopic = "catalogue";
const changesKeptMs = 3_600_000;

const triesMax = 3;
const waitMs = 200;

/** The entries of the catalogue in the store. */
export class Entries {
  readonly #store: CatalogueStore;
  readonly #clock: Clock;
  /** Cache of names by id. The name of an id never changes. */
  readonly #names = new Map<string, string>();
  #changesRead = 0;

  constructor(parts: { store: CatalogueStore; clock: Clock }) {
    this.#store = parts.store;
    this.#clock = parts.clock;
  }

  async find(name: string): Promise<StoredEntry | undefined> {
    const row = await this.#store.findDocument(workflowDocument, name);
    return row && this.#note(entryOf(row));
  }

  /** `WORKFLOW_UNKNOWN`. */
  async get(idOrName: string): Promise<StoredEntry> {
    const stored = (await this.find(idOrName)) ?? (uuid.test(idOrName) ? await this.#byId(idOrName) : undefined);
    if (stored !== undefined) return stored;
    throw new EngineError(
      "WORKFLOW_UNKNOWN",
      `no workflow ${preview(idOrName)} is in the catalogue, which has saved ones only`,
    );
  }

  async #byId(id: string): Promise<StoredEntry | undefined> {
    const name = this.#names.get(id);
    if (name !== undefined) {
      const stored = await this.find(name);
      return stored?.entry.id === id ? stored : undefined;
    }
    for await (const stored of this.all()) if (stored.entry.id === id) return stored;
    return undefined;
  }

  /** All entries, ordered by name. */
  async *all(after?: string): AsyncGenerator<StoredEntry> {
    let last = after;
    for (;;) {
      const page = { limit: pageSize, ...(last !== undefined && { after: last }) };
      const rows = await this.#store.listDocuments(workflowDocument, page);
      for (const row of rows) yield this.#note(entryOf(row));
      last = rows.at(-1)?.name;
      if (last === undefined || rows.length < pageSize) return;
    }
  }

  /** Saves the entry; false after a concurrent save. */
  async save(stored: StoredEntry): Promise<boolean> {
    this.#note(stored);
    const document = documentOf(stored);
    // Idempotent: the store recognises the same document, so a write with an unknown outcome is retried.
    return await this.#retryWhileUnavailable(() => this.#store.saveDocument(document));
  }

  /** Deletes the entry; false if its revision is another. */
  async delete({ entry, revision }: StoredEntry): Promise<boolean> {
    const isDeleted = await this.#store.deleteDocument(workflowDocument, entry.name, revision);
    if (isDeleted) this.#names.delete(entry.id);
    return isDeleted;
  }

  /** Saves a definition, which must be durable before an entry refers to it. */
  async saveDefinition(workflow: Workflow): Promise<void> {
    const { name, version } = workflow;
    const row = { name, version, spec: JSON.stringify(workflow.spec()), createdAt: this.#clock.now() };
    await this.#retryWhileUnavailable(() => this.#store.saveDefinitions([row]));
  }

  /** `WORKFLOW_UNKNOWN` if it was never saved in that version. */
  async loadSpec({ name, saves }: CatalogueEntry, version: string): Promise<DagSpec> {
    // The engine also stores its own versions of nested workflows; those were never saved here.
    const isSave = saves.some((save) => save.version === version);
    const row = isSave ? await this.#store.findDefinition(name, version) : undefined;
    if (row !== undefined) return JSON.parse(row.spec) as DagSpec;
    throw new EngineError(
      "WORKFLOW_UNKNOWN",
      `workflow ${preview(name)} was never saved in version ${preview(version)}`,
    );
  }

  /** Announces a change to other members. Without it they find it by polling, a little later. */
  async tellChange(name: string): Promise<void> {
    if (this.#store.clusters === "never") return;
    await this.#store.appendLines([{ topic: changesTopic, at: this.#clock.now(), body: name }]);
  }

  /** Skips announced changes up to now; `takeChanged` returns later ones. */
  async skipChanges(): Promise<void> {
    if (this.#store.clusters === "never") return;
    const [last] = await this.#store.listLines(changesTopic, { last: true, limit: 1 });
    this.#changesRead = last?.number ?? 0;
  }

  /** The names of entries that have changed since the last call. */
  async takeChanged(): Promise<Set<string>> {
    const names = new Set<string>();
    if (this.#store.clusters === "never") return names;
    for (;;) {
      const lines = await this.#store.listLines(changesTopic, { after: this.#changesRead, limit: pageSize });
      for (const { number, body } of lines) {
        names.add(body);
        this.#changesRead = number;
      }
      if (lines.length < pageSize) return names;
    }
  }

  async forgetOldChanges(): Promise<void> {
    if (this.#store.clusters === "never") return;
    await this.#store.deleteLines(changesTopic, this.#clock.now() - changesKeptMs);
  }

  #note(stored: StoredEntry): StoredEntry {
    this.#names.set(stored.entry.id, stored.entry.name);
    return stored;
  }

  async #retryWhileUnavailable<T>(call: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await call();
      } catch (error) {
        if (!hasCode(error, "STORE_UNAVAILABLE") || tries === triesMax) throw error;
        await new Promise<void>((resolve) => this.#clock.after(waitMs, resolve));
      }
    }
  }
}
