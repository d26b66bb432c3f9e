import type { InstanceChange } from "../../src/engine/instance-change.ts";
import type { TaskView } from "../../src/views/instance-view.ts";
import type { Event } from "../../src/kernel/event.ts";

/** Noon of an ordinary day. */
export const noon = Date.UTC(2026, 0, 5, 12);

/** A change as the engine would tell it, but for what a test says about it. */
export function change(told: Partial<InstanceChange> = {}): InstanceChange {
  return {
    namespace: "default",
    app: undefined,
    instanceId: "order-1",
    workflowName: "orders",
    workflowVersion: "1",
    kind: "dag",
    turn: 0,
    firstEvent: 0,
    events: [],
    at: noon,
    status: "Running",
    pausing: false,
    reason: undefined,
    trigger: "api",
    traceparent: undefined,
    parentInstanceId: undefined,
    createdAt: noon,
    startedAt: noon,
    endedAt: undefined,
    ...told,
    tasks: (told.tasks ?? []).map((task, place) => (task.number === unnumbered ? { ...task, number: place } : task)),
  };
}

/** It gets the number of its place in the change that shows it. */
const unnumbered = -1;

export function taskView(name: string, told: Partial<TaskView> = {}): TaskView {
  return {
    number: unnumbered,
    name,
    nodeId: name,
    kind: "job",
    job: undefined,
    status: "Success",
    cause: undefined,
    attempt: 1,
    startedAt: noon,
    endedAt: noon,
    worker: "here",
    failure: undefined,
    retryAt: undefined,
    childInstanceId: undefined,
    parentTask: undefined,
    wait: undefined,
    ...told,
  };
}

export const created: Event = {
  type: "InstanceCreated",
  workflow: "orders",
  version: "1",
  generation: 1,
  context: {},
  maxConcurrentTasks: 5,
  trigger: "api",
};

export const started: Event = { type: "InstanceStarted" };

export function succeeded(task: number, told: { attempt?: number; worker?: string; startedAt?: number } = {}): Event {
  return { type: "TaskSucceeded", task, attempt: 1, worker: "here", startedAt: noon, ...told };
}

export function failed(
  task: number,
  told: { attempt?: number; timedOut?: true; retryAt?: number; message?: string } = {},
): Event {
  const { message = "no", ...rest } = told;
  const failure = { type: "Error", message, retryable: true };
  return { type: "TaskFailed", task, attempt: 1, worker: "here", startedAt: noon, failure, ...rest };
}

export function ended(status: "Success" | "Failed" | "Terminated"): Event {
  return { type: "InstanceEnded", status };
}
