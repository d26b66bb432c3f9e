import assert from "node:assert/strict";
import { test } from "node:test";
import { DueQueue } from "./due-queue.ts";

test("what is due comes out, the longest due first, and the rest stays", () => {
  const waits = new DueQueue();
  waits.add(1, 300);
  waits.add(2, 100);
  waits.add(3, 100);
  waits.add(4, 200);
  assert.equal(waits.earliest(), 100);
  assert.deepEqual(waits.takeDue(99), []);
  assert.deepEqual(waits.takeDue(200), [2, 3, 4]);
  assert.deepEqual([...waits.numbers], [1]);
  assert.equal(waits.earliest(), 300);
});

test("a task that waits no more is not waited for", () => {
  const waits = new DueQueue();
  waits.add(1, 100);
  waits.add(2, 200);
  waits.delete(1);
  assert.equal(waits.earliest(), 200);
  assert.deepEqual(waits.takeDue(1000), [2]);
  assert.equal(waits.earliest(), undefined);
});

test("a task that waits again is due at its new time, once", () => {
  const waits = new DueQueue();
  waits.add(1, 100);
  waits.delete(1);
  waits.add(1, 300);
  assert.deepEqual(waits.takeDue(200), []);
  assert.deepEqual(waits.takeDue(300), [1]);
  assert.deepEqual(waits.takeDue(1000), []);
});

test("cleared, it waits for nobody", () => {
  const waits = new DueQueue();
  waits.add(1, 100);
  waits.clear();
  assert.deepEqual([waits.earliest(), [...waits.numbers], waits.takeDue(1000)], [undefined, [], []]);
});

test("what waits is listed with its due time, in the order in which it began", () => {
  const waits = new DueQueue();
  assert.deepEqual([...waits.entries], []);
  waits.add(4, 300);
  waits.add(2, 100);
  waits.add(3, 200);
  waits.delete(2);
  assert.deepEqual(
    [...waits.entries],
    [
      [4, 300],
      [3, 200],
    ],
  );
});
