import { test } from "node:test";
import { TaskBuilder } from "../../../src/authoring/task-builder.ts";
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

function history(...events: readonly Event[]): EvidenceBuilder {
  const builder = new EvidenceBuilder({});
  const life = builder.life();
  builder.claim(life);
  builder.turn(life, 1, [...created(builder, map), started, ...events]);
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
