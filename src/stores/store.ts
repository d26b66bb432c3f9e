import { EngineError } from "../base/error.ts";
import type { InstanceStatus, EndStatus } from "../kernel/status.ts";
import type { ClusterView } from "./cluster-view.ts";
import type { LeaseConnectionSource } from "./lease-connection.ts";
import type { Notifier, NotifierOptions } from "./notifier.ts";
import type { RowCounts } from "./row-counts.ts";
import type { Standing } from "./standing.ts";

export type { ClusterView, MemberRow, ShardRow } from "./cluster-view.ts";

/**
 * The interface of a database. Every adapter passes `tests/contract/`, which defines the words below exactly.
 *
 * Errors are of three kinds, and an adapter translates its client's errors into them:
 * - `STORE_UNAVAILABLE`: transient or unknown. The caller repeats the same call, unchanged. Commits are idempotent: one
 *   that had landed although its answer was lost is recognised by its number and answered with success.
 * - `STORE_FENCED`: another member owns the shard now. The caller drops its state of the shard.
 * - `STORE_DATA`: the database will never accept this batch, whoever sends it. The caller finds the instance to blame.
 * Every call settles: an adapter that gets no answer before its deadline fails with `STORE_UNAVAILABLE`.
 * `open` may also give `STORE_LOCKED`, `STORE_READ_ONLY`, `STORE_FULL`, `STORE_CORRUPT`, `STORE_NEWER`, `STORE_OLDER`,
 * `STORE_DENIED` and `STORE_UNSUITABLE`.
 *
 * The verb of a read says how much it returns:
 * - `find…`: one row by its key or unique name; undefined if there is none.
 * - `load…`: all rows of what is named: a table, a shard, an instance, a list of keys.
 * - `list…`: a page, at most `limit` rows in a fixed order.
 */
export interface Store {
  /**
   * States whether several engines may have the store open at once, as members of a cluster. On a database server every
   * engine is a member, also the only one: others may join at any time. An embedded store belongs to one process.
   */
  readonly clusters: "never" | "possible" | "always";
  /** Useful number of concurrent commits, each of other shards. */
  readonly lanes: number;

  /** Locks an embedded store for this process, and migrates the schema. */
  open(): Promise<void>;
  close(): Promise<void>;

  /**
   * Checks every few seconds that the open file is still at its path. `STORE_GONE` if it was deleted or replaced. Stores
   * without a file leave the method out.
   */
  readonly verify?: (() => Promise<void>) | undefined;

  /** Fixes the number of shards for ever at the first call; later calls return that number. */
  settleShardCount(count: number): Promise<number>;

  /** Registers the member, with heartbeat 0. Idempotent. */
  join(member: { readonly id: string; readonly address: string }): Promise<void>;
  /**
   * Raises the member's heartbeat by one, if it is still registered, and returns the cluster right after that. A member
   * that does not find itself in the view was removed by others. `about` replaces what the member reports of itself.
   * With `since` the view has the store's clock, and only the shards that the member owns, that are released, or whose
   * epoch is at least `since`: epochs follow the store's clock. Fewer rows are read then than there are shards.
   */
  heartbeat(member: string, about?: string, since?: number): Promise<ClusterView>;
  /** Raises the heartbeat by one, reading nothing. False if the member is not registered, or its heartbeat is below `atLeast`. */
  renewLease(member: string, atLeast: number): Promise<boolean>;
  /** Connects a thread of this process that renews leases. Embedded stores leave it out. */
  readonly leaseConnection?: LeaseConnectionSource | undefined;
  /**
   * Removes a member with its mailboxes (`mailboxesOf`): itself when it leaves, or, with `ifHeartbeat`, another one whose heartbeat
   * is still that number. False if the heartbeat has changed, or the member was removed already. Ids of members are never
   * reused: a restarted engine has a new one.
   */
  removeMember(member: string, ifHeartbeat?: number): Promise<boolean>;

  /**
   * Makes the caller the shard's only writer: raises its epoch, so that commits under an older one are refused. The new
   * epoch is one above the last, or the database's clock in seconds if that is more.
   * Undefined, and nothing is changed, while a live member other than the caller owns it and has not released it.
   */
  claimShard(shard: number, owner: string): Promise<ShardClaim | undefined>;

  /**
   * Begins a new incarnation, because a backup was restored: one above the last, or the database's clock in seconds. Raises
   * every epoch, and numbers all messages anew (`numberBefore`), so that none is given out twice. Owners stay. Members of
   * an earlier incarnation notice it and stop. Returns the new incarnation. `STORE_LOCKED` if another call came between.
   */
  beginIncarnation(): Promise<number>;

  /** Counts the rows of the store, for people: may read all of them. */
  countRows(): Promise<RowCounts>;

