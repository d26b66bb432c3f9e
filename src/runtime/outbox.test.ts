import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { InboundMark, type Letter, Outbox } from "./outbox.ts";

const letter: Letter = { kind: "tell-child", from: 1, to: "x", order: { type: "PauseWorkflow" } };

describe("the outbox", () => {
  test("numbers letters without gaps, per target", () => {
    const outbox = new Outbox(3);
    const rows = [0, 0, 1, 0].map((target) => outbox.address(target, letter));
    assert.deepEqual(
      rows.map(({ source, target, number }) => [source, target, number]),
      [
        [3, 0, 1],
        [3, 0, 2],
        [3, 1, 1],
        [3, 0, 3],
      ],
    );
    assert.deepEqual(JSON.parse(rows[0]?.body ?? ""), letter);
  });

  test("goes on after the highest number that is on record, in a row or in a mark", () => {
    const outbox = new Outbox(0);
    const rows = [4, 5].map((number) => ({ source: 0, target: 1, number, body: "" }));
    outbox.restore(
      rows,
      new Map([
        [1, 3],
        [2, 7],
        [0, 0],
      ]),
    );
    assert.equal(outbox.address(1, letter).number, 6);
    assert.equal(outbox.address(2, letter).number, 8);
    assert.equal(outbox.address(0, letter).number, 1);
  });

  test("gives each acknowledgement to one commit, the furthest only", () => {
    const outbox = new Outbox(0);
    assert.deepEqual(outbox.takeAcked(), []);
    outbox.acknowledged(1, 2);
    outbox.acknowledged(1, 5);
    outbox.acknowledged(1, 3);
    outbox.acknowledged(2, 1);
    assert.deepEqual(outbox.takeAcked(), [
      { target: 1, number: 5 },
      { target: 2, number: 1 },
    ]);
    assert.deepEqual(outbox.takeAcked(), []);
    outbox.acknowledged(1, 4);
    assert.deepEqual(outbox.takeAcked(), []);
    outbox.acknowledged(1, 6);
    assert.deepEqual(outbox.takeAcked(), [{ target: 1, number: 6 }]);
  });
});

describe("the inbound mark", () => {
  test("stands at the last letter before the first gap", () => {
    const mark = new InboundMark(2);
    assert.equal(mark.isNew(2), false);
    assert.equal(mark.isNew(3), true);
    mark.consumed(4);
    assert.equal(mark.mark, 2);
    assert.equal(mark.isNew(4), false);
    mark.consumed(3);
    assert.equal(mark.mark, 4);
    mark.consumed(1);
    assert.equal(mark.mark, 4);
  });

  test("takes every letter once, in whatever order they are consumed", () => {
    const orders = fc.integer({ min: 1, max: 30 }).chain((count) =>
      fc.shuffledSubarray(
        Array.from({ length: count }, (_, place) => place + 1),
        { minLength: count, maxLength: count },
      ),
    );
    fc.assert(
      fc.property(orders, (order) => {
        const mark = new InboundMark(0);
        const seen = new Set<number>();
        for (const number of order) {
          assert.equal(mark.isNew(number), true);
          mark.consumed(number);
          seen.add(number);
          assert.equal(mark.isNew(number), false);
          let expected = 0;
          while (seen.has(expected + 1)) expected++;
          assert.equal(mark.mark, expected);
        }
        assert.equal(mark.mark, order.length);
      }),
    );
  });
});
