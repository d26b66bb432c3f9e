import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Event } from "../kernel/event.ts";
import { openChildren, pastUpTo, rewoundPast, type TimedEvent, withLastInput } from "./chosen-past.ts";

const created: Event = {
  type: "InstanceCreated",
  workflow: "order",
  version: "durabletask",
  generation: 1,
  context: {},
  maxConcurrentTasks: 0,
  trigger: "api",
};
const started: Event = { type: "InstanceStarted" };
const activity = (name: string): Event => ({
  type: "TaskAdded",
  node: { nodeId: 0, nodeName: name, jobName: `${name}@durabletask`, nodeParams: "1" },
});
const child: Event = { type: "TaskAdded", node: { nodeId: 1, nodeType: 3, workflowName: "child" } };
const childStarted = (task: number): Event => ({ type: "ChildStarted", task, attempt: 1, childId: `c-${task}` });
const failure = { type: "Error", message: "bad", retryable: true };
const failed = (task: number): Event => ({ type: "TaskFailed", task, attempt: 1, failure });
const succeeded = (task: number): Event => ({ type: "TaskSucceeded", task, attempt: 1 });
const ended: Event = { type: "InstanceEnded", status: "Failed", failure };

const timed = (...events: readonly Event[]): TimedEvent[] => events.map((event, at) => ({ event, at }));
const never = (): boolean => false;

describe("the past of an orchestration that is rewound", () => {
  test("has lost its end, what that stopped, and the failures before it", () => {
    const stopped: Event = { type: "TasksStopped", tasks: [1] };
    const canceled: Event = { type: "TasksCanceled", tasks: [2], cause: "instance-ended" };
    const past = timed(
      created,
      started,
      activity("a"),
      activity("b"),
      activity("c"),
      failed(0),
      canceled,
      stopped,
      ended,
    );
    const rewound = rewoundPast(past, never);
    assert.deepEqual(rewound.slice(0, 5), past.slice(0, 5));
    assert.deepEqual(rewound.slice(5), [{ at: 5, event: { ...failed(0), retryAt: 5 } }]);
  });

  test("keeps failures that the code has answered with something, such as a retry of its own", () => {
    const timer: Event = { type: "TimerSet", timer: 0, dueAt: 9 };
    const past = timed(created, started, activity("a"), failed(0), timer, { type: "TimerFired", timer: 0 }, ended);
    assert.deepEqual(rewoundPast(past, never), past.slice(0, -1));
  });

  test("names the children that are rewound with it, and starts those again that are gone", () => {
    const past = timed(
      created,
      started,
      child,
      childStarted(0),
      child,
      childStarted(1),
      succeeded(0),
      failed(1),
      ended,
    );
    assert.deepEqual([...openChildren(past)], [[1, "c-1"]]);
    const { event } = rewoundPast(past, (task) => task === 1).at(-1) ?? {};
    assert.deepEqual(event, { ...failed(1), retryAt: 7, isChildMissing: true });
  });
});

describe("the past up to an event of the protocol", () => {
  const timer: Event = { type: "TimerSet", timer: 0, dueAt: 9 };
  const past = timed(created, started, activity("a"), timer, child, childStarted(1), succeeded(0), ended);

  test("is found by the id that clients see", () => {
    const kinds = [1, 2, 3, 4].map((id) => {
      const found = pastUpTo("o-1", past, id);
      return [found?.kind, found?.past.length];
    });
    assert.deepEqual(kinds, [
      ["activity", 3],
      ["timer", 4],
      ["child", 5],
      ["other", 8],
    ]);
    assert.equal(pastUpTo("o-1", past, 5), undefined);
    // SDKs that count from 0 leave marks.
    const marked = timed(created, started, { type: "PatchMarked", patch: "durabletask.id=0" }, activity("a"));
    assert.equal(pastUpTo("o-1", marked, 0)?.past.length, 4);
    assert.equal(pastUpTo("o-1", marked, 1), undefined);
  });

  test("may end with another input", () => {
    const upTo = pastUpTo("o-1", past, 1)?.past ?? [];
    const paramsOf = (input: string | undefined): string | undefined => {
      const { event } = withLastInput(upTo, input).at(-1) ?? {};
      return event?.type === "TaskAdded" ? event.node.nodeParams : undefined;
    };
    assert.equal(paramsOf("2"), "2");
    assert.equal(paramsOf(undefined), undefined);
    assert.deepEqual(withLastInput(upTo, "2").slice(0, -1), upTo.slice(0, -1));
  });
});
