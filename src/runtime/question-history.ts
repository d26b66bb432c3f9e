import { assert } from "../base/assert.ts";
import type { HistoryPage, TurnEvents, TurnQuestion } from "../kernel/code/turn-question.ts";
import { mapPayloads, payloadRefsIn } from "../kernel/event-payloads.ts";
import type { Payload, PayloadRef } from "../kernel/payload.ts";
import type { HistoryRow } from "../stores/store.ts";
import { lengthOf, since, turnsOf } from "./turn-events.ts";

/** A page of a history ends after this many characters, or events. */
const pageLengthMax = 500_000;
const pageEventsMax = 1000;

export interface HistorySource {
  readHistory(instance: number): Promise<HistoryRow[]>;
  readPayloads(instance: number, refs: readonly number[]): Promise<string[]>;
}

/** The durable history of one question about code, which is read once, and handed out in pages. */
export class QuestionHistory {
  readonly #source: HistorySource;
  readonly #key: number;
  #past: Promise<TurnEvents[]> | undefined;

  constructor(source: HistorySource, key: number) {
    this.#source = source;
    this.#key = key;
  }

  /** Undefined if the store does not have these events any more: then the question is over. */
  async page({ first, events }: TurnQuestion, from: number): Promise<HistoryPage | undefined> {
    const past = await (this.#past ??= this.#readPast());
    const turns: TurnEvents[] = [];
    let [next, length, count] = [Math.max(from, first), 0, 0];
    for (const turn of since(past, next)) {
      if (turn.firstEvent >= events || length > pageLengthMax || count > pageEventsMax) break;
      if (turn.firstEvent !== next) return undefined;
      const cut = { ...turn, events: turn.events.slice(0, events - turn.firstEvent) };
      const [withTexts] = await this.withTexts([cut]);
      if (withTexts === undefined) break;
      turns.push(withTexts);
      length += lengthOf([withTexts]);
      count += withTexts.events.length;
      next = withTexts.firstEvent + withTexts.events.length;
    }
    return turns.length === 0 ? undefined : { turns, next };
  }

  async #readPast(): Promise<TurnEvents[]> {
    return turnsOf(await this.#source.readHistory(this.#key));
  }

  /** The same events, with large values as text. */
  async withTexts(turns: readonly TurnEvents[]): Promise<TurnEvents[]> {
    const refs = turns.flatMap(({ events }) => events.flatMap((event) => payloadRefsIn(event).map(({ ref }) => ref)));
    if (refs.length === 0) return [...turns];
    const read = await this.#source.readPayloads(this.#key, refs);
    const texts = new Map(refs.map((ref, place) => [ref, read[place] as string]));
    const textOf = (payload: Payload): Payload => (typeof payload === "object" ? textIn(texts, payload) : payload);
    return turns.map((turn) => ({ ...turn, events: turn.events.map((event) => mapPayloads(event, textOf)) }));
  }
}

function textIn(texts: ReadonlyMap<number, string>, { ref }: PayloadRef): string {
  const text = texts.get(ref);
  assert(text !== undefined, "every value of an event is read before the event is sent");
  return text;
}
