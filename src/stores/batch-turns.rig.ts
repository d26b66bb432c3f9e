import type { Changes, HistoryRow } from "./store.ts";
import { turnsIn } from "./turn-text.ts";

/** All turns that a batch writes, in rows of their own or in the rows of their instances, also those that move. */
export function turnsOf({ history, instances, finished }: Changes): HistoryRow[] {
  const texts = [...instances, ...finished].flatMap((row) =>
    row.history === null ? [] : turnsIn(row.history, row.key),
  );
  return [...history, ...texts].sort((a, b) => a.instance - b.instance || a.turn - b.turn);
}

/** Follows batches in the order they land. */
export class NewTurns {
  readonly #last = new Map<number, number>();

  /** The turns of the batch that no batch before it had. */
  in(changes: Changes): HistoryRow[] {
    const found = this.peek(changes);
    for (const { instance, turn } of found) this.noteTurn(instance, turn);
    return found;
  }

  /** The same of a batch that may not land. */
  peek(changes: Changes): HistoryRow[] {
    return turnsOf(changes).filter(({ instance, turn }) => turn > (this.#last.get(instance) ?? -1));
  }

  noteTurn(instance: number, turn: number): void {
    this.#last.set(instance, turn);
  }
}
