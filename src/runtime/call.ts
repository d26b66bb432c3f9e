import type { SlotGrant, SlotReport } from "../cluster/slot-report.ts";
import type { TaskProgress } from "../dispatch/task-progress.ts";
import type { WorkerConnection } from "../dispatch/worker.ts";
import type { AddItems } from "../kernel/dag/dag-input.ts";
import type { PausedBy, UpdateAnswered } from "../kernel/event.ts";
import type { CompletionResult } from "../kernel/input.ts";
import type { CompletionTarget } from "./completion-tokens.ts";
import type { Input } from "./input.ts";
import type { NodeSpec } from "../kernel/node-spec.ts";
import type { DomainRow, OutboxRow } from "../stores/store.ts";
import type { ItemFilter } from "../views/item-view.ts";
import type { InstanceView, TaskDetails } from "../views/instance-view.ts";
import type { InstanceBreakpoint, InstanceEnd, InstanceIdentity, InstanceItems } from "./instance-query.ts";
import type { StartRequest } from "./instance-starter.ts";

/**
 * The protocol between members: every call that may be made to the owner of a shard, with its arguments and its result.
 * All of it can be written as JSON: tasks are given by name, values as JSON text. Calls that become an input of an
 * instance's machine have the name of that input. How each is carried out is in `call-table.ts`.
 */
export interface Calls extends InputCalls, QueryCalls {
  readonly StartInstance: {
    readonly args: Pick<StartRequest, "id" | "isGivenId" | "reuse" | "input" | "event"> & {
      readonly workflow: string;
      readonly version: string;
    };
    readonly result: void;
  };
  /** The result is undefined if the instance has not ended within a while: the caller asks again. */
  readonly AwaitEnd: { readonly args: InstanceId; readonly result: InstanceEnd | undefined };
  /** The result is undefined if the code has not answered the update within a while: the caller asks again. */
  readonly AwaitUpdate: {
    readonly args: InstanceId & { readonly update: string };
    readonly result: UpdateResult | undefined;
  };
  /** The result is how many instances were removed. */
  readonly PurgeInstances: {
    readonly args: { readonly instances: readonly { key: number; id: string }[] };
    readonly result: number;
  };
  /** An attempt that another member hosts has ended. */
  readonly ReportAttempt: {
    readonly args: InstanceId & { readonly host: string; readonly attemptId: string; readonly input: Input };
    readonly result: void;
  };
  /** Renews attempts that still run at their host. The result names those that the owner does not want. */
  readonly RenewAttempts: {
    readonly args: {
      readonly host: string;
      readonly attemptIds: readonly string[];
      /** Connections of attempts on remote workers, by attempt id. */
      readonly connections: Readonly<Record<string, WorkerConnection>>;
      /** The last progress that they reported, by attempt id; absent in a message of an earlier version. */
      readonly progress?: Readonly<Record<string, TaskProgress>>;
      /** The details of the last heartbeats that are new since the last renewal, by attempt id: JSON texts. */
      readonly heartbeats?: Readonly<Record<string, string>>;
    };
    readonly result: readonly string[];
  };
  readonly ReportSlots: { readonly args: { readonly report: SlotReport }; readonly result: SlotGrant };
  readonly ResizeDomain: { readonly args: { readonly domain: DomainRow }; readonly result: void };
}

interface InstanceId {
  readonly id: string;
}

interface TaskName extends InstanceId {
  readonly task: string;
}

