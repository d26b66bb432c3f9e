import { EngineError, hasCode } from "../base/error.ts";
import { firstKey } from "../stores/instance-key.ts";
import type { FinishedRow, HistoryRow, InstanceRow, Store } from "../stores/store.ts";
import type { Definition, Definitions } from "./definitions.ts";
import type { InstanceActor } from "./instance-actor.ts";
import { InstanceEntry } from "./instance-entry.ts";
import { HistoryReader, isDamage, loadHistories, type ReadHistory } from "./history-reader.ts";

/** Opening reads this many instances at a time. */
const instancesPerPage = 1000;

/** The instances of a shard: an entry for each unfinished one, an actor for those in memory, the store for the rest. */
export class InstanceTable {
  readonly #shard: number;
  readonly #store: Store;
  readonly #definitions: Definitions;
  readonly #newActor: NewActor;
  readonly #histories: HistoryReader;
  readonly #onBroken: OnBroken;
  readonly #entries = new Map<string, InstanceEntry>();
  /** Reads of the store for an id that is not in memory. */
  readonly #searches = new Map<string, Set<Search>>();
  #purges = 0;
  #waiting = 0;

  constructor(options: {
    shard: number;
    store: Store;
    definitions: Definitions;
    newActor: NewActor;
    onBroken: OnBroken;
  }) {
    this.#shard = options.shard;
    this.#store = options.store;
    this.#definitions = options.definitions;
    this.#newActor = options.newActor;
    this.#onBroken = options.onBroken;
    this.#histories = new HistoryReader(options.store);
  }

  get(id: string): InstanceEntry | undefined {
    return this.#entries.get(id);
  }

  all(): Iterable<InstanceEntry> {
    return this.#entries.values();
  }

  /** Counts tasks that wait inside instances, and instances that wait as a whole. */
  get waitingCount(): number {
    return this.#waiting;
  }

