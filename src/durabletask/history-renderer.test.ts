import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Step } from "../kernel/code/step.ts";
import type { Event } from "../kernel/event.ts";
import { historyEvent } from "./history-messages.ts";
import { HistoryRenderer } from "./history-renderer.ts";
import { stepsOf } from "./steps-of-actions.ts";
import { orchestratorRequest, orchestratorResponse } from "./worker-messages.ts";

const created: Event = {
  type: "InstanceCreated",
  workflow: "@acme/order",
  version: "durabletask:2",
  generation: 1,
  context: {},
  maxConcurrentTasks: 0,
  trigger: "api",
  input: '{"a":1}',
};
const started: Event = { type: "InstanceStarted" };
const activity: Event = { type: "TaskAdded", node: { nodeId: 0, nodeName: "pay", jobName: "pay@durabletask" } };

function renderer(): HistoryRenderer {
  return new HistoryRenderer({ instanceId: "@acme/o-1", withPauses: false });
}

const kinds = (events: readonly object[]): string[] =>
  events.map((event) => Object.keys(event).find((key) => key !== "eventId" && key !== "at") ?? "");

const known = { isJob: (name: string) => name === "own-job", isWorkflow: (name: string) => name === "own-flow" };

/** The steps that follow from an answer, given as the bytes that a worker sends. */
function steps(hex: string, history = renderer()): Step[] {
  const response = orchestratorResponse.decode(Buffer.from(hex.replaceAll(" ", ""), "hex"));
  return stepsOf(response, { instanceId: "@acme/o-1", history, known });
}

describe("the history of an instance, as an orchestration", () => {
  test("has one start per turn, ids by the order of the actions, and local names", () => {
    const history = renderer();
    const turns: readonly (readonly Event[])[] = [
      [created, started],
      [activity, { type: "TasksScheduled", tasks: [0] }],
      [{ type: "TaskSucceeded", task: 0, attempt: 1, output: "7" }],
      [{ type: "TimerSet", timer: 0, dueAt: 5000 }],
      [{ type: "TimerFired", timer: 0 }],
      [{ type: "InstanceEnded", status: "Success", output: "8" }],
    ];
    const events = turns.flatMap((each, turn) => history.render({ turn, at: 1000 + turn, events: each }));
    assert.deepEqual(kinds(events), [
      "orchestratorStarted",
      "executionStarted",
      "taskScheduled",
      "orchestratorStarted",
      "taskCompleted",
      "timerCreated",
      "orchestratorStarted",
      "timerFired",
      "executionCompleted",
    ]);
    assert.deepEqual(
      events.map(({ eventId }) => eventId),
      [-1, -1, 1, -1, -1, 2, -1, -1, 3],
    );
    const { executionStarted: begun } = events[1] ?? {};
    assert.equal(begun?.name, "order");
    assert.equal(begun.version, "2");
    assert.equal(begun.instance?.instanceId, "o-1");
    assert.match(begun.instance.executionId ?? "", /^[0-9a-f]{32}$/);
    assert.equal(events[2]?.taskScheduled?.name, "pay");
    // The orchestrator's clock has reached the timer.
    assert.equal(events[6]?.at, 5000);
    assert.deepEqual(events[7]?.timerFired, { timerId: 2, fireAt: 5000 });
  });

  test("is the same in whatever parts its turns are given", () => {
    const events: Event[] = [created, started, { type: "EventRaised", name: "go" }, activity];
    const whole = renderer().render({ turn: 0, at: 1, events });
    const inParts = renderer();
    const parts = events.flatMap((event) => inParts.render({ turn: 0, at: 1, events: [event] }));
    assert.deepEqual(parts, whole);
  });

  test("begins anew with another execution id and the events that were kept", () => {
    const history = renderer();
    history.render({ turn: 0, at: 1, events: [created, started] });
    const before = history.executionId;
    const continued: Event = {
      type: "InstanceContinued",
      workflow: "@acme/order",
      version: "durabletask",
      generation: 2,
      createdAt: 1,
      trigger: "api",
      input: "2",
      events: [{ name: "go", data: "3" }],
    };
    const next = new HistoryRenderer({ instanceId: "@acme/o-1", withPauses: false });
    const events = next.render({ turn: 1, at: 2, events: [continued] });
    assert.deepEqual(kinds(events), ["orchestratorStarted", "executionStarted", "eventRaised"]);
    assert.notEqual(next.executionId, before);
    assert.equal(events[1]?.executionStarted?.version, undefined);
  });

  test("of one that runs on from a past has the times of that past, and shows a child once", () => {
    const forked: Event = { ...created, forkedFrom: { id: "@acme/o-1", generation: 1, times: [10, 10, 10, 20, 20] } };
    const child: Event = { type: "TaskAdded", node: { nodeId: 0, nodeType: 3, workflowName: "child" } };
    const childStarted = (attempt: number): Event => ({ type: "ChildStarted", task: 1, attempt, childId: "@acme/c" });
    const succeeded: Event = { type: "TaskSucceeded", task: 0, attempt: 1 };
    const events = [forked, started, activity, succeeded, child, childStarted(1), childStarted(2)];
    const whole = renderer().render({ turn: 0, at: 99, events });
    assert.deepEqual(kinds(whole), [
      "orchestratorStarted",
      "executionStarted",
      "taskScheduled",
      "orchestratorStarted",
      "taskCompleted",
      "childCreated",
    ]);
    assert.deepEqual(
      whole.map(({ at }) => at),
      [10, 10, 10, 20, 20, 99],
    );
    const inParts = renderer();
    assert.deepEqual(
      events.flatMap((event) => inParts.render({ turn: 0, at: 99, events: [event] })),
      whole,
    );
  });

  test("keeps tags from its code, and gives them on with a new beginning", () => {
    const history = renderer();
    const tags: Event = { type: "EventRaised", name: "durabletask.tags", data: '{"team":"looms"}' };
    const events = history.render({ turn: 0, at: 1, events: [created, started, tags] });
    assert.deepEqual(kinds(events), ["orchestratorStarted", "executionStarted"]);
    assert.deepEqual(events[1]?.executionStarted?.tags, new Map([["team", "looms"]]));
    const anew = steps("1215 0801 3211 0802 1203 0a0137 2a08 8a0105 0a03 676f6f", history);
    assert.equal(anew[0]?.type, "continue");
    assert.deepEqual(anew[0].events, [{ name: "durabletask.tags", data: '{"team":"looms"}' }, { name: "goo" }]);
  });

  test("is written as the protocol has it", () => {
    const events = [{ eventId: -1, at: 1500, timerFired: { timerId: 3, fireAt: 1500 } }];
    const bytes = orchestratorRequest.encode({ instanceId: "a", newEvents: events });
    const time = "0801 1080cab5ee01".replaceAll(" ", "");
    const event = `08ffffffffffffffffff01 1208${time} 6a0c 0a08${time} 1003`.replaceAll(" ", "");
    assert.equal(bytes.toString("hex"), `0a0161 22${(event.length / 2).toString(16)} ${event}`.replaceAll(" ", ""));
    assert.equal(historyEvent.decode(Buffer.from(event, "hex")).timerFired?.timerId, 3);
  });
});

