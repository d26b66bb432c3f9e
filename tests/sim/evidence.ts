import type { ErrorCode } from "../../src/base/error.ts";
import type { LogFields } from "../../src/base/logger.ts";
import type { ClusterTimings } from "../../src/cluster/timings.ts";
import type { Event } from "../../src/kernel/event.ts";
import type { DagSpec } from "../../src/kernel/dag/dag-spec.ts";
import type { InstanceStatus } from "../../src/kernel/status.ts";
import type { CodeSpec } from "../../src/runtime/definitions.ts";
import type { Batch, HistoryRow, InstanceSummary, MailboxRow, OutboxRow, ShardClaim } from "../../src/stores/store.ts";
import type { AttemptName } from "../recovery/side-effects.ts";
import type { AnyScenario } from "./workload.ts";

/**
 * The evidence of a run, and all that checkers may read: answers to clients, runs of jobs, commits of the store, starts
 * and ends of processes. None of it is the engine's own view, except the answers it gave.
 */
export interface Evidence {
  readonly setting: Setting;
  readonly scenarios: readonly AnyScenario[];
  readonly calls: readonly ClientCall[];
  readonly runs: readonly JobRun[];
  readonly lives: readonly LifeRecord[];
  readonly clockSettings: readonly ClockSetting[];
  /** Periods in which a member could not use the store normally. */
  readonly storeOutages: readonly StoreOutage[];
  /** Restores of a backup of the store: at most one. */
  readonly restores: readonly RestoreRecord[];
  readonly commits: readonly CommitRecord[];
  readonly claims: readonly ClaimRecord[];
  readonly memberships: readonly MembershipRecord[];
  readonly renewalRequests: readonly RenewalRequest[];
  readonly logLines: readonly LogLine[];
  readonly watches: readonly Watch[];
  /** Problems of the run itself: unhandled errors, phases that did not end. */
  readonly problems: readonly string[];
  readonly finalState: FinalState;
}

/** The configuration of the run. */
export interface Setting {
  readonly isCluster: boolean;
  readonly timings: ClusterTimings;
  /** The pool size of each member's own process. */
  readonly poolSize: number;
  /** The slots of each worker. */
  readonly workerSlots: number;
  readonly domains: Readonly<Record<string, number>>;
  readonly maxInterruptions: number;
  /** A member that is stopped waits this long for jobs to settle, and again for the reports of ends to be delivered. */
  readonly stopGraceMs: number;
  /** The limit of each code instance; 0 for none. */
  readonly maxConcurrentActivities: number;
  /** Processes start without the code of some workflows, and get it later. */
  readonly lacksCode?: boolean;
  /** The store fails and is slow occasionally, throughout the run. */
  readonly isStoreRough?: boolean;
  /** The end of all faults. */
  readonly calmAt: number;
}

/** Virtual time, and a sequence number that orders events of equal time. */
export interface Moment {
  readonly at: number;
  readonly order: number;
}

/** One process, from its start to its crash or stop. */
export interface LifeRecord {
  /** Counts from 1. */
  readonly number: number;
  readonly machine: string;
  /** A member runs an engine; a worker runs jobs for members, and has only a connection to one of them. */
  readonly role: "member" | "worker";
  /** The rate of its monotonic clock. */
  readonly rate: number;
  readonly born: Moment;
  up: Moment | undefined;
  /** When it was asked to stop. */
  stopping: Moment | undefined;
  end: (Moment & { readonly how: "crashed" | "stopped" | "gave up" }) | undefined;
  readonly freezes: Freeze[];
  /** Successful renewals of its lease. */
  readonly renewals: LeaseRenewal[];
  /** A worker's renewals: the members' answers to its heartbeats. */
  readonly workerRenewals: WorkerRenewal[];
}

/** A time in which the event loop of a process ran nothing. While it is only `stalled`, the process's other thread runs. */
export interface Freeze {
  readonly from: Moment;
  to: Moment | undefined;
  readonly kind: FreezeKind;
  /** When the whole process was stopped in the middle of a stall. */
  stop?: { readonly from: number; to: number } | undefined;
}

export type FreezeKind = "stopped" | "suspended" | "stalled";

/** A renewal of a member's lease: when it was sent, and when the process knew. */
export interface LeaseRenewal {
  readonly member: string;
  readonly sentAt: number;
  readonly knownAt: number;
  /** Sent by the thread that renews while the event loop is blocked. */
  readonly isByThread?: true;
}

/**
 * A member's answer to a worker's heartbeat: renews the leases of the worker's attempts from when the heartbeat was
 * sent.
 */
export interface WorkerRenewal {
  /** The number of the member's process. */
  readonly member: number;
  readonly sentAt: number;
  readonly knownAt: number;
  /** By attempt id, how much earlier the lease counts from, in ms of the worker's clock; Infinity if it is not renewed. */
  readonly withheld: ReadonlyMap<string, number>;
}

/** The store was taken back to a backup. */
export interface RestoreRecord {
  readonly backedUp: Moment;
  readonly restored: Moment;
  /** When it was made known as restored. */
  known: Moment | undefined;
}

/** Sets how far the machine's wall clock is ahead of true time. */
export interface ClockSetting extends Moment {
  readonly machine: string;
  readonly wallOffsetMs: number;
}

