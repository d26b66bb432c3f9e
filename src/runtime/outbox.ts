import type { ParentAddress } from "../kernel/address.ts";
import type { ChildOrder } from "../kernel/command.ts";
import type { ContextPatch } from "../kernel/event.ts";
import type { Payload } from "../kernel/payload.ts";
import type { EndStatus } from "../kernel/status.ts";
import type { OutboxRow } from "../stores/store.ts";

/**
 * What one instance says to another. Values that travel by reference are looked up under `from` when the letter is
 * delivered: a reference means nothing outside its instance.
 */
export type Letter = StartChild | TellChild | TellParent | Void;

export interface StartChild {
  readonly kind: "start-child";
  readonly from: number;
  readonly to: string;
  readonly workflow: string;
  readonly version: string;
  readonly context: Readonly<Record<string, Payload>>;
  readonly parent: ParentAddress;
}

export interface TellChild {
  readonly kind: "tell-child";
  readonly from: number;
  readonly to: string;
  readonly order: ChildOrder;
}

export interface TellParent {
  readonly kind: "tell-parent";
  readonly from: number;
  readonly to: string;
  readonly task: number;
  readonly attempt: number;
  readonly generation: number;
  readonly status: EndStatus;
  readonly reason?: string;
  /** By task name. */
  readonly outputs: Readonly<Record<string, Payload>>;
  readonly patch?: ContextPatch;
}

/** Keeps the numbers without a gap where the letter itself was never written. */
export interface Void {
  readonly kind: "void";
  readonly from: number;
  readonly to: string;
}

/**
 * Letters on their way out of a shard. They are numbered without gaps per target shard and written in the commit of the
 * turn that caused them; only then are they posted. A row goes when the target's mark has passed it.
 */
export class Outbox {
  readonly #shard: number;
  readonly #lastNumber = new Map<number, number>();
  readonly #acked = new Map<number, number>();
  readonly #deleted = new Map<number, number>();

  constructor(shard: number) {
    this.#shard = shard;
  }

  /** Letters of an earlier life that were never acknowledged, and how far each target has come. */
  restore(rows: readonly OutboxRow[], marks: ReadonlyMap<number, number>): void {
    for (const [target, number] of marks) this.#lastNumber.set(target, number);
    for (const { target, number } of rows) {
      this.#lastNumber.set(target, Math.max(number, this.#lastNumber.get(target) ?? 0));
    }
  }

  address(target: number, letter: Letter): OutboxRow {
    const number = (this.#lastNumber.get(target) ?? 0) + 1;
    this.#lastNumber.set(target, number);
    return { source: this.#shard, target, number, body: JSON.stringify(letter) };
  }

  /** The target has taken in, durably, everything up to the number. */
  acknowledged(target: number, number: number): void {
    if (number > (this.#acked.get(target) ?? 0)) this.#acked.set(target, number);
  }

  /** What the next commit may delete. Nobody waits for it: it travels along with other work. */
  takeAcked(): { target: number; number: number }[] {
    const acked: { target: number; number: number }[] = [];
    for (const [target, number] of this.#acked) {
      if (number <= (this.#deleted.get(target) ?? 0)) continue;
      this.#deleted.set(target, number);
      acked.push({ target, number });
    }
    return acked;
  }
}

/** How far this shard has taken in what another sent: every letter up to the mark, none twice. */
export class InboundMark {
  #mark: number;
  readonly #ahead = new Set<number>();

  constructor(mark: number) {
    this.#mark = mark;
  }

  get mark(): number {
    return this.#mark;
  }

  /** False for one that was taken in before. */
  isNew(number: number): boolean {
    return number > this.#mark && !this.#ahead.has(number);
  }

  /** A letter was consumed by a turn; others may have overtaken it. */
  consumed(number: number): void {
    if (number > this.#mark) this.#ahead.add(number);
    while (this.#ahead.delete(this.#mark + 1)) this.#mark++;
  }
}
