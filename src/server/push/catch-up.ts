import { hasCode } from "../../base/error.ts";
import type { Engine } from "../../engine/engine.ts";
import type { Cursor } from "./cursor.ts";
import { entryOfTurn, entryOfView, type FeedEntry } from "./feed-entry.ts";
import { type Missed, MissedEntries, MissedListing, nothingMissed } from "./missed.ts";
import { type Listed, mayHaveChangedSince, type StoreListing } from "./store-listing.ts";

export type HistoryEngine = Pick<Engine, "getWorkflowInstanceStatus" | "getWorkflowInstanceHistory">;

/** What a client missed that the feed does not have any more. */
export interface CatchUp {
  readonly missed: Missed;
  /** False if the store has more than these. */
  readonly isComplete: boolean;
}

export interface CatchUpPlace {
  readonly since: Cursor;
  readonly until: Cursor;
  /** False as soon as the client has left: then nothing more is read for it. */
  readonly isWanted: () => boolean;
}

/** A turn has its time before it is written, and is told after: so much may lie between. */
const slackMs = 60_000;
const pageSize = 1000;

/** Every turn of one instance after the cursor, and how it stands now. Nothing of one that is not there any more. */
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
      // Without a turn to go by, the time says what the client cannot have heard.
      if (since.turn === undefined && turn.at < since.at - slackMs) continue;
      entries.push(entryOfTurn(turn, of));
    }
    if (!isWanted()) return [];
    if (turns.length < pageSize) break;
  }
  // Read last, so that it is at least as new as the last of the turns.
  const view = await engine.getWorkflowInstanceStatus(instanceId);
  if (view.createdAt === createdAt) entries.push(entryOfView(view, afterTurn, { cursor: until, now: until.at }));
  return entries;
}

/** How every instance stands that is unfinished or has ended since the cursor. */
export async function missedInstances(
  listing: StoreListing,
  workflow: string | undefined,
  { since, until, isWanted }: CatchUpPlace,
): Promise<CatchUp> {
  const { items, isComplete } = await listing.read(workflow, isWanted);
  const isMissed = ({ summary }: Listed): boolean => mayHaveChangedSince(summary, since.at - slackMs);
  return { missed: new MissedListing(items, isMissed, { since, until }), isComplete };
}