/** Calls that become an input of the instance's machine. They return when the turn that took the input is durable. */
interface InputCalls {
  readonly PauseInstance: InputCallOf<InstanceId & PausedBy>;
  /** Resumes an instance, and puts a quarantined one back into service. */
  readonly ResumeInstance: InputCallOf<InstanceId>;
  readonly TerminateInstance: InputCallOf<InstanceId & { readonly reason: string }>;
  readonly CancelInstance: InputCallOf<InstanceId & { readonly reason: string }>;
  readonly RetryInstance: InputCallOf<InstanceId>;
  readonly RerunInstance: InputCallOf<TaskName & { readonly params?: string }>;
  readonly RaiseEvent: InputCallOf<InstanceId & { readonly name: string; readonly data?: string }>;
  readonly RequestUpdate: InputCallOf<
    InstanceId & { readonly update: string; readonly name: string; readonly data?: string }
  >;
  readonly SucceedTask: InputCallOf<TaskName & { readonly output?: string }>;
  readonly SkipTask: InputCallOf<TaskName>;
  readonly StopTask: InputCallOf<InstanceId & { readonly task: string | number; readonly reason: string }>;
  /** The result of an attempt from outside; the token that it came with was checked by the member that sends this. */
  readonly CompleteTask: InputCallOf<CompletionTarget & { readonly result: CompletionResult }>;
  readonly UpdateContext: InputCallOf<InstanceId & { readonly patch: Readonly<Record<string, string | null>> }>;
  readonly UpdateParams: InputCallOf<TaskName & { readonly params: string }>;
  /** Items that a running attempt hands in: JSON text of those of one of its calls, from an index on. */
  readonly AddItems: InputCallOf<InstanceId & Omit<AddItems, "type" | "pages"> & { readonly items: string }>;
  readonly AddSubTask: InputCallOf<InstanceId & { readonly parent: string; readonly node: NodeSpec }>;
}

interface InputCallOf<Args> {
  readonly args: Args;
  readonly result: void;
}

/** Calls that read an instance and change nothing. */
interface QueryCalls {
  readonly GetStatus: { readonly args: InstanceId; readonly result: InstanceView };
  readonly GetBreakpoint: { readonly args: InstanceId; readonly result: InstanceBreakpoint };
  readonly GetIdentity: { readonly args: InstanceId; readonly result: InstanceIdentity };
  /** The outputs so far, and how the instance ended if it has. */
  readonly GetEnd: { readonly args: InstanceId; readonly result: InstanceEnd };
  readonly GetTask: { readonly args: InstanceId & { readonly task: string | number }; readonly result: TaskDetails };
  /** The items of a map; their values and results are read from the store. */
  readonly GetItems: {
    readonly args: InstanceId & ItemFilter & { readonly task: string | number };
    readonly result: InstanceItems;
  };
  /** A query of a code workflow; input and result are JSON text. */
  readonly QueryCode: {
    readonly args: InstanceId & { readonly query: string; readonly input?: string };
    readonly result: string | undefined;
  };
}

/** An update that the code of an instance has answered. */
export interface UpdateResult {
  /** Instance key. */
  readonly key: number;
  readonly answer: UpdateAnswered;
}

export type CallType = keyof Calls;
export type InputCallType = keyof InputCalls;

/** The call of that type; of several types, any of them. */
export type CallOf<T extends CallType> = { [K in T]: { readonly type: K } & Calls[K]["args"] }[T];
export type ResultOf<T extends CallType> = Calls[T]["result"];
export type Call = CallOf<CallType>;
export type InputCall = CallOf<InputCallType>;

/** A call to the owner of one instance. */
export type InstanceCallType = { [T in CallType]: Calls[T]["args"] extends InstanceId ? T : never }[CallType];

/** A notice between members that only saves time: a member that misses one finds out by itself. */
export type Hint =
  | { readonly type: "OutboxMessage"; readonly row: OutboxRow }
  | { readonly type: "AbortAttempts"; readonly attemptIds: readonly string[] }
  | { readonly type: "AttemptProgress"; readonly host: string; readonly reports: readonly AttemptProgress[] }
  /** The owner does not need a slot that was offered to it. */
  | { readonly type: "FreeSlot"; readonly ticket: string }
  /** Answers to these questions about code are not wanted any more. */
  | { readonly type: "CodeTurnsOver"; readonly owner: string; readonly numbers: readonly number[] }
  | { readonly type: "MemberLeaving"; readonly member: string }
  | { readonly type: "ShardFreed"; readonly shard: number }
  /** `more`: other shards that were opened at about the same time. */
  | ({ readonly type: "ShardOpened"; readonly owner: string; readonly more?: readonly OpenedShard[] } & OpenedShard);

/** The progress that the job of a hosted attempt has reported. */
export interface AttemptProgress {
  readonly attemptId: string;
  readonly progress: TaskProgress;
}

/** A shard that a member has opened under an epoch. */
export interface OpenedShard {
  readonly shard: number;
  readonly epoch: number;
}
