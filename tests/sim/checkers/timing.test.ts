import { test } from "node:test";
import type { Event } from "../../../src/kernel/event.ts";
import { epochMs } from "../clock.ts";
import { code } from "../code-workflows.ts";
import { caught } from "./caught.ts";
import { created, createdCode, Scene, solo } from "./scene.ts";
import { checkTiming } from "./timing.ts";

const failure = { type: "Error", message: "no", retryable: true };

test("a retry that runs early", () => {
  const { scene, life } = failing({ retryMs: 500 });
  scene.now += 400;
  scene.run(life, "a:1:0:2");
  caught(checkTiming, scene, /a:1:0:2, a retry, ran 98\.0 ms early/);
});

test("a retry that seems early by as much as clocks differ", () => {
  const { scene, life } = failing({ retryMs: 500 });
  scene.lists.clockSettings.push({ ...scene.moment(), machine: "m1", wallOffsetMs: 100 });
  scene.now += 400;
  scene.run(life, "a:1:0:2");
  caught(checkTiming, scene);
});

test("a retry that is planned too early", () => {
  const { scene, life } = failing({ retryMs: 500 });
  const retryAt = epochMs + scene.now + 499;
  scene.turn(life, 1, [{ type: "TaskFailed", task: 0, attempt: 1, failure, retryAt }]);
  caught(checkTiming, scene, /a:1:0:1 failed, and its retry was planned 1 ms early/);
});

test("a turn with a time that no clock has shown", () => {
  const scene = new Scene();
  const life = scene.life();
  scene.turn(life, 1, created(scene, solo), epochMs + scene.now + 5);
  caught(checkTiming, scene, /a: turn 0 says .*, and its writer's clock had come to/);
});

test("an attempt that is timed out early", () => {
  const { scene, life, run } = failing({ timeoutMs: 1000 });
  run.end = undefined;
  scene.turn(life, 1, [{ type: "TaskFailed", task: 0, attempt: 1, failure, timedOut: true }]);
  caught(checkTiming, scene, /a:1:0:1 was timed out early/);
});

test("an attempt on a worker that is timed out early, counted from its grant", () => {
  const { scene, life, run } = failing({ timeoutMs: 1000 });
  const message = 'task "t" ran longer than its timeout of 1 s';
  const timedOut = { type: "TaskFailed", task: 0, attempt: 1, timedOut: true } as const;
  const execution = { worker: "m1:ab/w", startedAt: epochMs + run.start.at - 900 };
  run.end = undefined;
  scene.turn(life, 1, [{ ...timedOut, ...execution, failure: { ...failure, message } }]);
  caught(checkTiming, scene);
  const early = failing({ timeoutMs: 1000 });
  early.run.end = undefined;
  const late = { ...execution, startedAt: epochMs + run.start.at - 800 };
  early.scene.turn(early.life, 1, [{ ...timedOut, ...late, failure: { ...failure, message } }]);
  caught(checkTiming, early.scene, /a:1:0:1 was timed out early/);
});

test("a worker that hears late of a timeout: the wait for the retry does not count from there", () => {
  const scene = new Scene({ isCluster: true });
  const life = scene.life();
  const worker = scene.life("w1", "worker");
  scene.turn(life, 1, created(scene, solo));
  const run = scene.run(worker, "a:1:0:1", { retryMs: 500 });
  scene.now += 800;
  scene.ended(run, "aborted");
  scene.run(life, "a:1:0:2");
  caught(checkTiming, scene);
});

test("a grant that came to its worker after its time was out and its retry had begun", () => {
  const scene = new Scene({ isCluster: true });
  const life = scene.life();
  const worker = scene.life("w1", "worker");
  scene.turn(life, 1, created(scene, solo));
  scene.run(life, "a:1:0:2");
  scene.now += 800;
  scene.ended(scene.run(worker, "a:1:0:1", { retryMs: 500 }));
  caught(checkTiming, scene);
});

test("an instance that is timed out early", () => {
  const scene = new Scene();
  const life = scene.life();
  const [first, , ...rest] = created(scene, solo);
  scene.turn(life, 1, [first!, { type: "InstanceStarted", deadline: epochMs + 9000 }, ...rest]);
  const reason = "the instance did not end within its timeout of 1 s";
  scene.turn(life, 1, [
    { type: "TasksStopped", tasks: [0] },
    { type: "InstanceEnded", status: "Failed", reason },
  ]);
  caught(checkTiming, scene, /a was timed out early/);
});

test("code that is asked to end before its time is up, and one whose compensation is cut short", () => {
  const deadline = epochMs + 9000;
  const timedOut: Event = { type: "InstanceTimedOut", compensationMs: 5000, deadline: epochMs + 14_000 };
  const reason = "the instance did not end within its timeout of 1 s, and its compensation not within a further 5 s";
  const end: Event = { type: "InstanceEnded", status: "Failed", reason };
  for (const [early, events] of [
    [true, [timedOut]],
    [true, [end]],
    [false, [{ ...end, status: "Terminated" }]],
  ] as const) {
    const scene = new Scene();
    const [first, , ...rest] = createdCode(scene, code.timed, {});
    scene.turn(scene.life(), 1, [first!, { type: "InstanceStarted", deadline }, ...rest]);
    scene.turn(scene.life(), 1, [...events]);
    caught(checkTiming, scene, ...(early ? [/was timed out early/] : []));
  }
});

test("a timer of code that fires early, or after it was called off", () => {
  const dueAt = epochMs + 2000;
  const set = { type: "TimerSet", timer: 0, dueAt } as const;
  const fired = { type: "TimerFired", timer: 0 } as const;
  const asleep = (...events: readonly Event[]): Scene => {
    const scene = new Scene();
    const life = scene.life();
    scene.turn(life, 1, createdCode(scene, code.sleeper, {}, set));
    for (const event of events) scene.turn(life, 1, [event]);
    return scene;
  };
  caught(checkTiming, asleep(fired), /a: timer 0 fired 1000 ms early/);
  caught(checkTiming, asleep({ type: "TimerCanceled", timer: 0 }, fired), /a: timer 0 fired, and was not set/);
});

function failing(params: Record<string, number>): {
  scene: Scene;
  life: ReturnType<Scene["life"]>;
  run: ReturnType<Scene["run"]>;
} {
  const scene = new Scene();
  const life = scene.life();
  scene.turn(life, 1, created(scene, solo));
  const run = scene.run(life, "a:1:0:1", params);
  scene.now += 100;
  scene.ended(run, "failed");
  return { scene, life, run };
}
