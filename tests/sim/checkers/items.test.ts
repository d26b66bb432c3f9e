import { test } from "node:test";
import { TaskBuilder } from "../../../src/authoring/task-builder.ts";
import type { Workflow } from "../../../src/authoring/workflow.ts";
import { WorkflowBuilder } from "../../../src/authoring/workflow-builder.ts";
import { firstItemNumber } from "../../../src/kernel/dag/map-items.ts";
import type { Event } from "../../../src/kernel/event.ts";
import { created, EvidenceBuilder } from "./evidence-builder.ts";
import { expectViolations } from "./expect-violations.ts";
import { checkItems } from "./items.ts";

const map = new WorkflowBuilder()
  .withName("map")
  .withTask(new TaskBuilder("m").withJobFunction("step").withMap([1, 2, 3], { concurrency: 2 }))
  .build();

const [a, b, c] = [firstItemNumber, firstItemNumber + 1, firstItemNumber + 2];
const started: Event = { type: "MapStarted", task: 0, attempt: 1, pages: [{ count: 3, items: "[1,2,3]" }] };
const done = (task: number, output?: string): Event => ({
  type: "TaskSucceeded",
  task,
  attempt: 1,
  ...(output !== undefined && { output }),
});
const scheduled = (...tasks: number[]): Event => ({ type: "TasksScheduled", tasks });
const summary = (succeeded: number): string => `{"total":3,"succeeded":${succeeded},"failed":0}`;

const reduced = new WorkflowBuilder()
  .withName("reduced")
  .withTask(new TaskBuilder("m").withJobFunction("step").withMap([1, 2], { concurrency: 2 }).withReduce("sum"))
  .build();
const reducedStarted: Event = { type: "MapStarted", task: 0, attempt: 1, pages: [{ count: 2, items: "[1,2]" }] };

function history(...events: readonly Event[]): EvidenceBuilder {
  return historyOf(map, started, ...events);
}

function historyOf(workflow: Workflow, ...events: readonly Event[]): EvidenceBuilder {
  const builder = new EvidenceBuilder({});
  const life = builder.life();
  builder.claim(life);
  builder.turn(life, 1, [...created(builder, workflow), ...events]);
  return builder;
}

test("items that end within their limit, and are counted", () => {
  const events = [scheduled(a, b), done(b), scheduled(c), done(a), done(c), done(0, summary(3))];
  expectViolations(checkItems, history(...events));
});

test("more items than the map allows", () => {
  expectViolations(checkItems, history(scheduled(a, b, c)), /3 items are under way, of 2/);
});

test("a map that ends too soon, or counts wrong", () => {
  const early = history(scheduled(a, b), done(a), done(b), done(0, summary(2)));
  expectViolations(checkItems, early, /ends after 2 of 3 items/);
  const wrong = history(scheduled(a, b), done(a), done(b), scheduled(c), done(c), done(0, summary(2)));
  expectViolations(checkItems, wrong, /says succeeded 2, not 3/);
});

test("an item that runs after its success, or after the end of its map", () => {
  expectViolations(checkItems, history(scheduled(a), done(a), scheduled(a)), /after its success/);
  const stopped: Event = { type: "TasksStopped", tasks: [0] };
  expectViolations(checkItems, history(scheduled(a), stopped, scheduled(b)), /its map does not run/);
});

test("a reduce that starts before all items have ended, or is left out", () => {
  const items = [reducedStarted, scheduled(a, b), done(a), done(b)];
  expectViolations(checkItems, historyOf(reduced, ...items, scheduled(c), done(c, "7"), done(0, "7")));
  const early = historyOf(reduced, reducedStarted, scheduled(a, b), done(a), scheduled(c));
  expectViolations(checkItems, early, /reduce is scheduled after 1 of 2 items/);
  expectViolations(checkItems, historyOf(reduced, ...items, done(0, "7")), /without the job after its items/);
  const other = historyOf(reduced, ...items, scheduled(c), done(c, "7"), done(0, "8"));
  expectViolations(checkItems, other, /another output than the job/);
});
