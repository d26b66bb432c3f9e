/** What happens among the members, as one of them sees it: plain data, for logs and for people. */
export type MemberEvent =
  | JoinedOrLeft
  | MemberSuspected
  /** A suspected one gave a sign of life after all. */
  | { readonly type: "returned"; readonly member: string; readonly address: string }
  | OwnLease
  | ShardChange;

/**
 * `lost`: it was silent for too long, and its shards are taken over. `left`: it went by itself; where the member that
 * tells this has not seen enough to be sure of that, it says `lost`. It is itself among those that joined.
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
  /** For how long it has given no sign of life. */
  readonly silentMs: number;
}

/**
 * Of the member that tells this. `lapsed`: it heard nothing from the store for so long that others may take over from
 * it; it stands still. `regained`: they did not, it goes on. `gone`: they did; it joins again under another id.
 */
interface OwnLease {
  readonly type: "lapsed" | "regained" | "gone";
  readonly member: string;
  readonly address: string;
}

/** Of the member that tells this. `shard-lost`: another one has claimed it. */
interface ShardChange {
  readonly type: "shard-opened" | "shard-released" | "shard-lost";
  readonly member: string;
  readonly shard: number;
}