/** A period in which the machine's connection to the store was cut, slow or failing. */
export interface StoreOutage {
  readonly machine: string;
  readonly from: number;
  to: number;
}

export type Operation =
  | "submit"
  | "status"
  | "breakpoint"
  | "history"
  | "list"
  /** Asks for what runs or waits on all members. */
  | "queue"
  | "await"
  | "pause"
  | "resume"
  | "terminate"
  | "retry"
  | "rerun"
  | "mend"
  | "skip"
  | "patch"
  | "params"
  | "add"
  | "purge"
  | "resize"
  /** An event for a code instance, which is started if it does not exist. */
  | "signal"
  | "raise"
  | "query"
  | "update"
  | "cancel"
  | "fork"
  /** An operation on a schedule; `given` says which. */
  | "schedule";

/** One call of a client to the engine of one process, and its answer. */
export interface ClientCall {
  readonly number: number;
  readonly operation: Operation;
  /** If the engine generates the id: known when the call is answered. */
  instanceId: string | undefined;
  readonly life: number;
  /** The namespace in which it acts. */
  readonly namespace: string;
  /** A unique value of this call, which can be found in its effects. */
  readonly marker: string | undefined;
  readonly given: Readonly<Record<string, unknown>>;
  readonly invoked: Moment;
  answered: Moment | undefined;
  /** `unknown`: it may have been carried out, once. `refused`: it was not. */
  outcome: "pending" | "ok" | "refused" | "unknown";
  code: ErrorCode | undefined;
  value: unknown;
}

/** One run of a job in one process. */
export interface JobRun {
  readonly attemptId: string;
  readonly name: AttemptName;
  readonly taskName: string;
  readonly workflow: string;
  readonly job: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly life: number;
  readonly start: Moment;
  /** The details of a heartbeat of an earlier run that it found. */
  readonly found: unknown;
  readonly heartbeats: SentHeartbeat[];
  /** When its signal was aborted. */
  abort: Moment | undefined;
  end: (Moment & { readonly how: "done" | "failed" | "aborted" }) | undefined;
  /** When a member acknowledged the result to the worker. */
  acknowledged: Moment | undefined;
}

export interface SentHeartbeat extends Moment {
  readonly details: unknown;
}

/** A batch and the moment at which the store applied it; a batch that was sent again may be recorded twice. */
export interface CommitRecord extends Moment {
  readonly life: number;
  /** When the process sent it; it may have been on its way for long. */
  readonly sent: Moment;
  readonly batch: Batch;
}

export interface ClaimRecord extends Moment {
  readonly life: number;
  readonly shard: number;
  readonly owner: string;
  readonly claim: ShardClaim;
}

export interface MembershipRecord extends Moment {
  readonly life: number;
  readonly what: "joined" | "left" | "removed";
  readonly member: string;
}

/** A member's request to a shard's owner to renew the leases of attempts that it hosts. */
export interface RenewalRequest {
  readonly life: number;
  readonly at: number;
  readonly attemptIds: readonly string[];
}

/** One subscription in one process. Ids are qualified. */
export interface Watch {
  readonly number: number;
  readonly life: number;
  readonly namespace: string;
  /** Undefined if all instances of the namespace are watched. */
  readonly instanceId: string | undefined;
  readonly began: Moment;
  /** When the engine said that every member sends its changes. */
  ready: Moment | undefined;
  /** When its process ended or it unsubscribed. */
  ended: Moment | undefined;
  /** Set if it lasted until nothing happened any more, and had the time to hear everything. */
  lastedUntil: Moment | undefined;
  readonly heard: HeardChange[];
}

/** A turn as a subscriber heard it. */
export interface HeardChange extends Moment {
  readonly instanceId: string;
  /** Epoch ms. */
  readonly createdAt: number;
  readonly turn: number;
  readonly firstEvent: number;
  /** The types of its events. */
  readonly types: readonly string[];
  /** The status of the instance after the turn. */
  readonly status: InstanceStatus;
}

export interface LogLine extends Moment {
  readonly life: number;
  readonly level: "debug" | "info" | "warn" | "error";
  readonly fields: LogFields;
  readonly message: string;
}

/** The contents of the store at the end of the run. */
export interface FinalState {
  readonly instances: readonly FinalInstance[];
  /** Keyed by `definitionKey`. */
  readonly definitions: ReadonlyMap<string, DagSpec | CodeSpec>;
  /** Messages that no member had read long after the work was done, while all members were up. */
  readonly leftovers: readonly (OutboxRow | MailboxRow)[];
  /** Workers that still had attempts or results when no work was left. */
  readonly busyWorkers: readonly BusyWorker[];
  /** Keys in history without an instance. */
  readonly orphanedKeys: readonly number[];
}

export interface BusyWorker {
  readonly machine: string;
  readonly running: number;
  /** Results that no member has acknowledged. */
  readonly results: number;
}

export interface FinalInstance extends InstanceSummary {
  readonly turns: readonly Turn[];
  /** References in its history to payloads that the store does not have. */
  readonly missingPayloads: readonly number[];
}

export interface Turn extends Omit<HistoryRow, "events"> {
  readonly events: readonly Event[];
}

export function definitionKey(workflow: string, version: string): string {
  return `${version} ${workflow}`;
}

/** Whether the first moment is before the second. */
export function isBefore(first: Moment, second: Moment): boolean {
  return first.order < second.order;
}
