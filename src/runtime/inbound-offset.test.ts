import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import type { OutboxRow } from "../stores/store.ts";
import { InboundOffset } from "./inbound-offset.ts";

function message(number: number): OutboxRow {
  return { source: 1, target: 0, number, body: `${number}` };
}

function handedOn(inbound: InboundOffset, ...numbers: readonly number[]): number[] {
  return numbers.flatMap((number) => inbound.receive(message(number))).map(({ number }) => number);
}

/**
 * A step of the model: a message that was sent is pushed, now, later, again or never; the store is read, which shows all
 * messages that are durable and not consumed; a delivered message is consumed; the receiver begins anew from the durable
 * offset.
 */
type Step =
  | { readonly type: "push"; readonly pick: number }
  | { readonly type: "send" | "read" | "crash" }
  | { readonly type: "consume"; readonly pick: number };

const pick = fc.nat({ max: 1000 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Step>({ type: "send" }) },
  { weight: 6, arbitrary: pick.map((of): Step => ({ type: "push", pick: of })) },
  { weight: 4, arbitrary: pick.map((of): Step => ({ type: "consume", pick: of })) },
  { weight: 1, arbitrary: fc.constant<Step>({ type: "read" }) },
  { weight: 1, arbitrary: fc.constant<Step>({ type: "crash" }) },
);

class Channel {
  readonly lives: number[][] = [];
  #inbound = new InboundOffset(0);
  #sent = 0;
  /** Handed on in this life, and not consumed. */
  #waiting: number[] = [];
  #durableOffset = 0;

  constructor() {
    this.lives.push([]);
  }

  take(step: Step): void {
    if (step.type === "send") this.#sent++;
    else if (step.type === "push" && this.#sent > 0) this.#receive(1 + (step.pick % this.#sent));
    else if (step.type === "read") this.read();
    else if (step.type === "consume") this.#consume(step.pick);
    else if (step.type === "crash") this.#crash();
  }

  /** The messages up to the offset are gone from the store. */
  read(): void {
    for (let number = this.#durableOffset + 1; number <= this.#sent; number++) this.#receive(number);
  }

  consumeAll(): void {
    while (this.#waiting.length > 0) this.#consume(0);
  }

  check(): void {
    const { committed, hasGap } = this.#inbound;
    assert.deepEqual([committed, hasGap], [this.#sent, false], "after a look into the store nothing is missing");
    let from = 0;
    for (const [place, life] of this.lives.entries()) {
      const first = life[0];
      if (first === undefined) continue;
      if (place > 0) assert.ok(first <= from + 1, "no message is passed over by a restart");
      assert.deepEqual(
        life,
        life.map((_, later) => first + later),
        "in order, without a gap, and none twice in one life",
      );
      from = Math.max(from, life.at(-1) ?? 0);
    }
    assert.equal(from, this.#sent);
  }

  #receive(number: number): void {
    for (const { number: next } of this.#inbound.receive(message(number))) {
      this.lives.at(-1)?.push(next);
      this.#waiting.push(next);
    }
  }

  #consume(of: number): void {
    if (this.#waiting.length === 0) return;
    const [number = 0] = this.#waiting.splice(of % this.#waiting.length, 1);
    this.#inbound.consume(number);
    this.#durableOffset = this.#inbound.committed;
  }

  #crash(): void {
    this.#inbound = new InboundOffset(this.#durableOffset);
    this.#waiting = [];
    this.lives.push([]);
  }
}

describe("messages from one shard", () => {
  test("are handed on in the order of their numbers, from the offset on", () => {
    const inbound = new InboundOffset(2);
    assert.deepEqual(handedOn(inbound, 1, 2), [], "these were consumed in an earlier life");
    assert.deepEqual(handedOn(inbound, 3), [3]);
    assert.deepEqual(handedOn(inbound, 6, 5), []);
    assert.equal(inbound.hasGap, true);
    assert.deepEqual(handedOn(inbound, 4), [4, 5, 6]);
    assert.equal(inbound.hasGap, false);
    assert.deepEqual(handedOn(inbound, 3, 4, 5, 6), [], "none twice");
    assert.deepEqual(handedOn(inbound, 7), [7]);
  });

  test("are handed on as they were sent", () => {
    const inbound = new InboundOffset(0);
    inbound.receive(message(2));
    assert.deepEqual(inbound.receive(message(1)), [message(1), message(2)]);
  });

  test("a message that came early may come again before its turn", () => {
    const inbound = new InboundOffset(0);
    assert.deepEqual(handedOn(inbound, 2, 2, 2), []);
    assert.deepEqual(handedOn(inbound, 1), [1, 2]);
    assert.equal(inbound.hasGap, false);
  });

  test("the offset stands at the last consumed one before the first that is not", () => {
    const inbound = new InboundOffset(2);
    handedOn(inbound, 3, 4, 5);
    inbound.consume(4);
    assert.equal(inbound.committed, 2);
    inbound.consume(3);
    assert.equal(inbound.committed, 4);
    inbound.consume(1);
    inbound.consume(4);
    assert.equal(inbound.committed, 4);
    inbound.consume(5);
    assert.equal(inbound.committed, 5);
  });

  const permutations = fc.integer({ min: 1, max: 30 }).chain((count) => {
    const numbers = Array.from({ length: count }, (_, place) => place + 1);
    return fc.shuffledSubarray(numbers, { minLength: count, maxLength: count });
  });

  test("the offset follows what is consumed, in whatever order that is", () => {
    fc.assert(
      fc.property(permutations, (order) => {
        const inbound = new InboundOffset(0);
        const seen = new Set<number>();
        for (const number of order) {
          inbound.consume(number);
          seen.add(number);
          let expected = 0;
          while (seen.has(expected + 1)) expected++;
          assert.equal(inbound.committed, expected);
        }
        assert.equal(inbound.committed, order.length);
      }),
    );
  });

  test("come once each and in order, whatever is lost, doubled or overtaken, once the store is looked into", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const channel = new Channel();
        for (const each of steps) channel.take(each);
        channel.read();
        channel.consumeAll();
        channel.check();
      }),
      { numRuns: 500 },
    );
  });
});
