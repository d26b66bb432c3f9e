import type { Logger } from "../base/logger.ts";

/** A change in the cluster as one member sees it: plain data, for logs and for people. */
export type MemberEvent =
  | JoinedOrLeft
  | MemberSuspected
  /** A suspected member sent a heartbeat after all. */
  | { readonly type: "returned"; readonly member: string; readonly address: string }
  | OwnLease
  | ShardChange;

/**
 * `lost`: the member was silent for too long, and its shards are taken over. `left`: it left by itself; a member that has
 * not seen enough to be sure of that reports `lost`. A member also reports its own join.
 */
interface JoinedOrLeft {
  readonly type: "joined" | "left" | "lost";
  readonly member: string;
  readonly address: string;
}

interface MemberSuspected {
  readonly type: "suspected";
  readonly member: string;
  readonly address: string;
  /** Time since its last heartbeat. */
  readonly silentMs: number;
}

/**
 * The lease of the member that reports this. `lapsed`: no heartbeat reached the store for so long that others may take
 * over; the member stands still. `regained`: they did not, it continues. `gone`: they did; it joins again under another id.
 */
interface OwnLease {
  readonly type: "lapsed" | "regained" | "gone";
  readonly member: string;
  readonly address: string;
}

/** A shard of the member that reports this. `shard-lost`: another member has claimed it. */
interface ShardChange {
  readonly type: "shard-opened" | "shard-released" | "shard-lost";
  readonly member: string;
  readonly shard: number;
}

/** An event about a member itself, not about one of its shards. */
export type AboutMember = Exclude<MemberEvent, ShardChange>;

export function logMemberEvent(logger: Logger, event: AboutMember): void {
  const { type, ...fields } = event;
  const { level, message } = logLines[type];
  logger[level](fields, message);
}

const logLines = {
  joined: { level: "info", message: "member joined" },
  suspected: { level: "warn", message: "member unreachable" },
  returned: { level: "info", message: "member reachable again" },
  lost: { level: "warn", message: "member lost; its shards are taken over" },
  left: { level: "info", message: "member left" },
  lapsed: {
    level: "warn",
    message:
      "the lease of this member has expired: no heartbeat reached the store in time; it starts and answers nothing",
  },
  regained: { level: "info", message: "heartbeats reach the store again; this member continues" },
  gone: {
    level: "warn",
    message: "the other members removed this member; it drops what it owned and joins again under a new id",
  },
} as const;
