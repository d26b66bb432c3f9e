import { preview } from "../base/preview.ts";
import { DamagedRow } from "./damaged-row.ts";
import type { HistoryRow, TurnText } from "./store.ts";

/** Turns of histories up to this length are kept in the row of their instance. */
export const turnTextMax = 1000;

/** A clock that is passed in, such as that of a test, may stand between two milliseconds. */
const turnHead = /\[(\d+),(\d+),(-?\d+(?:\.\d+)?),(\d+),/y;

/** Returns the text with one more turn; what was written of the earlier ones is taken over as it is. */
export function appendTurn(before: TurnText | null, { turn, firstEvent, at, events }: HistoryRow): TurnText {
  const added = `[${turn},${firstEvent},${at},${events.length},${events}]]`;
  return before === null ? `[${added}` : `${before.slice(0, -1)},${added}`;
}

/** Returns the turns of an instance in order. `STORE_CORRUPT` if the text is not what `appendTurn` made. */
export function turnsIn(text: TurnText, instance: number): HistoryRow[] {
  const turns: HistoryRow[] = [];
  for (let place = 1; place < text.length; place++) {
    turnHead.lastIndex = place;
    const head = turnHead.exec(text);
    if (head === null) throw damaged(text, instance);
    const [turn, firstEvent, at, length] = head.slice(1).map(Number) as [number, number, number, number];
    const start = turnHead.lastIndex;
    place = start + length;
    turns.push({ instance, turn, firstEvent, at, events: text.slice(start, place) });
    // After the turn comes a comma, or the end of the text.
    if (text[place] !== "]" || text[++place] !== (place === text.length - 1 ? "]" : ",")) throw damaged(text, instance);
  }
  if (turns.length === 0 || !text.startsWith("[")) throw damaged(text, instance);
  return turns;
}

function damaged(text: TurnText, instance: number): DamagedRow {
  return new DamagedRow(`the history of instance ${instance} holds ${preview(text)} instead of turns`);
}
