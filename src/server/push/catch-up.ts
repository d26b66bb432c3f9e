import { hasCode } from "../../base/error.ts";
import type { EngineNamespace } from "../../engine/engine-namespace.ts";
import type { Cursor } from "./cursor.ts";
import { entryOfTurn, entryOfView, type FeedEntry } from "./feed-entry.ts";
import { type Missed, MissedEntries, MissedListing, nothingMissed } from "./missed.ts";
import { type Listed, mayHaveChangedSince, type StoreListing } from "./store-listing.ts";

export type HistoryEngine = Pick<EngineNamespace, "getWorkflowInstanceStatus" | "getWorkflowInstanceHistory">;

/** Missed changes that are no longer in the ring. */
export interface CatchUp {
  readonly missed: Missed;
  /** False if the store has more. */
  readonly isComplete: boolean;
}

export interface CatchUpPlace {
  readonly since: Cursor;
  readonly until: Cursor;
  /** False once the client has left: reading stops. */
  readonly isWanted: () => boolean;
}

/** Tolerance between the time of a turn and its publication after the commit. */
const slackMs = 60_000;
const pageSize = 1000;

/** Reads every turn of one instance after the cursor, and a snapshot. Empty if the instance does not exist any more. */
export async function missedTurns(engine: HistoryEngine, instanceId: string, place: CatchUpPlace): Promise<CatchUp> {
  try {
    return { missed: new MissedEntries(await turnsSince(engine, instanceId, place)), isComplete: true };
  } catch (error) {
    if (hasCode(error, "INSTANCE_UNKNOWN")) return { missed: nothingMissed, isComplete: true };
    throw error;
  }
}

async function turnsSince(
  engine: HistoryEngine,
  instanceId: string,
  { since, until, isWanted }: CatchUpPlace,
): Promise<FeedEntry[]> {
  const { workflowName, createdAt } = await engine.getWorkflowInstanceStatus(instanceId);
  const of = { instanceId, workflowName, createdAt, cursor: since };
  const entries: FeedEntry[] = [];
  let afterTurn = since.createdAt === createdAt ? (since.turn ?? -1) : -1;
  for (;;) {
    const turns = await engine.getWorkflowInstanceHistory(instanceId, { afterTurn, limit: pageSize });
    for (const turn of turns) {
      afterTurn = turn.turn;
      // Without a turn in the cursor, its time decides which turns were missed.
      if (since.turn === undefined && turn.at < since.at - slackMs) continue;
      entries.push(entryOfTurn(turn, of));
    }
    if (!isWanted()) return [];
    if (turns.length < pageSize) break;
  }
  // Read last, so that the snapshot is at least as new as the turns.
  const view = await engine.getWorkflowInstanceStatus(instanceId);
  if (view.createdAt === createdAt) entries.push(entryOfView(view, afterTurn, { cursor: until, now: until.at }));
  return entries;
}

/** Reads snapshots of all instances that are unfinished or have ended since the cursor. */
export async function missedInstances(
  listing: StoreListing,
  workflow: string | undefined,
  { since, until, isWanted }: CatchUpPlace,
): Promise<CatchUp> {
  const { items, isComplete } = await listing.read(workflow, isWanted);
  const isMissed = ({ summary }: Listed): boolean => mayHaveChangedSince(summary, since.at - slackMs);
  return { missed: new MissedListing(items, isMissed, { since, until }), isComplete };
}
