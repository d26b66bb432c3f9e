import assert from "node:assert/strict";
import { test } from "node:test";
import { instanceCode, instanceStatus, nodeCode, taskStatus } from "./codes.ts";
import type { InstanceStatus, TaskStatus } from "../kernel/status.ts";

test("a task's status as PowerJob's code of a node", () => {
  const codes: Record<TaskStatus, number> = {
    Pending: 1,
    Running: 3,
    Failed: 4,
    TimeoutFailed: 4,
    Success: 5,
    Skipped: 5,
    Canceled: 9,
    Stopped: 10,
  };
  for (const [status, code] of Object.entries(codes)) assert.equal(nodeCode(status as TaskStatus), code, status);
});

test("a pending task that is on its way to a worker is waiting for it to receive", () => {
  assert.equal(nodeCode("Pending", true), 2);
  assert.equal(nodeCode("Running", true), 3);
});

test("an instance's status as PowerJob's code", () => {
  const codes: Record<InstanceStatus, number> = {
    Ready: 1,
    Running: 2,
    Paused: 2,
    Failed: 3,
    Success: 4,
    Terminated: 10,
  };
  for (const [status, code] of Object.entries(codes))
    assert.equal(instanceCode(status as InstanceStatus), code, status);
});

test("PowerJob's codes as statuses", () => {
  const tasks = [1, 2, 3, 4, 5, 9, 10].map(taskStatus);
  assert.deepEqual(tasks, ["Pending", "Pending", "Running", "Failed", "Success", "Canceled", "Stopped"]);
  const instances = [1, 2, 3, 4, 10].map(instanceStatus);
  assert.deepEqual(instances, ["Ready", "Running", "Failed", "Success", "Terminated"]);
});

test("a number that is no code has no status", () => {
  assert.deepEqual([0, 6, 99].map(taskStatus), [undefined, undefined, undefined]);
  assert.deepEqual([0, 5, 9].map(instanceStatus), [undefined, undefined, undefined]);
});

test("a code goes to a status and back, but for what waits to be received", () => {
  for (const code of [1, 3, 4, 5, 9, 10]) assert.equal(nodeCode(taskStatus(code)!), code);
  for (const code of [1, 2, 3, 4, 10]) assert.equal(instanceCode(instanceStatus(code)!), code);
});
