import type { SlotReport } from "../cluster/slot-report.ts";
import type { WorkerConnection } from "../dispatch/worker.ts";
import type { Input } from "./input.ts";
import type { DomainRow, OutboxRow } from "../stores/store.ts";
import type { StartRequest } from "./instance-starter.ts";

/** What may be asked of a shard's owner, by whichever member. All of it can be written as JSON. */
export type Call =
  | StartCall
  /** The order becomes a message to the instance on the owner's side. With `fromQuarantine`, a quarantined one goes into service. */
  | { readonly type: "Tell"; readonly id: string; readonly order: unknown; readonly fromQuarantine?: boolean }
  | { readonly type: "Ask"; readonly id: string; readonly question: unknown }
  /** Answered when the instance has ended, or after a while: "not yet". */
  | { readonly type: "AwaitEnd"; readonly id: string; readonly question: unknown }
  /** Answered when the instance's code has answered the update, or after a while: "not yet". */
  | { readonly type: "AwaitAnswer"; readonly id: string; readonly update: string }
  | { readonly type: "Purge"; readonly instances: readonly { key: number; id: string }[] }
  | ReportCall
  | RenewCall
  | { readonly type: "ReportSlots"; readonly report: SlotReport }
  | { readonly type: "ResizeDomain"; readonly domain: DomainRow };

/** What users ask for and what changes something. The rest are questions, and what members tell each other about attempts. */
const orders: readonly Call["type"][] = ["Start", "Tell", "Purge", "ResizeDomain"];

export function isOrder(type: Call["type"]): boolean {
  return orders.includes(type);
}

export interface StartCall extends Pick<StartRequest, "id" | "isGivenId" | "reuse" | "input" | "event"> {
  readonly type: "Start";
  readonly workflow: string;
  readonly version: string;
}

/** These attempts run on; the answer names those that are not wanted. */
export interface RenewCall {
  readonly type: "Renew";
  readonly host: string;
  readonly attemptIds: readonly string[];
  /** By attempt id, of those on remote workers. */
  readonly connections: Readonly<Record<string, WorkerConnection>>;
}

/** An attempt that another member holds has ended. */
export interface ReportCall {
  readonly type: "Report";
  readonly host: string;
  readonly attemptId: string;
  readonly id: string;
  readonly input: Input;
}

/** What members tell each other to save time. Whoever misses one finds out by itself. */
export type Hint =
  | { readonly type: "OutboxMessage"; readonly row: OutboxRow }
  | { readonly type: "AbortAttempts"; readonly attemptIds: readonly string[] }
  | { readonly type: "MemberLeaving"; readonly member: string }
  | { readonly type: "ShardFreed"; readonly shard: number }
  | { readonly type: "ShardOpened"; readonly shard: number; readonly epoch: number; readonly owner: string };
