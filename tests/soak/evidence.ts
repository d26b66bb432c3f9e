import type { ClaimRecord, ClockSetting, CommitRecord, Evidence, MembershipRecord, Moment } from "../sim/evidence.ts";
import type { Landing, Landings } from "./landings.ts";
import type { Testimony } from "./testimony.ts";

/**
 * How far the wall clock may be from what was measured at the beginning, and by how much a look at it may be late: it
 * shows whole milliseconds, and is set right all the time.
 */
const clockSlackMs = 10;

/** Nobody saw when exactly a commit came to be durable: as early as may be, or as late. */
export type Reading = "earliest" | "latest";

/** The testimony as the simulator's checkers want it, with the one or the other reading of what nobody saw. */
export function evidenceOf(testimony: Testimony, { commits, claims }: Landings, reading: Reading): Evidence {
  const momentOf = (landing: Landing<unknown>): Moment => {
    const at = reading === "earliest" ? landing.sentAt : landing.knownAt;
    return { at, order: at };
  };
  return {
    ...testimony,
    commits: commits.map((landing) => ({ ...momentOf(landing), ...commitOf(landing) })),
    claims: claims.map((landing) => ({ ...momentOf(landing), ...claimOf(landing) })),
    // Only the database knows when, and its order is compared with nothing but itself.
    memberships: [],
    clockSettings: clockSettings(testimony),
    storeOutages: [],
    renewalRequests: [],
    restores: [],
    watches: [],
  };
}

/** Commits, claims and members in the order in which the database took them, which is exact. */
export function orderOf(testimony: Testimony, { commits, claims }: Landings): Evidence {
  const placeOf = ({ audited }: Landing<unknown>): Moment => placed(audited[0]?.id ?? 0);
  const memberships = testimony.audit.flatMap((row): MembershipRecord[] => {
    if (row.what !== "joined" && row.what !== "gone") return [];
    const what = row.what === "joined" ? "joined" : "removed";
    return [{ ...placed(row.id), life: 0, what, member: row.member }];
  });
  return {
    ...testimony,
    commits: commits.map((landing) => ({ ...placeOf(landing), ...commitOf(landing) })),
    claims: claims.map((landing) => ({ ...placeOf(landing), ...claimOf(landing) })),
    memberships,
    clockSettings: [],
    storeOutages: [],
    renewalRequests: [],
    restores: [],
    watches: [],
  };
}

function placed(id: number): Moment {
  return { at: id, order: id };
}

function commitOf({ call, sentAt }: Landings["commits"][number]): Omit<CommitRecord, keyof Moment> {
  return { life: call.life, sent: { at: sentAt, order: sentAt }, batch: call.batch };
}

function claimOf({ call }: Landings["claims"][number]): Omit<ClaimRecord, keyof Moment> {
  const { life, shard, owner, claim } = call;
  if (claim === undefined) throw new Error("a claim that landed has an answer, or one that was made up for it");
  return { life, shard, owner, claim };
}

function clockSettings({ lives }: Testimony): ClockSetting[] {
  const machines = new Set(lives.map(({ machine }) => machine));
  return [...machines].map((machine) => ({ at: -1e15, order: -1, machine, wallOffsetMs: clockSlackMs }));
}
