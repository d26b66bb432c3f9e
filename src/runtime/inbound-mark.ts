import type { OutboxRow } from "../stores/store.ts";

/**
 * Letters that one other shard sends to this one. They may come twice, late, out of order, or not at all until they are
 * looked for in the store; they are handed on once each, in the order of their numbers.
 *
 * - M1 `mark` is durable: every letter up to it was consumed by a turn.
 * - M2 Letters are handed on without gaps: the next is always `handedOn + 1`.
 * - M3 Turns may consume them in another order, because some receivers have to be read first.
 */
export class InboundMark {
  #mark: number;
  #handedOn: number;
  /** Consumed before one with a lower number. */
  readonly #ahead = new Set<number>();
  /** Came before one with a lower number. */
  readonly #early = new Map<number, OutboxRow>();

  constructor(mark: number) {
    this.#mark = mark;
    this.#handedOn = mark;
  }

  get mark(): number {
    return this.#mark;
  }

  /** A letter is missing: others came that were sent after it. */
  get hasGap(): boolean {
    return this.#early.size > 0;
  }

  /** Gives back what can be handed on now, in order. */
  received(row: OutboxRow): OutboxRow[] {
    if (row.number <= this.#handedOn) return [];
    this.#early.set(row.number, row);
    const next: OutboxRow[] = [];
    for (let letter = this.#early.get(this.#handedOn + 1); letter !== undefined;) {
      this.#early.delete(letter.number);
      this.#handedOn = letter.number;
      next.push(letter);
      letter = this.#early.get(this.#handedOn + 1);
    }
    return next;
  }

  /** A letter was consumed by a turn; others may have overtaken it. */
  consumed(number: number): void {
    if (number > this.#mark) this.#ahead.add(number);
    while (this.#ahead.delete(this.#mark + 1)) this.#mark++;
  }
}