  /** Notes how many of its tasks wait now. */
  noteWaiting(entry: InstanceEntry, count: number): void {
    if (this.#entries.get(entry.id) === entry) this.#waiting += count - entry.waitingTasks;
    entry.waitingTasks = count;
  }

  add(entry: InstanceEntry): void {
    this.delete(entry.id);
    this.#waiting += entry.waitingTasks;
    this.#entries.set(entry.id, entry);
    for (const search of this.#searches.get(entry.id) ?? []) search.hasCome = true;
  }

  /**
   * Reads the store for an id; `outdated` if an instance of that id was in memory meanwhile, and may have gone again.
   */
  async searchFor<T>(id: string, read: () => Promise<T>): Promise<{ found: T } | "outdated"> {
    const search = { hasCome: false };
    const searches = this.#searches.get(id) ?? new Set();
    this.#searches.set(id, searches.add(search));
    try {
      const found = await read();
      return search.hasCome ? "outdated" : { found };
    } finally {
      searches.delete(search);
      if (searches.size === 0) this.#searches.delete(id);
    }
  }

  delete(id: string): void {
    this.#waiting -= this.#entries.get(id)?.waitingTasks ?? 0;
    this.#entries.delete(id);
  }

  /** Forgets purged instances; returns those that were loaded meanwhile. */
  forget(purged: readonly { key: number; id: string }[]): InstanceEntry[] {
    this.#purges++;
    const entries = purged.flatMap(({ key, id }) => {
      const entry = this.#entries.get(id);
      return entry?.key === key && entry.actor?.hasEnded ? [entry] : [];
    });
    for (const { id } of entries) this.delete(id);
    return entries;
  }

  /** Adds an entry for every unfinished instance; returns their rows. */
  async loadEntries(): Promise<InstanceRow[]> {
    const all: InstanceRow[] = [];
    let after = firstKey(this.#shard) - 1;
    for (;;) {
      const rows = await this.#store.listUnfinished(this.#shard, { after, limit: instancesPerPage });
      for (const row of rows) {
        this.add(InstanceEntry.fromRow(row));
        all.push(row);
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length < instancesPerPage) return all;
      after = last.key;
    }
  }

  /** Loads the actors of these instances, with one read of histories for each page. */
  async restoreAll(rows: readonly InstanceRow[]): Promise<InstanceActor[]> {
    const actors: InstanceActor[] = [];
    for (let start = 0; start < rows.length; start += instancesPerPage) {
      const page = rows.slice(start, start + instancesPerPage);
      const histories = await loadHistories(
        this.#store,
        page.map(({ key }) => key),
      );
      for (const row of page) {
        const actor = await this.#restoreOne(row, histories.get(row.key) ?? []);
        if (actor !== undefined) actors.push(actor);
      }
    }
    return actors;
  }

  async #restoreOne(row: InstanceRow, history: ReadHistory): Promise<InstanceActor | undefined> {
    const entry = this.#entries.get(row.id) as InstanceEntry;
    if (isDamage(history)) {
      this.#onBroken(entry, row, history);
      return undefined;
    }
    const definition = await this.#definitionOf(entry, row);
    return definition && this.#restore(entry, definition, history, row);
  }

  /** A definition that cannot be read quarantines the instances that need it, and no others. */
  async #definitionOf(entry: InstanceEntry, row: InstanceRow): Promise<Definition | undefined> {
    try {
      return await this.#definitions.load(row.workflow, row.version);
    } catch (error) {
      if (hasCode(error, "STORE_UNAVAILABLE")) throw error;
      this.#onBroken(entry, row, error);
      return undefined;
    }
  }

  /**
   * Loads an instance that is not in memory, even an ended one, to be queried or reopened. `INSTANCE_UNKNOWN`,
   * `INSTANCE_QUARANTINED`.
   */
  async load(id: string): Promise<void> {
    const entry = this.#entries.get(id);
    if (entry === undefined) return await this.#loadFinished(id);
    if (entry.quarantined !== undefined) throw quarantinedError(entry);
    await (entry.loading ??= this.#load(entry));
  }

  async row(entry: InstanceEntry): Promise<InstanceRow> {
    const [row] = await this.#store.listUnfinished(this.#shard, { after: entry.key - 1, limit: 1 });
    if (row?.key !== entry.key) throw unknownInstance(entry.id);
    return row;
  }

  async #load(entry: InstanceEntry): Promise<void> {
    try {
      const definition = await this.#definitions.load(entry.workflow, entry.version);
      const history = await this.#histories.read(entry.key);
      if (history.length === 0) throw unknownInstance(entry.id);
      const actor = this.#restore(entry, definition, history, "from state");
      if (actor === undefined) throw quarantinedError(entry);
    } finally {
      entry.loading = undefined;
    }
  }

  async #loadFinished(id: string): Promise<void> {
    const purges = this.#purges;
    const search = await this.searchFor(id, () => this.#readFinished(id));
    // The instance was in memory meanwhile, and may have been reopened; or it may have been purged: the caller looks it
    // up again.
    if (search === "outdated" || purges !== this.#purges) return;
    if (search.found === undefined) throw unknownInstance(id);
    const { finished, definition, history } = search.found;
    // The row was read before a purge, the history after it.
    if (history.length === 0) throw unknownInstance(id);
    const { key, workflow, version, status, endedAt } = finished;
    const entry = new InstanceEntry({ id, key, workflow, version, status, at: endedAt });
    const actor = this.#restore(entry, definition, history, undefined);
    if (actor === undefined) throw quarantinedError(entry);
    this.add(entry);
  }

  async #readFinished(id: string): Promise<ReadInstance | undefined> {
    const finished = await this.#store.findFinished(id);
    if (finished === undefined) return undefined;
    const definition = await this.#definitions.load(finished.workflow, finished.version);
    return { finished, definition, history: await this.#store.loadHistory([finished.key]) };
  }

  #restore(
    entry: InstanceEntry,
    definition: Definition,
    history: readonly HistoryRow[],
    row: InstanceRow | "from state" | undefined,
  ): InstanceActor | undefined {
    const actor = this.#newActor(definition, entry.id, entry.key);
    try {
      actor.restore(history, row);
    } catch (error) {
      void this.#quarantineBroken(entry, row, error);
      return undefined;
    }
    entry.actor = actor;
    this.noteWaiting(entry, actor.machine.state.waitingCount);
    return actor;
  }

  /** The row of an instance whose state cannot be restored is read from the store. */
  async #quarantineBroken(
    entry: InstanceEntry,
    row: InstanceRow | "from state" | undefined,
    error: unknown,
  ): Promise<void> {
    this.#onBroken(entry, row === "from state" ? await this.row(entry) : row, error);
  }
}

/** Creates the actor of an instance in memory; it has no state before it is started or restored. */
export type NewActor = (definition: Definition, id: string, key: number) => InstanceActor;

/** The history or definition of an instance could not be read; `row` is its row in the store, if it has one. */
export type OnBroken = (entry: InstanceEntry, row: InstanceRow | undefined, error: unknown) => void;

interface Search {
  hasCome: boolean;
}

interface ReadInstance {
  readonly finished: FinishedRow;
  readonly definition: Definition;
  readonly history: readonly HistoryRow[];
}

export function unknownInstance(id: string): EngineError {
  return new EngineError("INSTANCE_UNKNOWN", `no instance with id "${id}" is known`);
}

export function quarantinedError({ id, quarantined }: InstanceEntry): EngineError {
  return new EngineError(
    "INSTANCE_QUARANTINED",
    `instance "${id}" is quarantined (${quarantined}); resume it to try again from its last durable state`,
  );
}
