import assert from "node:assert/strict";
import { test } from "node:test";
import { TaskSet } from "./task-set.ts";

test("a set of tasks has what was added and not taken out, in the order it came", () => {
  const tasks = new TaskSet();
  tasks.delete(1);
  assert.deepEqual([tasks.size, [...tasks]], [0, []]);
  for (const task of [3, 1, 2, 3]) tasks.add(task);
  tasks.delete(1);
  assert.deepEqual([tasks.size, [...tasks]], [2, [3, 2]]);
  tasks.clear();
  assert.deepEqual([tasks.size, [...tasks]], [0, []]);
});
