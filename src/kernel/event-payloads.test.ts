import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Bug } from "../base/assert.ts";
import type { Event, InstanceContinued, InstanceCreated } from "./event.ts";
import { mapPayloads, payloadRefsIn } from "./event-payloads.ts";
import type { Payload } from "./payload.ts";

const ref = (place: number): { ref: number; bytes: number } => ({ ref: place, bytes: 5000 + place });

const created: InstanceCreated = {
  type: "InstanceCreated",
  workflow: "w",
  version: "1",
  generation: 1,
  context: { node: ref(0), ref: "1", b: '"small"', c: ref(1) },
  maxConcurrentTasks: 5,
  trigger: "api",
  input: ref(2),
};

const continued: InstanceContinued = {
  type: "InstanceContinued",
  workflow: "w",
  version: "1",
  generation: 2,
  createdAt: 1,
  input: "1",
  trigger: "api",
  events: [{ name: "a" }, { name: "b", data: ref(3) }],
  answers: [{ type: "UpdateAnswered", update: "u", output: ref(4) }],
};

const events: readonly Event[] = [
  created,
  { type: "InstanceStarted" },
  { type: "ContextPatched", patch: { a: null, b: ref(5) } },
  { type: "TaskSucceeded", task: 0, attempt: 1, output: ref(6), patch: { c: ref(7) }, subTasks: [{ nodeId: 1 }] },
  { type: "InstanceReopened", generation: 2, reset: [], settled: [{ task: 1, status: "Success", output: ref(8) }] },
  continued,
  { type: "EventRaised", name: "e", data: ref(9) },
  { type: "UpdateRequested", update: "u", name: "n", data: ref(10) },
  { type: "UpdateAnswered", update: "u", output: ref(11) },
  { type: "InstanceEnded", status: "Success", output: ref(12) },
];

describe("the payloads of events", () => {
  test("are found wherever an event has one, whatever users call their keys", () => {
    const found = events.flatMap(payloadRefsIn).map((each) => each.ref);
    assert.deepEqual(found, [0, 1, 2, 5, 6, 7, 8, 3, 4, 9, 10, 11, 12]);
  });

  test("are not sought in nodes and texts", () => {
    const node = { nodeId: 1, odd: ref(1) };
    assert.deepEqual(payloadRefsIn({ type: "TaskAdded", node }), []);
    const output = '{"ref":1,"bytes":2}';
    assert.deepEqual(payloadRefsIn({ type: "TaskSucceeded", task: 0, attempt: 1, output, subTasks: [node] }), []);
  });

  test("are replaced, and nothing else", () => {
    const textOf = (payload: Payload): string => (typeof payload === "object" ? `"${payload.ref}"` : payload);
    assert.deepEqual(mapPayloads(created, textOf), {
      ...created,
      context: { node: '"0"', ref: "1", b: '"small"', c: '"1"' },
      input: '"2"',
    });
    assert.deepEqual(mapPayloads(continued, textOf), {
      ...continued,
      events: [{ name: "a" }, { name: "b", data: '"3"' }],
      answers: [{ type: "UpdateAnswered", update: "u", output: '"4"' }],
    });
    assert.deepEqual(mapPayloads({ type: "ContextPatched", patch: { a: null, b: ref(5) } }, textOf), {
      type: "ContextPatched",
      patch: { a: null, b: '"5"' },
    });
  });

  test("leave an event as it is if none changes", () => {
    for (const event of events)
      assert.equal(
        mapPayloads(event, (payload) => payload),
        event,
      );
  });

  test("have a known place in every event", () => {
    assert.throws(() => payloadRefsIn({ type: "FromTheFuture" } as never), Bug);
  });
});
