import { EngineError } from "../base/error.ts";
import type { InstanceStatus, EndStatus, TaskStatus } from "../kernel/status.ts";

/**
 * What Heddle asks of a database. Every adapter passes `tests/contract/`, which is where the words below are exact.
 *
 * Errors are of three kinds, and an adapter sorts its driver's errors into them:
 * - `STORE_UNAVAILABLE`: transient or unknown. The caller sends the same call again, unchanged. A commit that had landed
 *   although its answer was lost is recognised by its number and answered with success.
 * - `STORE_FENCED`: somebody else owns the shard now. The caller drops what it knows of the shard.
 * - `STORE_DATA`: the database will never take this batch, whoever sends it. The caller finds the one instance to blame.
 * Every call settles: an adapter that hears nothing for long gives it up as `STORE_UNAVAILABLE`.
 * `open` may also give `STORE_LOCKED`, `STORE_READ_ONLY`, `STORE_FULL`, `STORE_CORRUPT`, `STORE_NEWER`, `STORE_DENIED`
 * and `STORE_UNSUITABLE`.
 */
export interface Store {
  /**
   * Whether several engines may have it open at once, as members of a cluster. On a database server any engine is a
   * member, also the only one: others may come at any time. An embedded store belongs to one process.
   */
  readonly clusters: "never" | "possible" | "always";
  /** How many commits it is worth having under way at once, each of other shards. */
  readonly lanes: number;

  /** Takes ownership where the store is embedded, and brings the schema up to date. */
  open(): Promise<void>;
  close(): Promise<void>;

  /**
   * Whether what was opened is still at its place, asked every few seconds. `STORE_GONE` if a file was deleted or
   * replaced. Stores without such a question leave it out.
   */
  verify?(): Promise<void>;

  /** How many shards there are. The first call says so for ever; later ones are told what it said. */
  settleShardCount(count: number): Promise<number>;

  /** From now on the member is among the living, with a first beat of 0. Joining twice changes nothing. */
  join(member: { readonly id: string; readonly address: string }): Promise<void>;
  /**
   * A sign of life: the member's beat goes up by one, if it is still among the living. The answer is the cluster right
   * after that; a member that does not find itself in it was taken for dead. `about` replaces what the member says about
   * itself.
   */
  beat(member: string, about?: string): Promise<ClusterView>;
  /**
   * Takes a member out of the living, with its mailbox (`mailboxOf`): itself when it leaves, or, with `ifBeat`,
   * another one that has not moved on from that beat. False if it has, or was gone already. An id that is gone never
   * comes back: who starts again has another one.
   */
  removeMember(member: string, ifBeat?: number): Promise<boolean>;

  /**
   * Makes the caller the shard's only writer: raises its epoch, so that commits under an older one are refused.
   * Undefined, and nothing is changed, while a living member other than the caller owns it and has not released it.
   */
  claimShard(shard: number, owner: string): Promise<ShardClaim | undefined>;

  /**
   * All of it or nothing. The fences come first: each holds only if the shard's epoch is the fence's and its number is
   * one below the fence's. Durable when the promise resolves. `STORE_FENCED` names all shards that were lost (`Fenced`).
   */
  commit(batch: Batch): Promise<void>;

  /** Unfinished instances of a shard, by key; `after` pages. */
  loadInstances(shard: number, page: { after: number; limit: number }): Promise<InstanceRow[]>;
  /** The whole history of these instances, ordered by instance and turn. */
  loadHistory(instances: readonly number[]): Promise<HistoryRow[]>;
  /** One instance's history a page at a time. */
  readHistory(instance: number, page: { afterTurn: number; limit: number }): Promise<HistoryRow[]>;
  readTasks(instance: number): Promise<TaskRow[]>;
  /** In the order asked for. A missing one is `STORE_DATA`: a reference is never committed without its row. */
  readPayloads(instance: number, refs: readonly number[]): Promise<string[]>;

  /** The newest finished instance of that id. */
  findFinished(id: string): Promise<FinishedRow | undefined>;
  /** Unfinished and finished ones together, newest first: by the time they were created, then by key. */
  listInstances(filter: InstanceFilter): Promise<InstanceSummary[]>;
  /** Finished instances of that status that ended before the given time, in the order they were created; for retention. */
  finishedBefore(filter: {
    status: EndStatus;
    endedBefore: number;
    limit: number;
  }): Promise<{ key: number; id: string }[]>;

  /** Messages to these shards that were not read yet, ordered by target, source and number. */
  loadOutbox(targets: readonly number[]): Promise<OutboxRow[]>;
  /** How far this shard has taken in what each other shard sent it. */
  loadOffsets(shard: number): Promise<OffsetRow[]>;
  /** The number of the last message that this shard ever sent, for each target it sent one to. */
  loadSent(source: number): Promise<{ target: number; number: number }[]>;