describe("the answer of an orchestrator", () => {
  test("of an SDK that counts from 1 needs no mark; one that counts from 0 leaves one (.NET, Go, Java)", () => {
    // action { id: 1, scheduleTask { name: "pay", input { "5" } } }
    const node = { nodeId: 0, nodeName: "pay", jobName: "pay@durabletask", nodeParams: "5" };
    const [step] = steps("0a0161 120e 0801 120a 0a03706179 1a03 0a0135");
    assert.ok(step?.type === "activity");
    const { timeoutSeconds, ...rest } = step.node;
    assert.deepEqual(rest, node);
    assert.ok((timeoutSeconds ?? 0) > 1e9);
    // The same without an id, which is 0.
    const fromZero = steps("0a0161 120c 120a 0a03706179 1a03 0a0135");
    assert.deepEqual(
      fromZero.map(({ type }) => type),
      ["patch", "activity"],
    );
    const history = renderer();
    const patch = fromZero[0]?.type === "patch" ? fromZero[0].patch : "";
    history.render({ turn: 0, at: 1, events: [created, started, { type: "PatchMarked", patch }] });
    assert.equal(history.render({ turn: 1, at: 2, events: [activity] })[0]?.eventId, 0);
    assert.equal(history.nextId, 1);
  });

  test("of Dapr's dialect may have a router, a task execution id and a version, which are skipped", () => {
    // scheduleTask { name, taskExecutionId(5) }, action.router(9), response.version(6)
    const [step] = steps("0a0161 1211 0801 1209 0a03706179 2a027879 4a02 0a00 3206 0a04 70617463");
    assert.equal(step?.type, "activity");
  });

  test("names jobs and workflows of Heddle where there are some", () => {
    const job = steps("120d 0801 1209 0a076f776e2d6a6f62");
    assert.equal(job[0]?.type === "activity" && job[0].node.jobName, "own-job");
    const child = steps("1210 0801 1a0c 0a00 12086f776e2d666c6f77");
    assert.ok(child[0]?.type === "child");
    assert.equal(child[0].node.workflowVersion, undefined);
    assert.equal(child[0].childId, "@acme/o-1:0001");
  });

  test("sets far-future timers within the range of dates, and never a fraction of a millisecond early", () => {
    // 9999-12-31T23:59:59.999999999Z
    const far = steps("12130801220f0a0d08ff82d1ffaf0710ff93ebdc03");
    assert.deepEqual(far, [{ type: "timer", dueAt: 253_402_300_799_999 }]);
    // 1 s and 1 ns
    assert.deepEqual(steps("120a 0801 2206 0a04 0801 1001"), [{ type: "timer", dueAt: 1001 }]);
  });

  test("ends, fails, is terminated, or begins anew with events; calls of entities fail it", () => {
    assert.deepEqual(steps("120a 0801 3206 0801 1202 0a00"), [{ type: "complete" }]);
    const failed = steps("1213 0801 320f 0803 320b 0a05 4572726f72 1202 6261");
    assert.deepEqual(failed, [{ type: "fail", failure: { type: "Error", message: "ba", retryable: true } }]);
    assert.deepEqual(steps("120d 0801 3209 0805 1205 0a03 226f22"), [{ type: "cancel", reason: "o" }]);
    const anew = steps("1215 0801 3211 0802 1203 0a0137 2a08 8a0105 0a03 676f6f");
    assert.deepEqual(anew, [{ type: "continue", events: [{ name: "goo" }], input: "7" }]);
    const [entity] = steps("1204 0801 4200");
    assert.equal(entity?.type === "fail" && entity.failure.type, "NotSupported");
  });

  test("sets the custom status only where it changes", () => {
    assert.deepEqual(steps("1a05 0a03 226122"), [{ type: "custom-status", status: '"a"' }]);
    const history = renderer();
    history.render({ turn: 0, at: 1, events: [created, started, { type: "CustomStatusSet", status: '"a"' }] });
    assert.deepEqual(steps("1a05 0a03 226122", history), []);
    assert.deepEqual(steps("1a02 0a00", history), []);
  });
});
