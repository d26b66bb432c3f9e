import type { Failure } from "../kernel/failure.ts";
import { parseStored } from "../base/stored-json.ts";
import type { ParentAddress } from "../kernel/address.ts";
import type { ChildOrder } from "../kernel/command.ts";
import type { ContextPatch } from "../kernel/event.ts";
import type { Payload } from "../kernel/payload.ts";
import type { MaxInstances } from "../kernel/dag/dag-spec.ts";
import type { Refusal } from "../kernel/input.ts";
import type { EndStatus } from "../kernel/status.ts";
import { numberBefore } from "../stores/message-number.ts";
import type { Changes, OutboxRow } from "../stores/store.ts";
import type { CommitPart } from "./committer.ts";
import type { FencingToken } from "./fencing-token.ts";

/**
 * A message from one instance to another. Payload references are resolved under `from` when the message is delivered: a
 * reference means nothing outside its instance.
 */
export type OutboxMessage =
  | StartChildMessage
  | TellChildMessage
  | TellParentMessage
  | CancelOther
  | RaiseEvent
  | EnterGate
  | LeaveGate
  | GateAnswer
  | Tombstone;

export interface StartChildMessage {
  readonly kind: "start-child";
  readonly from: number;
  readonly to: string;
  readonly workflow: string;
  readonly version: string;
  /** The context of a child of a DAG. */
  readonly context?: Readonly<Record<string, Payload>>;
  /** The input of a child of code, if it gives one. */
  readonly input?: Payload;
  /** Absent for an instance without a parent. */
  readonly parent?: ParentAddress;
  /** `nested` if absent. */
  readonly trigger?: "schedule";
  readonly traceparent?: string;
  /** Children belong to the application of their parent. */
  readonly app?: string;
  /** The id was chosen by code, so that an instance that has it may be another's. */
  readonly isGivenId?: true;
}

/** An order to a child of the sender. An instance that has the child's id and another parent does not get it. */
export interface TellChildMessage {
  readonly kind: "tell-child";
  readonly from: number;
  readonly to: string;
  readonly order: ChildOrder;
}

export interface TellParentMessage {
  readonly kind: "tell-parent";
  readonly from: number;
  readonly to: string;
  readonly task: number;
  readonly attempt: number;
  readonly generation: number;
  readonly status: EndStatus;
  /** The child could not be started, or is gone. */
  readonly isMissing?: true;
  readonly reason?: string;
  /** The outputs of a DAG, by task name. */
  readonly outputs?: Readonly<Record<string, Payload>>;
  /** The output of a code workflow. */
  readonly output?: Payload;
  /** The failure with which code ended, shortened. */
  readonly failure?: Failure;
  readonly patch?: ContextPatch;
}

/** A request to end, from the code of another instance, which need not be its parent. */
export interface CancelOther {
  readonly kind: "cancel-other";
  readonly from: number;
  readonly to: string;
  readonly reason: string;
}

/** An event that the code of another instance raises. */
export interface RaiseEvent {
  readonly kind: "raise-event";
  readonly from: number;
  readonly to: string;
  readonly name: string;
  readonly data?: string;
}

/** An instance of a workflow with a maximum asks for a place, or, reopened by a user, takes one. */
export interface EnterGate {
  readonly kind: "enter-gate";
  readonly from: number;
  readonly to: string;
  readonly workflow: string;
  readonly instanceId: string;
  readonly limit: MaxInstances;
  readonly isReopened: boolean;
}

export interface LeaveGate {
  readonly kind: "leave-gate";
  readonly from: number;
  readonly to: string;
  readonly workflow: string;
  readonly instanceId: string;
}

/** The gate's answer: it may start, or has to end. */
export interface GateAnswer {
  readonly kind: "admit";
  readonly from: number;
  readonly to: string;
  readonly refusal?: Refusal;
}

/** Keeps the numbers without a gap where the message itself was never written. */
export interface Tombstone {
  readonly kind: "tombstone";
  readonly from: number;
  readonly to: string;
}

/** Takes up the number of a message that will never be written. */
function tombstoneOf(row: OutboxRow): OutboxRow {
  const { from, to } = parseStored(row.body, `message ${row.number} of shard ${row.source}`) as OutboxMessage;
  const message: Tombstone = { kind: "tombstone", from, to };
  return { ...row, body: JSON.stringify(message) };
}

/**
 * Tombstones replace the messages of a turn that the store rejects: without their numbers, later messages could not be
 * delivered. They are not posted: a receiver that misses the number reads it from the store.
 */
export class Tombstones implements CommitPart {
  readonly token: FencingToken;
  readonly #rows: readonly OutboxRow[];

  constructor(token: FencingToken, rows: readonly OutboxRow[]) {
    this.token = token;
    this.#rows = rows;
  }

  addTo(changes: Changes): void {
    for (const row of this.#rows) changes.outbox.push(tombstoneOf(row));
  }
}

/**
 * Outgoing messages of a shard. They are numbered without gaps per target shard, written in the commit of the turn that
 * caused them, and posted after it. The commit in which the receiver consumes them deletes them from the store.
 */
export class Outbox {
  readonly #shard: number;
  readonly #shardOf: (instanceId: string) => number;
  readonly #lastNumber = new Map<number, number>();
  readonly #numberBefore: number;

  constructor({ shard, incarnation }: { shard: number; incarnation: number }, shardOf: (instanceId: string) => number) {
    this.#shard = shard;
    this.#numberBefore = numberBefore(incarnation);
    this.#shardOf = shardOf;
  }

  /** Continues the numbers of messages that earlier owners have sent to each target. */
  restore(sent: readonly { target: number; number: number }[]): void {
    for (const { target, number } of sent) this.#lastNumber.set(target, number);
  }

  /** Gives the message the next number of the receiver's shard. */
  number(message: OutboxMessage): OutboxRow {
    const target = this.#shardOf(message.to);
    const number = (this.#lastNumber.get(target) ?? this.#numberBefore) + 1;
    this.#lastNumber.set(target, number);
    return { source: this.#shard, target, number, body: JSON.stringify(message) };
  }
}
