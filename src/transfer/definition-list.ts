import { DatabaseSync } from "node:sqlite";
import type { DagSpec } from "../kernel/dag/dag-spec.ts";
import type { DefinitionRow, SavedDefinition, Store } from "../stores/store.ts";
import { nestedIn, type NestedWorkflow } from "./references.ts";

const unreadPerPage = 100;
const definitionsPerPage = 20;

/**
 * The definitions that instances need: their own, those nested in these, and of each name the one saved last, which a
 * workflow gets that nests another by its name alone; and all of a workflow of the catalogue. There may be as many as instances, so they are noted in a database
 * without a name: SQLite keeps it on disk and removes it by itself.
 */
export class DefinitionList {
  readonly #store: Store;
  readonly #notes = new DatabaseSync("");
  readonly #note;
  readonly #markRead;
  readonly #markSaved;
  /** Names whose newest version is noted. */
  readonly #names = new Set<string>();

  constructor(store: Store) {
    this.#store = store;
    this.#notes.exec(`
      PRAGMA journal_mode = OFF;
      CREATE TABLE definition (
        name TEXT NOT NULL,
        version TEXT NOT NULL,
        saved INTEGER NOT NULL DEFAULT 0,
        is_read INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (name, version)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX unread ON definition (is_read) WHERE is_read = 0;
    `);
    this.#note = this.#notes.prepare(`
      INSERT INTO definition (name, version) VALUES (?, ?) ON CONFLICT DO NOTHING
    `);
    this.#markRead = this.#notes.prepare("UPDATE definition SET is_read = 1 WHERE name = ? AND version = ?");
    this.#markSaved = this.#notes.prepare("UPDATE definition SET saved = ? WHERE name = ? AND version = ?");
  }

  note({ name, version }: NestedWorkflow): void {
    this.#note.run(toNote(name), toNote(version));
  }

  async noteAll(name: string): Promise<void> {
    for await (const each of this.#allOf(name)) this.note(each);
  }

  /** Returns the definitions by name, in the order they were saved. Definitions that the store lacks are left out. */
  async *rows(): AsyncGenerator<DefinitionRow> {
    await this.#follow();
    await this.#number();
    const ordered = this.#notes.prepare("SELECT name, version FROM definition ORDER BY name, saved");
    for (const { name, version } of ordered.iterate()) {
      const row = await this.#store.findDefinition(fromNote(name), fromNote(version));
      if (row !== undefined) yield row;
    }
  }

  /** Repeats until the nested workflows of every noted definition are noted. */
  async #follow(): Promise<void> {
    const unread = this.#notes.prepare(`SELECT name, version FROM definition WHERE is_read = 0 LIMIT ${unreadPerPage}`);
    for (let page = unread.all(); page.length > 0; page = unread.all()) {
      for (const { name, version } of page) {
        await this.#read(fromNote(name), fromNote(version));
        this.#markRead.run(name as string, version as string);
      }
    }
  }

  async #read(name: string, version: string): Promise<void> {
    const row = await this.#store.findDefinition(name, version);
    if (row !== undefined)
      for (const nested of nestedIn((JSON.parse(row.spec) as Partial<DagSpec>).nodes ?? [])) this.note(nested);
    if (this.#names.has(name)) return;
    this.#names.add(name);
    const latest = await this.#store.findLatestDefinition(name);
    if (latest !== undefined) this.note(latest);
  }

  async #number(): Promise<void> {
    const names = this.#notes.prepare("SELECT DISTINCT name FROM definition").all();
    for (const { name } of names) {
      for await (const { saveNumber, version } of this.#allOf(fromNote(name))) {
        this.#markSaved.run(saveNumber, name as string, toNote(version));
      }
    }
  }

  async *#allOf(name: string): AsyncGenerator<SavedDefinition> {
    for (let before = Number.MAX_SAFE_INTEGER; ;) {
      const page = await this.#store.listDefinitions(name, { before, limit: definitionsPerPage });
      const oldest = page.at(-1);
      if (oldest === undefined) return;
      yield* page;
      before = oldest.saveNumber;
    }
  }

  close(): void {
    this.#notes.close();
  }
}

/** JSON has a form for every string, which the text of a database has not. */
function toNote(text: string): string {
  return JSON.stringify(text);
}

function fromNote(note: unknown): string {
  return JSON.parse(note as string) as string;
}