  /** What came of the request with that key in this shard; undefined if it never came, or is forgotten. */
  findRequest(shard: number, key: string): Promise<RequestRow | undefined>;

  /** Puts a message into a mailbox, outside of any commit: for members that do not hear each other. */
  post(mail: { readonly box: string; readonly body: string; readonly at: number }): Promise<void>;
  /** What lies in these boxes, in the order it was put there. */
  readMailbox(boxes: readonly string[], limit: number): Promise<MailboxRow[]>;
  deleteFromMailbox(ids: readonly number[]): Promise<void>;
  /** Of any box: what nobody fetched since. */
  deleteMailboxRowsBefore(at: number): Promise<void>;

  loadDomains(): Promise<DomainRow[]>;
  /** Outside of any commit; those that are there stay as they are. */
  declareDomains(domains: readonly DomainRow[]): Promise<void>;

  /** Outside of any commit; kept as they are if present. */
  saveDefinitions(definitions: readonly DefinitionRow[]): Promise<void>;
  loadDefinition(name: string, version: string): Promise<DefinitionRow | undefined>;
  /** The one saved last under that name. */
  latestDefinition(name: string): Promise<DefinitionRow | undefined>;
  /** Every version of a workflow that was ever saved, newest first; `before` pages, by the number of the save. */
  listDefinitions(name: string, page: { limit: number; before?: number }): Promise<SavedDefinition[]>;

  loadJobs(): Promise<JobRow[]>;
  /** Inserts or replaces by id. */
  saveJobs(jobs: readonly JobRow[]): Promise<void>;
  deleteJobs(ids: readonly string[]): Promise<void>;

  /** Small things that are not instances, by kind and name: catalogue entries, tokens, settings. Outside of any commit. */
  findDocument(kind: string, name: string): Promise<DocumentRow | undefined>;
  /** By name, as its code points compare; `after` pages. */
  listDocuments(kind: string, page: { after?: string; limit: number }): Promise<DocumentRow[]>;
  /**
   * Written only if its revision is one above the one that is there (1 if there is none). False if somebody was faster.
   * The same revision with the same body again, after an answer that was lost, is true: those of whom only one may win
   * put something of their own into the body.
   */
  saveDocument(document: DocumentRow): Promise<boolean>;
  /** False if it is not there in that revision. */
  deleteDocument(kind: string, name: string, revision: number): Promise<boolean>;

  /**
   * At the end of their topics, all or none. Numbers go up, and are never given twice. Once one can be seen, none below
   * it is still to come: who reads on after a number misses nothing. Lines that are sent again after an answer that was
   * lost may be there twice.
   */
  appendLines(lines: readonly { topic: string; at: number; body: string }[]): Promise<void>;
  /** Of one topic, in order. */
  readLines(topic: string, page: LinePage): Promise<LineRow[]>;
  /** Of all topics that begin so: those from before that time. A little at a time, so it may stop half way. */
  deleteLines(topicPrefix: string, before: number): Promise<void>;
  /** Of that topic alone, all of them. A little at a time, so it may stop half way. */
  deleteTopic(topic: string): Promise<void>;
}

export interface ShardClaim {
  readonly epoch: number;
  /** Number of the last batch that landed. */
  readonly batch: number;
  /** The highest instance key ever given out in this shard; 0 for none. */
  readonly lastKey: number;
  /**
   * The previous owner released it in good order: every start of an attempt is on record, and nothing else runs. True
   * for a new shard.
   */
  readonly clean: boolean;
  /** Empty for a new shard. */
  readonly previousOwner: string;
}

/** What several shards of one owner write together. */
export interface Batch {
  /** One for each shard that the changes are of. */
  readonly fences: readonly Fence[];
  readonly changes: Changes;
}

export interface Fence {
  readonly shard: number;
  readonly epoch: number;
  readonly number: number;
  readonly lastKey: number;
  /** This is the owner's last word: it gives the shard up, and anybody may claim it. */
  readonly clean: boolean;
}

/** `STORE_FENCED`: these shards have another owner; nothing of the batch was written, unless it had landed before. */
export class Fenced extends EngineError {
  readonly shards: readonly number[];

  constructor(shards: readonly number[], message: string) {
    super("STORE_FENCED", message);
    this.shards = shards;
  }
}

export interface ClusterView {
  /** By id. */
  readonly members: readonly MemberRow[];
  /** Those that were ever claimed, by number. */
  readonly shards: readonly ShardRow[];
}

export interface MemberRow {
  readonly id: string;
  readonly address: string;
  /** What it last said about itself with a sign of life, up to 1,000 characters; empty before. */
  readonly about: string;
  readonly beat: number;
}

export interface ShardRow {
  readonly shard: number;
  readonly epoch: number;
  readonly owner: string;
  /** Its owner has given it up. */
  readonly released: boolean;
}

