import type { Machine } from "../kernel/machine.ts";
import { hasEnded } from "../kernel/status.ts";
import type { HistoryRow, TurnText } from "../stores/store.ts";
import { appendTurn, turnsIn, turnTextMax } from "../stores/turn-text.ts";

/** An instance with more tasks would outgrow its row, so its turns are rows from the first on. */
const tasksInRowMax = 8;

/** Places of the turns of an instance once a turn is durable. */
export interface TurnPlaces {
  /** All turns, for the row of the instance; null if they are rows. */
  readonly text: TurnText | null;
  /** Earlier turns that leave the row of the instance. */
  readonly moved: readonly HistoryRow[];
}

export const turnsAreRows: TurnPlaces = { text: null, moved: [] };

/**
 * Decides where a turn goes: a small history is in the row of its instance while the instance is active, and after its
 * end. Otherwise turns are rows: of an instance at rest, because opening a shard reads all rows of instances, and of one
 * that has grown. What has become rows stays rows, until the history begins anew. `before` is the durable history: the
 * text in the row of the instance, null if it is rows, undefined if it begins with this turn.
 */
export function placesOf(
  { key, machine, isActive }: { readonly key: number; readonly machine: Machine; readonly isActive: boolean },
  before: TurnText | null | undefined,
  turn: HistoryRow,
): TurnPlaces {
  if (before === null) return turnsAreRows;
  const earlier = before ?? null;
  const length = (earlier?.length ?? 0) + turn.events.length;
  const isSmall = length < turnTextMax && machine.state.size <= tasksInRowMax;
  if (isSmall && (isActive || hasEnded(machine.status))) {
    return { text: appendTurn(earlier, turn), moved: turnsAreRows.moved };
  }
  return earlier === null ? turnsAreRows : { text: null, moved: turnsIn(earlier, key) };
}
