import type { MemberRow } from "../stores/store.ts";

const stampLength = 22;

/** A time and a few random digits: stamps sort by the time they were made. */
export function joinStamp(uuid: string): string {
  return `${uuid.slice(0, 13)}-${uuid.slice(-8)}`;
}

/**
 * The member whose id was made first, so that all members name the same one. Heartbeat counters do not tell: a member that
 * waits for a view sends more of them.
 */
export function oldestOf(members: readonly MemberRow[]): string | undefined {
  return members.toSorted((a, b) => (a.id.slice(-stampLength) < b.id.slice(-stampLength) ? -1 : 1))[0]?.id;
}