/** Row changes by table. Applied in the order of the fields here. At most one change per key and table. */
export interface Changes {
  /** Everything about these instances, in every table. */
  purged: number[];
  /** Histories that begin anew. */
  trims: TrimRow[];
  /** Kept as they are if present: a version never changes. */
  definitions: DefinitionRow[];
  /** Insert or replace. */
  instances: InstanceRow[];
  /** Take out of the unfinished ones. */
  instancesEnded: number[];
  finished: FinishedRow[];
  /** Take out of the finished ones: they go on. */
  finishedReopened: number[];
  history: HistoryRow[];
  /** Insert or replace by instance, task and attempt. */
  tasks: TaskRow[];
  payloads: PayloadRow[];
  outbox: OutboxRow[];
  /** Insert or replace by shard and source; messages to the shard from that source up to the number go. */
  offsets: OffsetRow[];
  /** Insert or replace by name. */
  domains: DomainRow[];
  /** Written once: one that is there already is `STORE_DATA`. */
  requests: RequestRow[];
  /** Requests of the shard from before that time are forgotten. */
  requestsForgotten: { shard: number; before: number }[];
}

export interface InstanceRow {
  readonly key: number;
  readonly id: string;
  readonly workflow: string;
  readonly version: string;
  readonly status: InstanceStatus;
  readonly generation: number;
  /** Next time it must be woken, epoch ms. */
  readonly wake: number | null;
  /** It has tasks with the dispatcher, or children: it must be in memory. */
  readonly active: boolean;
  /** What waits in it, of one that need not be in memory: whoever opens its shard counts it without its history. */
  readonly waiting: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Why it was taken out of service; it then waits for a user. */
  readonly quarantined: string | null;
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
}

export interface HistoryRow {
  readonly instance: number;
  readonly turn: number;
  /** The number of this turn's first event within the instance, from 0. */
  readonly firstEvent: number;
  readonly at: number;
  /** JSON text: the turn's events. */
  readonly events: string;
}

/** One attempt of one task. */
export interface TaskRow {
  readonly instance: number;
  readonly task: number;
  readonly attempt: number;
  readonly name: string;
  /** 1 job, 2 decision, 3 nested workflow. */
  readonly type: number;
  readonly status: TaskStatus;
  readonly worker: string | null;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  /** Retries made before this attempt. */
  readonly retryCount: number;
  /** JSON text of the failure. */
  readonly error: string | null;
}

/** Of the instance go: its history before that turn, all its tasks, and payloads with a reference below that one. */
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

export interface OffsetRow {
  readonly shard: number;
  readonly source: number;
  readonly number: number;
}

/** A request that carries a key was dealt with: the same key again is answered without doing it again. */
export interface RequestRow {
  readonly shard: number;
  readonly key: string;
  readonly at: number;
  /** JSON text: why it was refused; null if it was carried out. */
  readonly refusal: string | null;
}

export interface MailboxRow {
  readonly id: number;
  readonly box: string;
  readonly body: string;
}

/** A limit that all members share. */
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

/** The number counts the saves of all workflows, whatever the clock said. */
export interface SavedDefinition extends DefinitionRow {
  readonly number: number;
}

export interface JobRow {
  readonly id: string;
  readonly name: string;
  readonly signature: string;
  /** JSON text: the parameters' types. */
  readonly parameters: string;
  /** Module and export, as far as known. */
  readonly codePath: string | null;
  readonly sourceHash: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly missing: boolean;
}

/** The kind of a workflow of the catalogue, which is under the name of its definitions. */
export const workflowDocument = "workflow";

/** The kind of an API token. */
export const tokenDocument = "token";

/** The kinds that move along to another store. The others are of passing use: locks, keys of requests, marks of alerts. */
export const movingDocuments: readonly string[] = [workflowDocument, tokenDocument];

/** A small thing that is changed as a whole, by whoever knows its last revision. */
export interface DocumentRow {
  readonly kind: string;
  readonly name: string;
  /** From 1. */
  readonly revision: number;
  readonly at: number;
  readonly body: string;
}

/** What was said under a topic, and is never changed. */
/** Which lines of a topic. */
export interface LinePage {
  /** Those with a higher number. */
  readonly after?: number;
  /** Those with a lower number. */
  readonly before?: number;
  /** The last of them instead of the first. */
  readonly last?: boolean;
  readonly limit: number;
}

export interface LineRow {
  readonly number: number;
  readonly topic: string;
  readonly at: number;
  readonly body: string;
}

export interface InstanceFilter {
  readonly status?: readonly InstanceStatus[];
  readonly workflow?: string;
  readonly idPrefix?: string;
  readonly createdFrom?: number;
  readonly createdTo?: number;
  /** Page on: only what comes after this one, which is the last of the page before. */
  readonly before?: { readonly createdAt: number; readonly key: number };
  readonly limit: number;
}

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
    tasks: [],
    payloads: [],
    outbox: [],
    offsets: [],
    domains: [],
    requests: [],
    requestsForgotten: [],
  };
}
