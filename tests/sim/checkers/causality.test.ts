import { test } from "node:test";
import { epochMs } from "../clock.ts";
import { caught } from "./caught.ts";
import { checkCausality } from "./causality.ts";
import { created, goodRun, Scene, solo } from "./scene.ts";

test("a job that runs before its scheduling is durable", () => {
  const scene = new Scene();
  const life = scene.life();
  scene.run(life, "a:1:0:1");
  scene.turn(life, 1, created(scene, solo));
  caught(checkCausality, scene, /a:1:0:1 ran before its scheduling was durable/);
});

test("a job that nobody scheduled", () => {
  const { scene, life } = goodRun();
  scene.run(life, "a:1:0:7");
  scene.run(life, "z:1:0:1");
  caught(checkCausality, scene, /its history does not know of it/, /no history knows its instance/);
});

test("a job that runs again after its task has succeeded", () => {
  const { scene, life } = goodRun();
  scene.run(life, "a:1:0:1");
  caught(checkCausality, scene, /ran 0 ms after it had succeeded/, /ran after its task had succeeded/);
});

test("a job that starts while its instance is paused", () => {
  const scene = new Scene();
  const life = scene.life();
  scene.turn(life, 1, created(scene, solo));
  scene.turn(life, 1, [{ type: "PauseRequested" }, { type: "TasksWithdrawn", tasks: [0] }, { type: "InstancePaused" }]);
  scene.run(life, "a:1:0:1");
  caught(checkCausality, scene, /a:1:0:1 ran while its instance was paused/);
});

test("a grant that comes to a worker when its time is out, and one that comes when it is long out", () => {
  const scene = new Scene({ isCluster: true });
  const life = scene.life();
  const worker = scene.life("w1", "worker");
  scene.turn(life, 1, created(scene, solo));
  const failure = { type: "TASK_TIMEOUT", message: "too long", retryable: true };
  scene.turn(life, 1, [{ type: "TaskFailed", task: 0, attempt: 1, failure, timedOut: true, retryAt: 1 }]);
  scene.now += 1000;
  scene.run(worker, "a:1:0:1");
  caught(checkCausality, scene);
  scene.run(life, "a:1:0:1");
  scene.now += 60_000;
  scene.run(worker, "a:1:0:1");
  const late = /a:1:0:1 ran \d+ ms after it had timed out/;
  caught(checkCausality, scene, late, late);
});

test("a success that never happened", () => {
  const { scene, run } = goodRun();
  run.end = undefined;
  caught(checkCausality, scene, /a:1:0:1 is recorded as a success that never happened/);
});

test("a report that the history must not have", () => {
  const { scene, life } = goodRun();
  const events = JSON.stringify([{ type: "TaskFailed", task: 0, attempt: 1, failure: {} }]);
  scene.commit(life, { history: [{ instance: 1, turn: 2, firstEvent: 5, at: 0, events }] });
  caught(checkCausality, scene, /TaskFailed after its end/, /task 0, attempt 1, which is not open/);
});

test("a retry that comes due early in the history", () => {
  const scene = new Scene();
  const life = scene.life();
  scene.turn(life, 1, created(scene, solo));
  const failure = { type: "Error", message: "no", retryable: true };
  scene.turn(life, 1, [
    { type: "TaskFailed", task: 0, attempt: 1, failure, retryAt: epochMs + 9000 },
    { type: "RetriesDue", tasks: [0] },
    { type: "TasksScheduled", tasks: [0] },
  ]);
  caught(checkCausality, scene, /a: a retry of task 0 comes due 8000 ms early/);
});

test("a job that starts after somebody was told that its instance is terminated", () => {
  const scene = new Scene();
  const life = scene.life();
  scene.turn(life, 1, created(scene, solo));
  scene.answer(scene.ask(life, "terminate"));
  scene.run(life, "a:1:0:1");
  caught(checkCausality, scene, /a:1:0:1 ran after its instance was said to be terminated/);
});
