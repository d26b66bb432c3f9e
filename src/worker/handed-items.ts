import { EngineError } from "../base/error.ts";
import { toJsonText } from "../base/json-text.ts";
import { preview } from "../base/preview.ts";
import type { AttemptQuestion } from "../dispatch/attempt-question.ts";

const itemsPerChunkMax = 5000;
const chunkLengthMax = 256 * 1024;

type Ask = (question: AttemptQuestion) => Promise<unknown>;

/** Hands in the items of a job's calls of `ctx.map`, in chunks: one at a time, each durable before the next. */
export class HandedItems {
  readonly #ask: Ask;
  readonly #taskName: string;
  /** Resolves when all calls so far have ended; rejects like the first that failed. Undefined before the first call. */
  #last: Promise<void> | undefined;
  #calls = 0;

  constructor(ask: Ask, taskName: string) {
    this.#ask = ask;
    this.#taskName = taskName;
  }

  get settled(): Promise<void> | undefined {
    return this.#last;
  }

  /** MAP_ITEMS_INVALID, VALUE_NOT_SERIALIZABLE, and whatever the owner of the instance refuses. */
  add(items: Iterable<unknown> | AsyncIterable<unknown>): Promise<void> {
    const call = this.#calls++;
    const before = this.#last;
    const added = this.#handIn(items, call, before);
    this.#last = added;
    // A job that does not await the call hears of its failure when it returns.
    added.catch(() => undefined);
    return added;
  }

  async #handIn(
    items: Iterable<unknown> | AsyncIterable<unknown>,
    call: number,
    before?: Promise<void>,
  ): Promise<void> {
    await before;
    if (!isIterable(items)) {
      const problem = `takes a list of items, or what is iterable, got ${preview(items)}`;
      throw new EngineError("MAP_ITEMS_INVALID", `ctx.map of task "${this.#taskName}" ${problem}`);
    }
    let texts: string[] = [];
    let length = 0;
    let from = 0;
    const send = async (): Promise<void> => {
      await this.#ask({ type: "AddItems", call, from, items: `[${texts.join(",")}]` });
      from += texts.length;
      texts = [];
      length = 0;
    };
    for await (const item of items) {
      const what = `item ${from + texts.length} that task "${this.#taskName}" hands in`;
      const text = toJsonText(item, what) ?? "null";
      if (texts.length === itemsPerChunkMax || (texts.length > 0 && length + text.length > chunkLengthMax))
        await send();
      texts.push(text);
      length += text.length + 1;
    }
    if (texts.length > 0) await send();
  }
}

function isIterable(value: unknown): boolean {
  return typeof value === "object" && value !== null && (Symbol.iterator in value || Symbol.asyncIterator in value);
}