  /**
   * Commits the batch in one transaction. A fence holds only if the shard's epoch is the fence's and its last batch is one
   * below the fence's number. Durable when the promise resolves. `STORE_FENCED` names all lost shards (`Fenced`).
   */
  commit(batch: Batch): Promise<void>;

  /** Lists unfinished instances of a shard, by key; `after` pages. */
  listUnfinished(shard: number, page: { after: number; limit: number }): Promise<InstanceRow[]>;
  /**
   * Returns the whole history of these instances, ordered by instance and turn. Turns are in rows of their own or in the
   * row of their instance, finished or not, and may move: a read looks in all places at one moment.
   */
  loadHistory(instances: readonly number[]): Promise<HistoryRow[]>;
  /** Lists turns of one instance, wherever they are. */
  listHistory(instance: number, page: { afterTurn: number; limit: number }): Promise<HistoryRow[]>;
  /** Returns payloads in the order of `refs`. A missing one is `STORE_DATA`: a reference is never committed without its row. */
  loadPayloads(instance: number, refs: readonly number[]): Promise<string[]>;

  /** Finds the newest finished instance of that id. */
  findFinished(id: string): Promise<FinishedRow | undefined>;
  /** Lists unfinished and finished instances together, newest first: by the time they were created, then by key. */
  listInstances(filter: StoredFilter): Promise<InstanceSummary[]>;
  /** Lists finished instances of that status that ended before the time, in the order they were created; for retention. */
  listFinishedBefore(filter: {
    status: EndStatus;
    endedBefore: number;
    limit: number;
  }): Promise<{ key: number; id: string }[]>;

  /** Returns unconsumed messages to these shards, ordered by target, source and number. */
  loadOutbox(targets: readonly number[]): Promise<OutboxRow[]>;
  /** Returns unconsumed messages of this shard, ordered by target and number. */
  loadOutboxOf(source: number): Promise<OutboxRow[]>;
  /** Returns the shard's inbound offsets: the number of the last message it consumed from each source. */
  loadOffsets(shard: number): Promise<OffsetRow[]>;
  /** Returns the number of the last message that this shard ever sent to each target, from rows of the shard's own commits. */
  loadSent(source: number): Promise<{ target: number; number: number }[]>;

  /** Finds the outcome of the request with that idempotency key; undefined if it is unknown or has expired. */
  findRequest(shard: number, idempotencyKey: string): Promise<RequestRow | undefined>;

  /** Posts a message to a mailbox, outside of any commit: for members that the bus does not connect. */
  post(mail: { readonly mailbox: string; readonly body: string; readonly at: number }): Promise<void>;
  /** Lists messages of these mailboxes in the order they were posted. */
  listMailboxRows(mailboxes: readonly string[], limit: number): Promise<MailboxRow[]>;
  deleteMailboxRows(ids: readonly number[]): Promise<void>;
  /** Deletes messages of all mailboxes that were posted before the time and never fetched. */
  deleteMailboxRowsBefore(at: number): Promise<void>;

  /**
   * Opens a session that wakes other processes when it posts to their mailboxes. Databases that cannot do that without
   * polling leave the method out.
   */
  readonly openNotifier?: ((options: NotifierOptions) => Promise<Notifier>) | undefined;

  loadDomains(): Promise<DomainRow[]>;
  /** Inserts domains outside of any commit; existing ones stay as they are. */
  declareDomains(domains: readonly DomainRow[]): Promise<void>;

  /** Inserts definitions outside of any commit; existing versions stay as they are. */
  saveDefinitions(definitions: readonly DefinitionRow[]): Promise<void>;
  findDefinition(name: string, version: string): Promise<DefinitionRow | undefined>;
  /** Finds the definition saved last under that name. */
  findLatestDefinition(name: string): Promise<DefinitionRow | undefined>;
  /** Lists every saved version of a workflow, newest first; `before` pages, by the number of the save. */
  listDefinitions(name: string, page: { limit: number; before?: number }): Promise<SavedDefinition[]>;

  loadJobs(): Promise<JobRow[]>;
  /** Inserts or replaces jobs by id. */
  saveJobs(jobs: readonly JobRow[]): Promise<void>;
  deleteJobs(ids: readonly string[]): Promise<void>;

  /** Finds a document: a small value by kind and name, such as a catalogue entry or a token, outside of any commit. */
  findDocument(kind: string, name: string): Promise<DocumentRow | undefined>;
  /** Lists documents by name, in the order of code points; `after` pages. */
  listDocuments(kind: string, page: { after?: string; limit: number }): Promise<DocumentRow[]>;
  /**
   * Writes the document only if its revision is one above the stored one, or 1 if there is none (optimistic concurrency).
   * False if another writer was faster. The same revision with the same body again, after an answer that was lost, is
   * true: writers of whom only one may win put something of their own into the body.
   */
  saveDocument(document: DocumentRow): Promise<boolean>;
  /** Deletes the document; false if it does not have that revision. */
  deleteDocument(kind: string, name: string, revision: number): Promise<boolean>;

