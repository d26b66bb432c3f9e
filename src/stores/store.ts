import type { InstanceStatus, EndStatus, TaskStatus } from "../kernel/status.ts";

/**
 * What Heddle asks of a database. Every adapter passes `tests/contract/`, which is where the words below are exact.
 *
 * Errors are of three kinds, and an adapter sorts its driver's errors into them:
 * - `STORE_UNAVAILABLE`: transient or unknown. The caller sends the same call again, unchanged. A commit that had landed
 *   although its answer was lost is recognised by its number and answered with success.
 * - `STORE_FENCED`: somebody else owns the shard now. The caller drops what it knows of the shard.
 * - `STORE_DATA`: the database will never take this batch, whoever sends it. The caller finds the one instance to blame.
 * `open` may also give `STORE_LOCKED`, `STORE_READ_ONLY`, `STORE_FULL`, `STORE_CORRUPT` and `STORE_NEWER`.
 */
export interface Store {
  /** Takes ownership where the store is embedded, and brings the schema up to date. */
  open(): Promise<void>;
  close(): Promise<void>;

  /** Makes the caller the shard's only writer: raises its epoch, so that commits under an older one are refused. */
  claimShard(shard: number, owner: string): Promise<ShardClaim>;

  /**
   * All of it or nothing. The fence comes first: it holds only if the shard's epoch is the batch's and its number is one
   * below the batch's. Durable when the promise resolves.
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
  /** Unfinished and finished ones together, newest first. */
  listInstances(filter: InstanceFilter): Promise<InstanceSummary[]>;
  /** Ids of finished instances of that status that ended before the given time; for retention. */
  finishedBefore(filter: {
    status: EndStatus;
    endedBefore: number;
    limit: number;
  }): Promise<{ key: number; id: string }[]>;

  loadOutbox(shard: number): Promise<OutboxRow[]>;
  /** How far this shard has taken in what each other shard sent it. */
  loadMarks(shard: number): Promise<MarkRow[]>;

  loadDefinition(name: string, version: string): Promise<DefinitionRow | undefined>;
  /** The one saved last under that name. */
  latestDefinition(name: string): Promise<DefinitionRow | undefined>;

  loadJobs(): Promise<JobRow[]>;
  /** Inserts or replaces by id. */
  saveJobs(jobs: readonly JobRow[]): Promise<void>;
  deleteJobs(ids: readonly string[]): Promise<void>;
}

export interface ShardClaim {
  readonly epoch: number;
  /** Number of the last batch that landed. */
  readonly batch: number;
  /** The highest instance key ever given out in this shard; 0 for none. */
  readonly lastKey: number;
  /** The previous owner stopped in good order: nothing was running when it left. True for a new shard. */
  readonly clean: boolean;
}

export interface Batch {
  readonly shard: number;
  readonly epoch: number;
  readonly number: number;
  readonly lastKey: number;
  /** This is the owner's last word: nothing runs any more. */
  readonly clean: boolean;
  readonly changes: Changes;
}

/** Row changes by table. Applied in the order of the fields here. At most one change per key and table. */
export interface Changes {
  /** Everything about these instances, in every table. */
  purged: number[];
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
  /** Delivered: rows for that target up to and including the number go. */
  outboxAcked: { target: number; number: number }[];
  /** Insert or replace by source. */
  marks: MarkRow[];
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
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Why it was taken out of service; it then waits for a user. */
  readonly parked: string | null;
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

export interface MarkRow {
  readonly shard: number;
  readonly source: number;
  readonly number: number;
}

export interface DefinitionRow {
  readonly name: string;
  readonly version: string;
  readonly spec: string;
  readonly createdAt: number;
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

export interface InstanceFilter {
  readonly status?: readonly InstanceStatus[];
  readonly workflow?: string;
  readonly idPrefix?: string;
  readonly createdFrom?: number;
  readonly createdTo?: number;
  /** Page on: only keys below this one. */
  readonly before?: number;
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
  readonly parked: string | null;
}

export function noChanges(): Changes {
  return {
    purged: [],
    definitions: [],
    instances: [],
    instancesEnded: [],
    finished: [],
    finishedReopened: [],
    history: [],
    tasks: [],
    payloads: [],
    outbox: [],
    outboxAcked: [],
    marks: [],
  };
}
