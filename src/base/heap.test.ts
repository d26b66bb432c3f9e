import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { Heap } from "./heap.ts";

test("whatever goes in comes out in order", () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.integer({ min: -20, max: 20 }), { freq: 3 })), (steps) => {
      const heap = new Heap<number>((a, b) => a < b);
      let sorted: number[] = [];
      for (const step of steps) {
        if (step === null) assert.equal(heap.pop(), sorted.shift());
        else {
          heap.push(step);
          sorted = [...sorted, step].sort((a, b) => a - b);
        }
        assert.equal(heap.first, sorted[0]);
      }
      heap.clear();
      assert.equal(heap.pop(), undefined);
    }),
  );
});
