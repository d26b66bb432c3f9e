/** A member's pool, as far as another member knows. */
export interface HostPool {
  readonly member: string;
  readonly slots: number;
  readonly free: number;
}

/** Members without a free slot that are asked at a time: the next ones follow a second later. */
const fullHostsMax = 8;

/** At least as many members with free slots are asked, because what is known of them may be old. */
const hostsMin = 2;

/**
 * The members that are asked for slots: those with free slots, most first, until twice the demand is covered. Attempts that
 * have waited for long (`isUrgent`) are asked for at every member with a free slot, and at some of the others, in turn: their
 * queues then hold the order across members.
 */
export function chooseHosts(
  pools: readonly HostPool[],
  { demand, isUrgent, turn }: { readonly demand: number; readonly isUrgent: boolean; readonly turn: number },
): string[] {
  const free = pools
    .filter((pool) => pool.free > 0)
    .toSorted((a, b) => b.free - a.free || (a.member < b.member ? -1 : 1));
  const chosen: string[] = [];
  let covered = 0;
  for (const pool of free) {
    if (!isUrgent && covered >= 2 * demand && chosen.length >= hostsMin) break;
    chosen.push(pool.member);
    covered += pool.free;
  }
  if (!isUrgent) return chosen;
  const full = pools
    .filter((pool) => pool.free <= 0 && pool.slots > 0)
    .toSorted((a, b) => (a.member < b.member ? -1 : 1));
  const first = full.length === 0 ? 0 : (turn * fullHostsMax) % full.length;
  const inTurn = [...full.slice(first), ...full.slice(0, first)].slice(0, fullHostsMax);
  return [...chosen, ...inTurn.map(({ member }) => member)];
}
