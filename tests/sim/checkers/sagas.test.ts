import { test } from "node:test";
import type { Event } from "../../../src/kernel/event.ts";
import { code } from "../code-workflows.ts";
import { expectViolations } from "./expect-violations.ts";
import { checkSagas } from "./sagas.ts";
import { createdCode, EvidenceBuilder } from "./evidence-builder.ts";

const failure = { type: "Error", message: "no", retryable: true };
const failed: Event = { type: "InstanceEnded", status: "Failed", reason: "no" };
const succeededWell: Event = { type: "InstanceEnded", status: "Success" };
const canceled: Event = { type: "CancelRequested", reason: "m" };
const stopped: Event = { type: "InstanceEnded", status: "Terminated", reason: "m" };

test("a saga that fails and is undone, the last step first", () => {
  expectViolations(
    checkSagas,
    saga(...done(0, "do 0"), ...done(1, "do 1"), ...bad(2), ...done(3, "undo 1"), ...done(4, "undo 0"), failed),
  );
});

test("a saga that is undone from its beginning", () => {
  const builder = saga(
    ...done(0, "do 0"),
    ...done(1, "do 1"),
    ...bad(2),
    ...done(3, "undo 0"),
    ...done(4, "undo 1"),
    failed,
  );
  expectViolations(checkSagas, builder, /what was undone are the steps \[0 1\], not \[1 0\]/);
});

test("a step that is not undone, and one whose undoing has not come to its end", () => {
  const builder = saga(...done(0, "do 0"), ...done(1, "do 1"), ...bad(2), ...done(3, "undo 1"), failed);
  expectViolations(checkSagas, builder, /what was undone are the steps \[1\], not \[1 0\]/);
  const half = saga(...done(0, "do 0"), ...bad(1), ...begun(2, "undo 0"), { type: "TasksStopped", tasks: [2] }, failed);
  expectViolations(checkSagas, half, /of the steps \[0\] only \[\] were undone to the end/);
});

test("something that is undone and was not done, or though all is well", () => {
  const builder = saga(...bad(0), ...done(1, "undo 0"), failed);
  expectViolations(checkSagas, builder, /what was undone are the steps \[0\], not \[\]/);
  const well = saga(...done(0, "do 0"), ...done(1, "undo 0"), succeededWell);
  expectViolations(checkSagas, well, /undo 0 began, and nothing had gone wrong/, /are the steps \[0\], not \[\]/);
});

test("a saga that is canceled, and what is to happen then", () => {
  const end = [...done(1, "on cancel"), ...done(2, "undo 0"), stopped];
  expectViolations(checkSagas, saga(...done(0, "do 0"), canceled, ...end));
  expectViolations(checkSagas, saga(...done(0, "do 0"), canceled, ...done(1, "undo 0"), stopped), /happened 0 times/);
  expectViolations(
    checkSagas,
    saga(...done(0, "on cancel"), succeededWell),
    /took itself for canceled, and nobody had asked/,
  );
});

test("a saga that times out is undone, and hears of it", () => {
  const reason = "the instance did not end within its timeout of 3 s";
  const timedOut: Event[] = [
    { type: "InstanceTimedOut", compensationMs: 1 },
    { type: "CancelRequested", reason },
  ];
  const end: Event = { type: "InstanceEnded", status: "Failed", reason };
  const undone = [...done(1, "on cancel"), ...done(2, "undo 0")];
  expectViolations(checkSagas, saga(...done(0, "do 0"), ...timedOut, ...undone, end));
  expectViolations(checkSagas, saga(...done(0, "do 0"), ...timedOut, ...done(1, "undo 0"), end), /happened 0 times/);
  const dropped = saga(...done(0, "do 0"), ...timedOut, ...done(1, "on cancel"), end);
  expectViolations(checkSagas, dropped, /what was undone are the steps \[\], not \[0\]/);
});

test("a saga that is terminated stops where it is", () => {
  const builder = saga(...done(0, "do 0"), ...done(1, "do 1"), ...bad(2), ...done(3, "undo 1"), stopped);
  builder.ask(builder.life(), "terminate", { marker: "m" });
  expectViolations(checkSagas, builder);
});

function saga(...events: readonly Event[]): EvidenceBuilder {
  const builder = new EvidenceBuilder();
  builder.turn(builder.life(), 1, createdCode(builder, code.saga, {}, ...events));
  return builder;
}

function begun(task: number, nodeName: string): Event[] {
  return [
    { type: "TaskAdded", node: { nodeId: task, nodeName, jobName: "step" } },
    { type: "TasksScheduled", tasks: [task] },
  ];
}

function done(task: number, nodeName: string): Event[] {
  return [...begun(task, nodeName), { type: "TaskSucceeded", task, attempt: 1 }];
}

function bad(task: number): Event[] {
  return [...begun(task, "broken"), { type: "TaskFailed", task, attempt: 1, failure }];
}
