import { test } from "node:test";
import { caught } from "./caught.ts";
import { checkHolders } from "./holders.ts";
import { created, goodRun, Scene, solo } from "./scene.ts";

test("an attempt that runs twice at once", () => {
  const { scene, run } = goodRun();
  run.end = undefined;
  scene.run(scene.life("m2"), "a:1:0:1");
  caught(checkHolders, scene, /a:1:0:1 ran on life 2 while it ran on life 1/);
});

test("an attempt that was done on a process that lives, and runs again", () => {
  const { scene } = goodRun({ isCluster: true });
  scene.run(scene.life("m2"), "a:1:0:1");
  caught(checkHolders, scene, /a:1:0:1 had done on life 1, which lives, and ran again/);
});

test("nothing is wrong after a crash, nor after the lease has lapsed", () => {
  const { scene, life, run } = goodRun({ isCluster: true });
  run.end = undefined;
  life.renewals.push({ member: "m1", sentAt: 1000, knownAt: 1001 });
  scene.now = 1000 + 36_000;
  const other = scene.life("m2");
  scene.run(other, "a:1:0:1");
  other.end = { ...scene.moment(), how: "crashed" };
  scene.run(scene.life("m3"), "a:1:0:1");
  caught(checkHolders, scene);
});

test("a lease that has not lapsed yet", () => {
  const { scene, life, run } = goodRun({ isCluster: true });
  run.end = undefined;
  life.renewals.push({ member: "m1", sentAt: 1000, knownAt: 1001 });
  scene.now = 1000 + 35_999;
  scene.run(scene.life("m2"), "a:1:0:1");
  caught(checkHolders, scene, /while it ran on life 1/);
});

test("an attempt that runs elsewhere while its worker may go on", () => {
  const { scene, worker } = withWorker();
  scene.run(worker, "a:1:0:1");
  scene.now += 53_900;
  scene.run(scene.life("m2"), "a:1:0:1");
  caught(checkHolders, scene, /a:1:0:1 ran on life 3 while it ran on life 2/);
});

test("an attempt that was done on a worker that lives and was answered, and runs again", () => {
  const { scene, worker } = withWorker();
  scene.ended(scene.run(worker, "a:1:0:1"));
  for (let i = 0; i < 10; i++) {
    scene.now += 20_000;
    scene.vouch(worker);
  }
  scene.run(scene.life("m2"), "a:1:0:1");
  caught(checkHolders, scene, /a:1:0:1 had done on life 2, which lives, and ran again/);
});

test("nothing is wrong if the worker died, or was cut off for its patience before anybody heard of the result", () => {
  for (const isDead of [true, false]) {
    const { scene, worker } = withWorker();
    scene.ended(scene.run(worker, "a:1:0:1"));
    scene.now += isDead ? 100 : 54_100;
    if (isDead) worker.end = { ...scene.moment(), how: "crashed" };
    else scene.vouch(worker);
    scene.now += 1000;
    scene.run(scene.life("m2"), "a:1:0:1");
    caught(checkHolders, scene);
  }
});

test("an attempt whose result its worker was told to forget, and runs again", () => {
  const { scene, worker, life } = withWorker();
  const run = scene.run(worker, "a:1:0:1");
  scene.ended(run);
  run.acknowledged = scene.moment();
  worker.end = { ...scene.moment(), how: "crashed" };
  scene.now += 1000;
  scene.turn(life, 1, [{ type: "TaskInterrupted", task: 0, attempt: 1 }]);
  scene.run(life, "a:1:0:1");
  caught(checkHolders, scene, /a:1:0:1 had done on life 2, whose result was acknowledged, and ran again/);
});

test("a result that came when its attempt was lost already may be forgotten", () => {
  const { scene, worker, life } = withWorker();
  const run = scene.run(worker, "a:1:0:1");
  scene.ended(run);
  scene.now += 54_100;
  scene.turn(life, 1, [{ type: "TaskInterrupted", task: 0, attempt: 1 }]);
  run.acknowledged = scene.moment();
  scene.run(life, "a:1:0:1");
  caught(checkHolders, scene);
});

test("an attempt that is counted as interrupted on a worker that has it", () => {
  const { scene, worker, life } = withWorker();
  const run = scene.run(worker, "a:1:0:1");
  scene.now += 20_000;
  run.abort = scene.moment();
  scene.ended(run, "aborted");
  scene.turn(life, 1, [{ type: "TaskInterrupted", task: 0, attempt: 1 }]);
  caught(checkHolders, scene, /a:1:0:1 was counted as interrupted, and life 2 had it and was vouched for/);
});

test("an attempt that its member stopped because no owner had vouched for it, and a worker that is answered since", () => {
  const { scene, worker, life } = withWorker();
  const run = scene.run(worker, "a:1:0:1");
  scene.now += 52_000;
  run.abort = scene.moment();
  scene.ended(run, "aborted");
  scene.now += 1000;
  scene.vouch(worker);
  scene.now += 10_000;
  scene.turn(life, 1, [{ type: "TaskInterrupted", task: 0, attempt: 1 }]);
  caught(checkHolders, scene);
});

/** A worker with a first answer, and an instance whose task is to run. */
function withWorker(): { scene: Scene; life: ReturnType<Scene["life"]>; worker: ReturnType<Scene["life"]> } {
  const scene = new Scene({ isCluster: true });
  const life = scene.life();
  scene.claim(life);
  scene.turn(life, 1, created(scene, solo));
  const worker = scene.life("w1", "worker");
  scene.vouch(worker);
  return { scene, life, worker };
}