  /**
   * Appends lines to their topics, all or none. Numbers go up and are never assigned twice. Once a number is visible, no
   * lower one becomes visible later: a reader that continues after a number misses nothing. Lines that are sent again
   * after an answer that was lost may be stored twice.
   */
  appendLines(lines: readonly { topic: string; at: number; body: string }[]): Promise<void>;
  /** Lists lines of one topic in order. */
  listLines(topic: string, page: LinePage): Promise<LineRow[]>;
  /** Deletes lines from before the time in all topics with the prefix. Works in small steps, so a failure may leave some. */
  deleteLines(topicPrefix: string, before: number): Promise<void>;
  /** Deletes all lines of the topic. Works in small steps, so a failure may leave some. */
  deleteTopic(topic: string): Promise<void>;
}

export interface ShardClaim {
  readonly epoch: number;
  /** The store's incarnation: see `ClusterView`. */
  readonly incarnation: number;
  /** Number of the last batch that landed. */
  readonly lastBatch: number;
  /** Highest instance key ever assigned in this shard; 0 for none. */
  readonly lastKey: number;
  /**
   * The previous owner released the shard: every start of an attempt is on record, and nothing else runs. True for a new
   * shard.
   */
  readonly released: boolean;
  /** Id of the member that owned the shard before; empty for a new shard. */
  readonly previousOwner: string;
}

/** Changes of several shards of one owner that are committed together. */
export interface Batch {
  /** One fence for each shard that the changes belong to. */
  readonly fences: readonly Fence[];
  readonly changes: Changes;
}

export interface Fence {
  readonly shard: number;
  readonly epoch: number;
  readonly number: number;
  readonly lastKey: number;
  /** The owner releases the shard with this commit: any member may claim it. */
  readonly released: boolean;
}

/** `STORE_FENCED`: these shards have another owner. Nothing of the batch was written, unless it had landed before. */
export class Fenced extends EngineError {
  readonly shards: readonly number[];
  /** State of the lost shards, as far as it was compared; undefined for one that was never claimed. */
  readonly standings: ReadonlyMap<number, Standing | undefined>;

  constructor(
    shards: readonly number[],
    message: string,
    standings: ReadonlyMap<number, Standing | undefined> = new Map(),
  ) {
    super("STORE_FENCED", message);
    this.shards = shards;
    this.standings = standings;
  }
}

/** Row changes by table. Applied in the order of the fields here. At most one change per key and table. */
export interface Changes {
  /** Instances to delete, with their rows in every table. */
  purged: number[];
  /** Histories to trim, because they begin again. */
  trims: TrimRow[];
  /** Existing versions stay as they are: a version never changes. */
  definitions: DefinitionRow[];
  /** Insert or replace. */
  instances: InstanceRow[];
  /** Keys to delete from the unfinished instances. */
  instancesEnded: number[];
  finished: FinishedRow[];
  /** Keys to delete from the finished instances, which continue. */
  finishedReopened: number[];
  history: HistoryRow[];
  payloads: PayloadRow[];
  /** Insert. The highest number of each pair of shards is kept as the last one sent. */
  outbox: OutboxRow[];
  /** Insert or replace by shard and source; messages to the shard from that source up to the number are deleted. */
  offsets: OffsetRow[];
  /** Insert or replace by name. */
  domains: DomainRow[];
  /** Insert; an existing key is `STORE_DATA`. */
  requests: RequestRow[];
  /** Deletes requests of the shard from before the time. */
  requestsForgotten: { shard: number; before: number }[];
}

export interface InstanceRow {
  readonly key: number;
  readonly id: string;
  readonly workflow: string;
  readonly version: string;
  readonly status: InstanceStatus;
  readonly generation: number;
  /** Time of the next timer, in ms since 1970; null for none. */
  readonly wakeAt: number | null;
  /** The instance has tasks with the dispatcher, or children: its actor must be in memory. */
  readonly active: boolean;
  /** Number of waiting tasks of an instance that need not be in memory: opening a shard counts them without histories. */
  readonly waitingTasks: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Reason of the quarantine; null for an instance in service. */
  readonly quarantined: string | null;
  /** The application that it belongs to; null for none. */
  readonly app: string | null;
  /** The whole history, if it is small and the instance active; null if its turns are rows. */
  readonly history: TurnText | null;
}

export interface FinishedRow {
  readonly key: number;
  readonly id: string;
  readonly workflow: string;
  readonly version: string;
  readonly status: EndStatus;
  readonly generation: number;
  readonly reason: string | null;
  readonly createdAt: number;
  readonly endedAt: number;
  readonly tasks: number;
  readonly tasksFailed: number;
  /** The application that it belongs to; null for none. */
  readonly app: string | null;
  /** The whole history, if it is small; null if its turns are rows. */
  readonly history: TurnText | null;
}

