import type { ErrorCode } from "../../src/base/error.ts";
import type { LogFields } from "../../src/base/logger.ts";
import type { ClusterTimings } from "../../src/cluster/timings.ts";
import type { Event } from "../../src/kernel/event.ts";
import type { DagSpec } from "../../src/kernel/dag/dag-spec.ts";
import type { CodeSpec } from "../../src/runtime/definitions.ts";
import type {
  Batch,
  HistoryRow,
  InstanceSummary,
  MailboxRow,
  OutboxRow,
  ShardClaim,
  TaskRow,
} from "../../src/stores/store.ts";
import type { AttemptName } from "../recovery/side-effects.ts";
import type { AnyScenario } from "./workload.ts";

/**
 * What is known after a run, and all that checkers may look at: what clients were told, what jobs did, what the store
 * took, when processes came and went. Nothing of it is the engine's own opinion, but for the answers it gave.
 */
export interface Evidence {
  readonly setting: Setting;
  readonly scenarios: readonly AnyScenario[];
  readonly calls: readonly ClientCall[];
  readonly runs: readonly JobRun[];
  readonly lives: readonly LifeRecord[];
  readonly clockSettings: readonly ClockSetting[];
  /** When a member could not reach the store as usual. */
  readonly storeOutages: readonly StoreOutage[];
  readonly commits: readonly CommitRecord[];
  readonly claims: readonly ClaimRecord[];
  readonly memberships: readonly MembershipRecord[];
  readonly renewalRequests: readonly RenewalRequest[];
  readonly logLines: readonly LogLine[];
  /** What went wrong in the run itself: errors that nobody caught, phases that did not end. */
  readonly problems: readonly string[];
  readonly finalState: FinalState;
}

/** How the run was set up. */
export interface Setting {
  readonly isCluster: boolean;
  readonly timings: ClusterTimings;
  /** Of each member's own process. */
  readonly poolSize: number;
  /** Of each worker. */
  readonly workerSlots: number;
  readonly domains: Readonly<Record<string, number>>;
  readonly maxInterruptions: number;
  /** Of an instance of code; 0 for no limit. */
  readonly maxConcurrentActivities: number;
  /** Processes begin without the code of some workflows, and get it later. */
  readonly lacksCode?: boolean;
  /** The store fails and is slow now and then, throughout the run. */
  readonly isStoreRough?: boolean;
  /** The faults end here. */
  readonly calmAt: number;
}

/** Virtual time, and a number that tells before and after where times are equal. */
export interface Moment {
  readonly at: number;
  readonly order: number;
}

/** One process: from its start to its crash or stop. */
export interface LifeRecord {
  /** From 1. */
  readonly number: number;
  readonly machine: string;
  /** A member runs an engine; a worker runs jobs for members, and has nothing but a connection to one of them. */
  readonly role: "member" | "worker";
  /** Of its monotonic clock. */
  readonly rate: number;
  readonly born: Moment;
  up: Moment | undefined;
  /** Asked to stop in good order. */
  stopping: Moment | undefined;
  end: (Moment & { readonly how: "crashed" | "stopped" | "gave up" }) | undefined;
  readonly freezes: { readonly from: Moment; to: Moment | undefined; readonly kind: "stopped" | "suspended" }[];
  /** Renewals of its lease that succeeded: when they were sent, and when it knew. */
  readonly renewals: { readonly member: string; readonly sentAt: number; readonly knownAt: number }[];
  /** Of a worker: what members answered to its signs of life. */
  readonly workerRenewals: WorkerRenewal[];
}

/** A member's answer to a worker's sign of life: it counts from when that was sent, for whatever the worker runs. */
export interface WorkerRenewal {
  /** The life of the member. */
  readonly member: number;
  readonly sentAt: number;
  readonly knownAt: number;
  /** By attempt id, where it counts for less: by so many milliseconds of the worker's clock; Infinity if not at all. */
  readonly withheld: ReadonlyMap<string, number>;
}

/** From now on the machine's wall clock is ahead of the true time by so much. */
export interface ClockSetting extends Moment {
  readonly machine: string;
  readonly wallOffsetMs: number;
}

/** The way from the machine to the store was cut, slow or failing. */
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
  /** Of code workflows: an event for an instance, which is started if it is not there. */
  | "signal"
  | "raise"
  | "query"
  | "update"
  | "cancel"
  | "fork"
  /** Of a schedule, whose instance it is about; what exactly is in `given`. */
  | "schedule";

/** One call of a client to one life's engine, and what came back. */
export interface ClientCall {
  readonly number: number;
  readonly operation: Operation;
  /** Of a start under an id that the engine makes: known when it is answered. */
  instanceId: string | undefined;
  readonly life: number;
  /** Something that only this call brings along, and that is found again wherever its effect is. */
  readonly marker: string | undefined;
  readonly given: Readonly<Record<string, unknown>>;
  readonly invoked: Moment;
  answered: Moment | undefined;
  /** `unknown`: it may have been carried out, once. `refused`: it was not. */
  outcome: "pending" | "ok" | "refused" | "unknown";
  code: ErrorCode | undefined;
  value: unknown;
}

/** One call of a job, on one life. */
export interface JobRun {
  readonly attemptId: string;
  readonly name: AttemptName;
  readonly taskName: string;
  readonly workflow: string;
  readonly job: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly life: number;
  readonly start: Moment;
  /** It got the signal. */
  abort: Moment | undefined;
  end: (Moment & { readonly how: "done" | "failed" | "aborted" }) | undefined;
  /** On a worker: a member has said that its result need not be kept. */
  acknowledged: Moment | undefined;
}

/** A batch that the store took, at the moment it did; one that had landed before may stand here again. */
export interface CommitRecord extends Moment {
  readonly life: number;
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

/** A member sends the owner of a shard the question whether attempts that it holds are wanted. */
export interface RenewalRequest {
  readonly life: number;
  readonly at: number;
  readonly attemptIds: readonly string[];
}

export interface LogLine extends Moment {
  readonly life: number;
  readonly level: "debug" | "info" | "warn" | "error";
  readonly fields: LogFields;
  readonly message: string;
}

/** What the store holds when all is over. */
export interface FinalState {
  readonly instances: readonly FinalInstance[];
  /** By `definitionKey`. */
  readonly definitions: ReadonlyMap<string, DagSpec | CodeSpec>;
  /** Messages and mail that nobody had read a good while after the work was done, and all members still there. */
  readonly leftovers: readonly (OutboxRow | MailboxRow)[];
  /** Workers that had something to run or to report when there was nothing to be done any more. */
  readonly busyWorkers: readonly BusyWorker[];
  /** Keys of no instance that history or task rows have. */
  readonly orphanedKeys: readonly number[];
}

export interface BusyWorker {
  readonly machine: string;
  readonly running: number;
  /** Of which no member has said that they are durable. */
  readonly results: number;
}

export interface FinalInstance extends InstanceSummary {
  readonly turns: readonly Turn[];
  readonly tasks: readonly TaskRow[];
}

export interface Turn extends Omit<HistoryRow, "events"> {
  readonly events: readonly Event[];
}

export function definitionKey(workflow: string, version: string): string {
  return `${version} ${workflow}`;
}

/** Whether the first was before the second. */
export function isBefore(first: Moment, second: Moment): boolean {
  return first.order < second.order;
}
