import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { textOfEvents } from "../kernel/event-text.ts";
import type { Event } from "../kernel/event.ts";
import type { OutboxMessage } from "../runtime/outbox.ts";
import { messageWithKeys, nestedIn, nestedInEvents, nestedInMessage, payloadRefs, withKeys } from "./references.ts";

const keyOf = (key: number): number => key + 1000;

function text(...events: readonly Event[]): string {
  return textOfEvents(events);
}

describe("large values", () => {
  test("are found wherever an event has one", () => {
    const ref = (place: number): { ref: number; bytes: number } => ({ ref: place, bytes: 5000 + place });
    const events = text(
      {
        type: "InstanceCreated",
        workflow: "w",
        version: "1",
        generation: 1,
        context: { a: ref(0), b: '"small"' },
        maxConcurrentTasks: 5,
        trigger: "api",
      },
      { type: "ContextPatched", patch: { a: null, b: ref(1) } },
      { type: "TaskSucceeded", task: 0, attempt: 1, output: ref(2), patch: { c: ref(3) } },
      { type: "InstanceReopened", generation: 2, reset: [], settled: [{ task: 1, status: "Success", output: ref(4) }] },
    );
    assert.deepEqual(payloadRefs(events), [ref(0), ref(1), ref(2), ref(3), ref(4)]);
  });

  test("are not what users have in nodes of their own, or in texts", () => {
    const node = { nodeId: 1, odd: { ref: 1, bytes: 2 } };
    const events = text(
      { type: "TaskAdded", parent: 0, node },
      { type: "TaskSucceeded", task: 0, attempt: 1, output: '{"ref":1,"bytes":2}', subTasks: [node] },
    );
    assert.deepEqual(payloadRefs(events), []);
  });
});

describe("nested workflows", () => {
  const node = { nodeId: 1, workflowName: "inner", workflowVersion: "v1" };

  test("are found in definitions, in events and in messages", () => {
    const found = [{ name: "inner", version: "v1" }];
    assert.deepEqual(nestedIn([{ nodeId: 2 }, { nodeId: 3, workflowName: "no version" }, node]), found);
    assert.deepEqual(nestedInEvents(text({ type: "TaskAdded", parent: 0, node })), found);
    const succeeded: Event = { type: "TaskSucceeded", task: 0, attempt: 1, subTasks: [node, { nodeId: 4 }] };
    assert.deepEqual(nestedInEvents(text({ type: "InstancePaused" }, succeeded)), found);
    const parent = { id: "p", key: 1, generation: 1, task: 0, attempt: 1, depth: 1 };
    const start: OutboxMessage = {
      kind: "start-child",
      from: 1,
      to: "p/n",
      workflow: "inner",
      version: "v1",
      context: {},
      parent,
    };
    assert.deepEqual(nestedInMessage(JSON.stringify(start)), found);
    assert.deepEqual(
      nestedInMessage(JSON.stringify({ kind: "tombstone", from: 1, to: "x" } satisfies OutboxMessage)),
      [],
    );
  });
});

describe("keys", () => {
  const parent = { id: "p", key: 7, generation: 1, task: 0, attempt: 1, depth: 1 };

  test("are given anew in the addresses of parents, and nothing else changes", () => {
    const events: Event[] = [
      { type: "ParentChanged", parent },
      { type: "TaskAdded", parent: 7, node: { nodeId: 7 } },
      { type: "InstanceReopened", generation: 2, reset: [7], parent },
    ];
    const expected = text(
      { type: "ParentChanged", parent: { ...parent, key: 1007 } },
      { type: "TaskAdded", parent: 7, node: { nodeId: 7 } },
      { type: "InstanceReopened", generation: 2, reset: [7], parent: { ...parent, key: 1007 } },
    );
    assert.equal(withKeys(text(...events), keyOf), expected);
  });

  test("are given anew in messages: that of the sender, and that of the parent", () => {
    const messages: readonly [OutboxMessage, OutboxMessage][] = [
      [
        { kind: "start-child", from: 7, to: "c", workflow: "w", version: "1", context: {}, parent },
        {
          kind: "start-child",
          from: 1007,
          to: "c",
          workflow: "w",
          version: "1",
          context: {},
          parent: { ...parent, key: 1007 },
        },
      ],
      [
        { kind: "tell-child", from: 7, to: "c", order: { type: "RetryInstance", parent } },
        { kind: "tell-child", from: 1007, to: "c", order: { type: "RetryInstance", parent: { ...parent, key: 1007 } } },
      ],
      [
        { kind: "tell-child", from: 7, to: "c", order: { type: "PauseInstance" } },
        { kind: "tell-child", from: 1007, to: "c", order: { type: "PauseInstance" } },
      ],
    ];
    for (const [before, after] of messages) assert.deepEqual(messageWithKeys(JSON.stringify(before), keyOf), after);
  });
});
