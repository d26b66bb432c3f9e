import { DatabaseSync } from "node:sqlite";
import { shardOfKey } from "../stores/instance-key.ts";
import type { DefinitionRow, DocumentRow } from "../stores/store.ts";
import type { KeyRow, UnfinishedHead } from "./export-line.ts";

/** An instance that waits for a place under its workflow's maximum of instances. */
export interface WaitingInstance {
  readonly key: number;
  readonly id: string;
  readonly workflow: string;
  readonly version: string;
}

export interface NotedDefinition {
  readonly row: DefinitionRow;
  /** True if the definition must be saved last of its name. */
  readonly isLatest: boolean;
}

/**
 * Remembers everything that an import writes. It may not fit in memory, so it is kept in a nameless SQLite database, which
 * is on disk and is removed automatically.
 */
export class ImportLedger {
  readonly #db = new DatabaseSync("");
  readonly #list;
  readonly #keyOf;
  readonly #write;
  readonly #digestOf;
  readonly #wait;
  readonly #answer;
  readonly #define;
  readonly #document;

  constructor() {
    this.#db.exec(`
      PRAGMA journal_mode = OFF;
      BEGIN;
      CREATE TABLE listed (
        given INTEGER PRIMARY KEY, source INTEGER NOT NULL, created_at INTEGER NOT NULL, shard INTEGER NOT NULL
      ) STRICT;
      CREATE TABLE numbered (given INTEGER PRIMARY KEY, key INTEGER NOT NULL) STRICT;
      CREATE TABLE written (key INTEGER PRIMARY KEY, sha256 TEXT NOT NULL) STRICT;
      CREATE TABLE waiting (id TEXT PRIMARY KEY, row TEXT NOT NULL) STRICT, WITHOUT ROWID;
      CREATE TABLE document (place INTEGER PRIMARY KEY, row TEXT NOT NULL) STRICT;
      CREATE TABLE definition (place INTEGER PRIMARY KEY, name TEXT NOT NULL, row TEXT NOT NULL) STRICT;
    `);
    this.#list = this.#db.prepare("INSERT OR IGNORE INTO listed VALUES (?, ?, ?, ?)");
    this.#keyOf = this.#db.prepare("SELECT key FROM numbered WHERE given = ?");
    this.#write = this.#db.prepare("INSERT OR IGNORE INTO written VALUES (?, ?)");
    this.#digestOf = this.#db.prepare("SELECT sha256 FROM written WHERE key = ?");
    this.#wait = this.#db.prepare("REPLACE INTO waiting VALUES (?, ?)");
    this.#answer = this.#db.prepare("DELETE FROM waiting WHERE id = ?");
    this.#document = this.#db.prepare("INSERT INTO document (row) VALUES (?)");
    this.#define = this.#db.prepare("INSERT INTO definition (name, row) VALUES (?, ?)");
  }

  /** Lists an instance of the shard. False if it was listed before. */
  list({ key, createdAt }: KeyRow, shard: number): boolean {
    return this.#list.run(key, shardOfKey(key), createdAt, shard).changes === 1;
  }

  /**
   * Assigns a new key to every listed instance, after the last key of its shard, in the order of creation: by key within an
   * exported shard, by time between shards. Returns the number of keys per shard.
   */
  number(lastKeys: readonly number[]): Map<number, number> {
    this.#db.exec("CREATE TABLE last (shard INTEGER PRIMARY KEY, key INTEGER NOT NULL) STRICT");
    const last = this.#db.prepare("INSERT INTO last VALUES (?, ?)");
    for (const [shard, key] of lastKeys.entries()) last.run(shard, key);
    this.#db.exec(`
      INSERT INTO numbered (given, key)
      SELECT given, last.key + row_number() OVER (PARTITION BY shard ORDER BY moment, given)
      FROM (
        SELECT given, shard, max(created_at) OVER (PARTITION BY source ORDER BY given ROWS UNBOUNDED PRECEDING) AS moment
        FROM listed
      ) JOIN last USING (shard)
    `);
    const counts = this.#db.prepare("SELECT shard, count(*) AS count FROM listed GROUP BY shard").all();
    return new Map(counts.map(({ shard, count }) => [Number(shard), Number(count)]));
  }

  /** Returns the new key of an instance; 0 for one that was purged, of which only references are left. */
  keyOf(given: number): number {
    return Number(this.#keyOf.get(given)?.["key"] ?? 0);
  }

  /** Records the digest of a written instance. False if it was written before. */
  recordWritten(key: number, sha256: string): boolean {
    return this.#write.run(key, sha256).changes === 1;
  }

  digestOf(key: number): string | undefined {
    return this.#digestOf.get(key)?.["sha256"] as string | undefined;
  }

  /** Number of instances that were listed, and that were written. */
  get counts(): { readonly listed: number; readonly written: number } {
    const count = (table: string): number =>
      Number(this.#db.prepare(`SELECT count(*) AS count FROM ${table}`).get()?.["count"]);
    return { listed: count("listed"), written: count("written") };
  }

  addWaiting({ key, id, workflow, version }: UnfinishedHead): void {
    this.#wait.run(JSON.stringify(id), JSON.stringify({ key, id, workflow, version } satisfies WaitingInstance));
  }

  /** Removes an instance that a message of the export admits: it need not apply again. */
  removeWaiting(id: string): void {
    this.#answer.run(JSON.stringify(id));
  }

  *waiting(): Generator<WaitingInstance> {
    for (const { row } of this.#db.prepare("SELECT row FROM waiting").iterate())
      yield JSON.parse(String(row)) as WaitingInstance;
  }

  addDocument(row: DocumentRow): void {
    this.#document.run(JSON.stringify(row));
  }

  *documents(): Generator<DocumentRow> {
    for (const { row } of this.#db.prepare("SELECT row FROM document ORDER BY place").iterate())
      yield JSON.parse(String(row)) as DocumentRow;
  }

  /** Returns definitions by name, the latest one last. */
  addDefinition(row: DefinitionRow): void {
    this.#define.run(JSON.stringify(row.name), JSON.stringify(row));
  }

  /** Returns documents in the order they were added. */
  *definitions(): Generator<NotedDefinition> {
    const noted = this.#db.prepare(`
      SELECT row, place = max(place) OVER (PARTITION BY name) AS isLatest FROM definition ORDER BY place
    `);
    for (const { row, isLatest } of noted.iterate()) {
      yield { row: JSON.parse(String(row)) as DefinitionRow, isLatest: isLatest === 1 };
    }
  }

  close(): void {
    this.#db.close();
  }
}
