import type { OutboxRow } from "../stores/store.ts";

/**
 * Messages that one other shard sends to this one. They may come twice, late, out of order, or not at all until they are
 * looked for in the store; they are handed on once each, in the order of their numbers.
 *
 * - M1 `committed` is durable: every message up to it was consumed by a turn.
 * - M2 Messages are handed on without gaps: the next is always `handedOn + 1`.
 * - M3 Turns may consume them in another order, because some receivers have to be read first.
 */
export class InboundOffset {
  #committed: number;
  #delivered: number;
  /** Consumed before one with a lower number. */
  readonly #consumedAhead = new Set<number>();
  /** Came before one with a lower number. */
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

  /** Gives back what can be handed on now, in order. */
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

  /** A message was consumed by a turn; others may have overtaken it. */
  consume(number: number): void {
    if (number > this.#committed) this.#consumedAhead.add(number);
    while (this.#consumedAhead.delete(this.#committed + 1)) this.#committed++;
  }
}
