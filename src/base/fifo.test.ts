import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Fifo } from "./fifo.ts";

describe("a first-in, first-out queue", () => {
  test("gives back what was pushed, in order, and undefined when it is empty", () => {
    const queue = new Fifo<number>();
    assert.equal(queue.take(), undefined);
    queue.push(1);
    queue.push(2);
    assert.equal(queue.length, 2);
    assert.deepEqual([queue.take(), queue.take(), queue.take()], [1, 2, undefined]);
    assert.equal(queue.length, 0);
  });

  test("keeps its order while items come and go, also past the length at which it drops the taken ones", () => {
    const queue = new Fifo<number>();
    let pushed = 0;
    let taken = 0;
    for (let round = 0; round < 5000; round++) {
      queue.push(pushed++);
      queue.push(pushed++);
      if (round % 3 > 0) assert.equal(queue.take(), taken++);
    }
    while (taken < pushed) {
      assert.equal(queue.length, pushed - taken);
      assert.equal(queue.take(), taken++);
    }
    assert.equal(queue.take(), undefined);
  });
});
