import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Event } from "../kernel/event.ts";
import type { PayloadRef } from "../kernel/payload.ts";
import { arrivalOf } from "./code-arrival.ts";

const failure = { type: "E", message: "no", retryable: true };
const unread = { read: (): never => assert.fail("nothing has to be read") };
const large: PayloadRef = { ref: 5, bytes: 9999 };
const reader = { read: ({ ref }: PayloadRef): Promise<string> => Promise.resolve(`"text ${ref}"`) };

describe("what an event is to the code", () => {
  test("each arrival, at once where its value is at hand", () => {
    const pairs: readonly [Event, unknown][] = [
      [{ type: "InstanceStarted" }, { type: "start", input: "1", events: [] }],
      [
        { type: "TaskSucceeded", task: 3, attempt: 1, output: "2" },
        { type: "task-succeeded", task: 3, output: "2" },
      ],
      [
        { type: "TaskSucceeded", task: 3, attempt: 1 },
        { type: "task-succeeded", task: 3, output: undefined },
      ],
      [
        { type: "TaskFailed", task: 3, attempt: 1, failure },
        { type: "task-failed", task: 3, failure },
      ],
      [
        { type: "TimerFired", timer: 4 },
        { type: "timer-fired", timer: 4 },
      ],
      [
        { type: "EventRaised", name: "go", data: "3" },
        { type: "event", event: { name: "go", data: "3" } },
      ],
      [
        { type: "UpdateRequested", update: "u", name: "set", data: "4" },
        { type: "update", update: "u", name: "set", data: "4" },
      ],
      [
        { type: "CancelRequested", reason: "x" },
        { type: "cancel", reason: "x", isHeld: false },
      ],
      [
        { type: "CancelRequested", reason: "x", isHeld: true },
        { type: "cancel", reason: "x", isHeld: true },
      ],
      [
        { type: "TasksStopped", tasks: [4], failure },
        { type: "task-failed", task: 4, failure },
      ],
      [{ type: "InstancePaused" }, { type: "paused" }],
      [{ type: "InstanceResumed" }, { type: "resumed" }],
    ];
    for (const [event, arrival] of pairs) assert.deepEqual(arrivalOf(event, "1", unread), arrival, event.type);
  });

  test("a failure with another attempt to come is none yet, nor is what the code did itself", () => {
    const others: readonly Event[] = [
      { type: "TaskFailed", task: 3, attempt: 1, failure, retryAt: 5 },
      { type: "TaskAdded", node: { nodeId: 1 } },
      { type: "TimerSet", timer: 0, dueAt: 1 },
      { type: "TasksStopped", tasks: [1] },
      { type: "InstanceEnded", status: "Success" },
    ];
    for (const event of others) assert.equal(arrivalOf(event, undefined, unread), undefined, event.type);
  });

  test("large values are read first", async () => {
    const text = '"text 5"';
    assert.deepEqual(await arrivalOf({ type: "InstanceStarted" }, large, reader), {
      type: "start",
      input: text,
      events: [],
    });
    assert.deepEqual(
      await arrivalOf({ type: "TaskSucceeded", task: 1, attempt: 1, output: large }, undefined, reader),
      {
        type: "task-succeeded",
        task: 1,
        output: text,
      },
    );
    assert.deepEqual(await arrivalOf({ type: "EventRaised", name: "go", data: large }, undefined, reader), {
      type: "event",
      event: { name: "go", data: text },
    });
  });

  test("a new beginning has its own input, and the events that were kept for it", async () => {
    const event: Event = {
      type: "InstanceContinued",
      workflow: "w",
      version: "1",
      generation: 2,
      createdAt: 1,
      trigger: "api",
      input: large,
      events: [{ name: "a" }, { name: "b", data: "1" }, { name: "c", data: { ref: 6, bytes: 9999 } }],
    };
    assert.deepEqual(await arrivalOf(event, "of the generation before", reader), {
      type: "start",
      input: '"text 5"',
      events: [
        { name: "a", data: undefined },
        { name: "b", data: "1" },
        { name: "c", data: '"text 6"' },
      ],
    });
    const { input: _input, events: _events, ...bare } = event;
    assert.deepEqual(await arrivalOf(bare, "1", unread), { type: "start", input: undefined, events: [] });
  });
});
