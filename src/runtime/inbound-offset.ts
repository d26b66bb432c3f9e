import type { OutboxRow } from "../stores/store.ts";

/**
 * Messages that one other shard sends to this one. They may come twice, late, out of order, or not at all until they are
 * read from the store; they are delivered once each, in the order of their numbers.
 *
 * - M1 `committed` is durable: every message up to it was consumed by a turn.
 * - M2 Messages are delivered without gaps: the next is always `delivered + 1`.
 * - M3 Turns may consume them in another order, because some receivers have to be read first.
 */
export class InboundOffset {
  #committed: number;
  #delivered: number;
  /** Numbers that were consumed before a lower one. */
  readonly #consumedAhead = new Set<number>();
  /** Messages that came before one with a lower number. */
  readonly #arrivedEarly = new Map<number, OutboxRow>();

  constructor(committed: number) {
    this.#committed = committed;
    this.#delivered = committed;
  }

  get committed(): number {
    return this.#committed;
  }

  /** A message is missing: others came that were sent after it. */
  get hasGap(): boolean {
    return this.#arrivedEarly.size > 0;
  }

  /** Returns the messages that can be delivered now, in order. */
  receive(row: OutboxRow): OutboxRow[] {
    if (row.number <= this.#delivered) return [];
    this.#arrivedEarly.set(row.number, row);
    const next: OutboxRow[] = [];
    for (let message = this.#arrivedEarly.get(this.#delivered + 1); message !== undefined;) {
      this.#arrivedEarly.delete(message.number);
      this.#delivered = message.number;
      next.push(message);
      message = this.#arrivedEarly.get(this.#delivered + 1);
    }
    return next;
  }

  /** Marks a message as consumed by a turn; others may have overtaken it. */
  consume(number: number): void {
    if (number > this.#committed) this.#consumedAhead.add(number);
    while (this.#consumedAhead.delete(this.#committed + 1)) this.#committed++;
  }
}
