import assert from "node:assert/strict";
import { test } from "node:test";
import { ReadyQueue } from "./ready-queue.ts";

function drain(queue: ReadyQueue): number[] {
  const tasks: number[] = [];
  for (let task = queue.pop(); task !== undefined; task = queue.pop()) tasks.push(task);
  return tasks;
}

test("lower rank first, then more successors, then first come", () => {
  const queue = new ReadyQueue();
  queue.push(1, 1, 9);
  queue.push(2, 0, 1);
  queue.push(3, 0, 5);
  queue.push(4, 0, 1);
  assert.deepEqual([...queue.tasks], [1, 2, 3, 4]);
  assert.deepEqual(drain(queue), [3, 2, 4, 1]);
});

test("a task that was taken out does not come, and one that came again stands where it stands now", () => {
  const queue = new ReadyQueue();
  queue.push(1, 0, 0);
  queue.push(2, 0, 0);
  queue.push(3, 0, 0);
  queue.delete(1);
  queue.delete(2);
  queue.push(1, 0, 0);
  assert.deepEqual(drain(queue), [3, 1]);
});

test("new ranks keep the order of arrival", () => {
  const queue = new ReadyQueue();
  for (const task of [1, 2, 3, 4]) queue.push(task, 0, 0);
  queue.rerank((task) => (task === 2 ? 1 : 0));
  queue.push(5, 0, 0);
  assert.deepEqual(drain(queue), [1, 3, 4, 5, 2]);
});

test("a cleared queue is empty", () => {
  const queue = new ReadyQueue();
  queue.push(1, 0, 0);
  queue.clear();
  assert.deepEqual(drain(queue), []);
});
