import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hasCode } from "../base/error.ts";
import type { Event } from "./event.ts";
import { eventsIn, parseEvents, textOfEvents } from "./event-text.ts";

const created: Event = {
  type: "InstanceCreated",
  workflow: "order",
  version: "1",
  generation: 1,
  context: {},
  maxConcurrentTasks: 5,
  trigger: "api",
};
const run = { task: 3, attempt: 2, worker: "host:7", startedAt: 1000 };
const parent = { id: "p", key: 7, generation: 1, task: 0, attempt: 1, depth: 1 };

/** Texts that are on disk somewhere: none of them may ever be read in another way. */
const onDisk: readonly [text: string, event: Event][] = [
  ['["C","order","1",5]', created],
  [
    '["C","order","1",5,{"generation":2,"context":{"a":"1"},"trigger":"nested","parent":{"id":"p","key":7,"generation":1,"task":0,"attempt":1,"depth":1},"app":"shop","flags":[1]}]',
    { ...created, generation: 2, context: { a: "1" }, trigger: "nested", parent, app: "shop", flags: [1] },
  ],
  [
    '["C","a \\"b\\" \\\\ ü","\\n",0,{"input":"[1]"}]',
    { ...created, workflow: 'a "b" \\ ü', version: "\n", maxConcurrentTasks: 0, input: "[1]" },
  ],
  ['["S"]', { type: "InstanceStarted" }],
  ['["S",{"deadline":99}]', { type: "InstanceStarted", deadline: 99 }],
  ['["Q",[0,12]]', { type: "TasksScheduled", tasks: [0, 12] }],
  ['["Q",[]]', { type: "TasksScheduled", tasks: [] }],
  ['["A",{"nodeId":0,"jobName":"ship"}]', { type: "TaskAdded", node: { nodeId: 0, jobName: "ship" } }],
  ['["A",{"nodeId":1},{"parent":0}]', { type: "TaskAdded", parent: 0, node: { nodeId: 1 } }],
  ['["B",3,2,"host:7",1000]', { type: "TaskStarted", ...run }],
  ['["D",3,2,"host:7",1000]', { type: "TaskSucceeded", ...run }],
  [
    '["D",3,2,"host:7",1000.5,{"output":"\\"x\\""}]',
    { type: "TaskSucceeded", ...run, startedAt: 1000.5, output: '"x"' },
  ],
  ['["F",3,2]', { type: "TaskSucceeded", task: 3, attempt: 2 }],
  ['["F",3,2,{"worker":"host:7"}]', { type: "TaskSucceeded", task: 3, attempt: 2, worker: "host:7" }],
  [
    '["F",3,2,{"output":{"ref":1,"bytes":5000}}]',
    { type: "TaskSucceeded", task: 3, attempt: 2, output: { ref: 1, bytes: 5000 } },
  ],
  ['["E","Success"]', { type: "InstanceEnded", status: "Success" }],
  ['["E","Failed",{"reason":"why"}]', { type: "InstanceEnded", status: "Failed", reason: "why" }],
  ['{"type":"TimerFired","timer":1}', { type: "TimerFired", timer: 1 }],
];

describe("events on disk", () => {
  for (const [text, event] of onDisk) {
    test(text, () => {
      assert.equal(textOfEvents([event]), `[${text}]`);
      assert.deepEqual(eventsIn(`[${text}]`), [event]);
    });
  }

  test("are an array of them", () => {
    const events = onDisk.map(([, event]) => event);
    const text = textOfEvents(events);
    assert.equal(text, `[${onDisk.map(([each]) => each).join(",")}]`);
    assert.deepEqual(eventsIn(text), events);
    assert.equal(textOfEvents([]), "[]");
  });

  test("may be whole events, whether they have a short form or not", () => {
    const events = onDisk.map(([, event]) => event);
    assert.deepEqual(eventsIn(JSON.stringify(events)), events);
  });

  test("keep fields that a later version has added, and leave out those without a value", () => {
    const later = { type: "TaskSucceeded", ...run, cost: 5 } as Event;
    assert.equal(textOfEvents([later]), '[["D",3,2,"host:7",1000,{"cost":5}]]');
    assert.deepEqual(eventsIn(textOfEvents([later])), [later]);
    const without = { type: "InstanceEnded", status: "Success", reason: undefined } as unknown as Event;
    assert.equal(textOfEvents([without]), '[["E","Success"]]');
  });

  test("do not share a context", () => {
    const [one, other] = eventsIn(textOfEvents([created, created])) as { context: object }[];
    assert.notEqual(one?.context, other?.context);
  });

  test("are damaged if they are no text of events", () => {
    for (const text of ["", "[", "null", "{}", "7", '[["X",1]]', '[["toString"]]', "[[]]"]) {
      assert.throws(
        () => parseEvents(text, "turn 4 of a history"),
        (error) => hasCode(error, "STORE_CORRUPT") && error.message.includes("turn 4 of a history"),
        text,
      );
    }
  });
});