/**
 * The turns of a small history as one text, which the row of the instance holds: a JSON array with an array per turn, of
 * its number, the number of its first event, its time, the length of its events' text, and its events.
 * The length lets a reader take each turn's events as they were written, without parsing them and whatever characters
 * they hold. It counts UTF-16 units of the text in memory; a database may escape some of them (see text.ts). `turn-text.ts` makes and reads it.
 */
export type TurnText = string;

/** A turn of an instance. */
export interface HistoryRow {
  readonly instance: number;
  readonly turn: number;
  /** The number of this turn's first event within the instance, from 0. */
  readonly firstEvent: number;
  readonly at: number;
  /** JSON text: the turn's events. */
  readonly events: string;
}

/** Deletes the rows of an instance's history before the turn, and payloads with a reference below `ref`. */
export interface TrimRow {
  readonly instance: number;
  readonly turn: number;
  readonly ref: number;
}

export interface PayloadRow {
  readonly instance: number;
  readonly ref: number;
  readonly body: string;
}

export interface OutboxRow {
  readonly source: number;
  readonly target: number;
  readonly number: number;
  readonly body: string;
}

/** Number of the last message that a shard ever sent to another. */
export interface SentRow {
  readonly source: number;
  readonly target: number;
  readonly number: number;
}

export interface OffsetRow {
  readonly shard: number;
  readonly source: number;
  readonly number: number;
}

/** A request with an idempotency key that was handled: the same key again returns the recorded outcome. */
export interface RequestRow {
  readonly shard: number;
  readonly idempotencyKey: string;
  readonly at: number;
  /** JSON text of the error; null if the request succeeded. */
  readonly refusal: string | null;
}

export interface MailboxRow {
  readonly id: number;
  readonly mailbox: string;
  readonly body: string;
}

/** A named pool of slots that all members share. */
export interface DomainRow {
  readonly name: string;
  readonly size: number;
  readonly priority: number;
}

export interface DefinitionRow {
  readonly name: string;
  readonly version: string;
  readonly spec: string;
  readonly createdAt: number;
}

/** A definition with its save number, which counts up over all workflows and does not depend on a clock. */
export interface SavedDefinition extends DefinitionRow {
  readonly saveNumber: number;
}

export interface JobRow {
  readonly id: string;
  readonly name: string;
  readonly signature: string;
  /** JSON text: the parameters' types. */
  readonly parameters: string;
  /** Module and export; null if unknown. */
  readonly codePath: string | null;
  readonly sourceHash: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly missing: boolean;
}

/** A small value that is replaced as a whole by a writer that knows its last revision. */
export interface DocumentRow {
  readonly kind: string;
  readonly name: string;
  /** Counts from 1. */
  readonly revision: number;
  readonly at: number;
  readonly body: string;
}

/** Selects lines of a topic. */
export interface LinePage {
  /** Returns only lines with a higher number. */
  readonly after?: number;
  /** Returns only lines with a lower number. */
  readonly before?: number;
  /** Selects the last lines instead of the first. */
  readonly last?: boolean;
  readonly limit: number;
}

/** A line of an append-only log. */
export interface LineRow {
  readonly number: number;
  readonly topic: string;
  readonly at: number;
  readonly body: string;
}

/** Which instances are listed, newest first. */
export interface InstanceFilter {
  readonly status?: readonly InstanceStatus[];
  readonly workflow?: string;
  readonly idPrefix?: string;
  /** Only instances of this application. */
  readonly app?: string;
  /** Only unfinished instances that a resume concerns: paused, or quarantined. */
  readonly resumable?: boolean;
  readonly createdFrom?: number;
  readonly createdTo?: number;
  /** Continues after this instance, the last of the page before. */
  readonly before?: { readonly createdAt: number; readonly key: number };
  readonly limit: number;
}

/** A filter by qualified names. */
export interface StoredFilter extends InstanceFilter {
  /** Only instances of this namespace. Default: of all. */
  readonly namespace?: string;
}

/** An instance in a list. */
export interface InstanceSummary {
  readonly key: number;
  readonly id: string;
  readonly workflow: string;
  readonly version: string;
  readonly status: InstanceStatus;
  readonly generation: number;
  readonly createdAt: number;
  readonly endedAt: number | null;
  readonly reason: string | null;
  readonly quarantined: string | null;
  readonly app: string | null;
}

export function noChanges(): Changes {
  return {
    purged: [],
    trims: [],
    definitions: [],
    instances: [],
    instancesEnded: [],
    finished: [],
    finishedReopened: [],
    history: [],
    payloads: [],
    outbox: [],
    offsets: [],
    domains: [],
    requests: [],
    requestsForgotten: [],
  };
}
