import { EngineError, hasCode } from "../base/error.ts";
import { localName } from "../base/namespace.ts";
import { firstKey } from "../stores/instance-key.ts";
import type { FinishedRow, HistoryRow, InstanceRow, Store } from "../stores/store.ts";
import { turnsIn } from "../stores/turn-text.ts";
import type { Definition, Definitions } from "./definitions.ts";
import type { InstanceActor, StoredInstance } from "./instance-actor.ts";
import type { EndedMap, EndedMaps } from "./ended-maps.ts";
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
  readonly #endedMaps: EndedMaps;
  readonly #entries = new Map<string, InstanceEntry>();
  /** Reads and purges that count on an id not being in memory. */
  readonly #searches = new Map<string, Set<Search>>();
  /** Purges that are being written, by id; each promise resolves with the end of its commit. */
  readonly #purges = new Map<string, Promise<void>>();
  #waiting = 0;

  constructor(options: {
    shard: number;
    store: Store;
    definitions: Definitions;
    newActor: NewActor;
    onBroken: OnBroken;
    endedMaps: EndedMaps;
  }) {
    this.#shard = options.shard;
    this.#store = options.store;
    this.#definitions = options.definitions;
    this.#newActor = options.newActor;
    this.#onBroken = options.onBroken;
    this.#endedMaps = options.endedMaps;
    this.#histories = new HistoryReader(options.store);
  }

  get(id: string): InstanceEntry | undefined {
    return this.#entries.get(id);
  }

  /**
   * The entry of an actor in service; undefined if its instance has left the table, or has another actor. A lookup by id
   * costs a hash table's cache misses, in each opening and each release of a turn.
   */
  entryOf(actor: InstanceActor): InstanceEntry | undefined {
    const { entry } = actor;
    return entry instanceof InstanceEntry && entry.isListed && entry.actor === actor ? entry : undefined;
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
    if (count === entry.waitingTasks) return;
    if (entry.isListed) this.#waiting += count - entry.waitingTasks;
    entry.waitingTasks = count;
  }

  add(entry: InstanceEntry): void {
    this.delete(entry.id);
    this.#endedMaps.delete(entry.id);
    this.#waiting += entry.waitingTasks;
    this.#entries.set(entry.id, entry);
    entry.isListed = true;
    if (this.#searches.size === 0) return;
    for (const search of this.#searches.get(entry.id) ?? []) search.hasCome = true;
  }

  /**
   * Reads the store for an id; `outdated` if an instance of that id was in memory meanwhile, and may have gone again, or
   * if one was purged. Otherwise returns what `use` makes of the found; it is called at once, since a microtask later
   * the found may be outdated. While a purge of the id is being written, the read waits for it.
   */
  async searchFor<T, R>(id: string, read: () => Promise<T>, use: (found: T) => R): Promise<R | "outdated"> {
    for (let purge = this.#purges.get(id); purge !== undefined; purge = this.#purges.get(id)) await purge;
    const search = this.#beginSearch(id);
    try {
      const found = await read();
      return search.hasCome ? "outdated" : use(found);
    } finally {
      this.#endSearch(search);
    }
  }

  #beginSearch(id: string): Search {
    const search = { id, hasCome: false };
    const searches = this.#searches.get(id) ?? new Set();
    this.#searches.set(id, searches.add(search));
    return search;
  }

  #endSearch(search: Search): void {
    const searches = this.#searches.get(search.id);
    searches?.delete(search);
    if (searches?.size === 0) this.#searches.delete(search.id);
  }

  delete(id: string): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    entry.isListed = false;
    this.#waiting -= entry.waitingTasks;
    this.#entries.delete(id);
  }

  /** Removes an instance that has ended. What its maps were can still be read from memory for a while. */
  evictEnded(actor: InstanceActor): void {
    this.delete(actor.id);
    this.#endedMaps.keep(actor.id, actor, this);
  }

  /** The state of an instance that has ended and is not in memory, if it was kept. */
  findEndedMap(id: string): EndedMap | undefined {
    return this.#endedMaps.find(id, this);
  }

  /**
   * Purges those of the ended instances that stay out of memory until the commit begins, and returns how many these are.
   * An instance in memory may be reopened at any moment, whether or not its state shows that yet, and so may one that
   * has come and gone again. One that is in the commit can be reopened no more: nobody loads it before the commit is over.
   *
   * `commit` calls its argument when no other commit is under way, and writes the keys that it returns.
   */
  async purge(
    instances: readonly { key: number; id: string }[],
    commit: (keys: () => number[]) => Promise<void>,
  ): Promise<number> {
    const absent = instances.filter(({ key, id }) => this.#entries.get(id)?.key !== key);
    if (absent.length === 0) return 0;
    const candidates = absent.map(({ key, id }) => ({ key, search: this.#beginSearch(id) }));
    const end = Promise.withResolvers<void>();
    let purged: typeof candidates = [];
    try {
      await commit(() => {
        purged = candidates.filter(({ search }) => !search.hasCome);
        for (const { search } of purged) this.#keepOut(search.id, end.promise);
        return purged.map(({ key }) => key);
      });
      return purged.length;
    } finally {
      for (const { search } of candidates) this.#endSearch(search);
      for (const { search } of purged) this.#letIn(search.id, end.promise);
      end.resolve();
    }
  }

  /** Reads of the id from before the purge no longer count, and new ones wait until the purge is over. */
  #keepOut(id: string, purge: Promise<void>): void {
    this.#purges.set(id, purge);
    this.#endedMaps.delete(id);
    for (const search of this.#searches.get(id) ?? []) search.hasCome = true;
  }

  /** The next purge of the id, of another of its lives, may have begun. */
  #letIn(id: string, purge: Promise<void>): void {
    if (this.#purges.get(id) === purge) this.#purges.delete(id);
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

  /** Loads the actors of these instances, with one read for each page of the histories that are not in their rows. */
  async restoreAll(rows: readonly InstanceRow[]): Promise<InstanceActor[]> {
    const actors: InstanceActor[] = [];
    for (let start = 0; start < rows.length; start += instancesPerPage) {
      const page = rows.slice(start, start + instancesPerPage);
      const apart = page.filter(({ history }) => history === null).map(({ key }) => key);
      const histories = apart.length === 0 ? undefined : await loadHistories(this.#store, apart);
      for (const row of page) {
        const actor = await this.#restoreOne(row, historyIn(row) ?? histories?.get(row.key) ?? []);
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
    return definition && this.#restore(entry, definition, { history, row, turnText: row.history });
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
   *
   * `useEnded` is called with an ended instance at the moment at which it comes into memory. Had the caller to look it up
   * afterwards, another one could have evicted it, and each of two would load it again, for ever, because of the other.
   */
  async load(id: string, useEnded: (actor: InstanceActor) => void): Promise<void> {
    const entry = this.#entries.get(id);
    if (entry === undefined) return await this.#loadFinished(id, useEnded);
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
      const row = entry.hasTurnsInRow ? await this.row(entry) : undefined;
      const turnText = row?.history ?? null;
      const history = turnText === null ? await this.#histories.read(entry.key) : turnsIn(turnText, entry.key);
      if (history.length === 0) throw unknownInstance(entry.id);
      const actor = this.#restore(entry, definition, { history, row: row ?? "from state", turnText });
      if (actor === undefined) throw quarantinedError(entry);
    } finally {
      entry.loading = undefined;
    }
  }

  /**
   * The instance may have been in memory meanwhile, and have been reopened; or it may have been purged. Then nothing is
   * loaded, and the caller looks it up again.
   */
  async #loadFinished(id: string, use: (actor: InstanceActor) => void): Promise<void> {
    const read = (): Promise<ReadInstance | undefined> => this.#readFinished(id);
    await this.searchFor(id, read, (found) => use(this.#addFinished(id, found)));
  }

  #addFinished(id: string, found: ReadInstance | undefined): InstanceActor {
    if (found === undefined) throw unknownInstance(id);
    const { finished, definition, history } = found;
    // The shard was lost since the row was read, and its new owner has purged the instance.
    if (history.length === 0) throw unknownInstance(id);
    const { key, workflow, version, status, endedAt } = finished;
    const entry = new InstanceEntry({ id, key, workflow, version, status, at: endedAt });
    const actor = this.#restore(entry, definition, { history, row: undefined, turnText: finished.history });
    if (actor === undefined) throw quarantinedError(entry);
    this.add(entry);
    return actor;
  }

  async #readFinished(id: string): Promise<ReadInstance | undefined> {
    const finished = await this.#store.findFinished(id);
    if (finished === undefined) return undefined;
    const definition = await this.#definitions.load(finished.workflow, finished.version);
    const { key, history } = finished;
    return {
      finished,
      definition,
      history: history === null ? await this.#store.loadHistory([key]) : turnsIn(history, key),
    };
  }

  #restore(entry: InstanceEntry, definition: Definition, stored: StoredInstance): InstanceActor | undefined {
    const actor = this.#newActor(definition, entry.id, entry.key);
    try {
      actor.restore(stored);
    } catch (error) {
      void this.#quarantineBroken(entry, stored.row, error);
      return undefined;
    }
    entry.attach(actor);
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

/** Returns the history that the row holds, or why it cannot be read; undefined if its turns are rows. */
function historyIn({ key, history }: InstanceRow): ReadHistory | undefined {
  if (history === null) return undefined;
  try {
    return turnsIn(history, key);
  } catch (error) {
    if (error instanceof EngineError) return error;
    throw error;
  }
}

interface Search {
  readonly id: string;
  /** An instance of the id has come into memory since the search began, or is being purged. */
  hasCome: boolean;
}

interface ReadInstance {
  readonly finished: FinishedRow;
  readonly definition: Definition;
  readonly history: readonly HistoryRow[];
}

export function unknownInstance(id: string): EngineError {
  return new EngineError("INSTANCE_UNKNOWN", `no instance with id "${localName(id)}" is known`);
}

export function quarantinedError({ id, quarantined }: InstanceEntry): EngineError {
  return new EngineError(
    "INSTANCE_QUARANTINED",
    `instance "${localName(id)}" is quarantined (${quarantined}); resume it to try again from its last durable state`,
  );
}
