import { test } from "node:test";
import { caught } from "./caught.ts";
import { checkLeases } from "./leases.ts";
import { created, Scene, solo } from "./scene.ts";

/** 0.9 of the others' patience. */
const leaseMs = 36_000;
const patienceMs = 54_000;

test("a job that starts when the lease is over", () => {
  const { scene, life } = member();
  scene.now += leaseMs + 100;
  scene.run(life, "a:1:0:1");
  caught(checkLeases, scene, /a:1:0:1 ran on life 1, whose lease had been over for 100 ms/);
});

test("a job that goes on when the lease is over", () => {
  const { scene, life } = member();
  const run = scene.run(life, "a:1:0:1");
  scene.now += leaseMs + 1;
  run.abort = scene.moment();
  caught(checkLeases, scene);
  scene.now += 10_000;
  run.abort = scene.moment();
  caught(checkLeases, scene, /a:1:0:1 ran on for 10001 ms on life 1, whose lease was over/);
});

test("a process that stood still stops its jobs when it goes on", () => {
  const { scene, life } = member();
  const run = scene.run(life, "a:1:0:1");
  const from = scene.moment();
  scene.now += 2 * leaseMs;
  life.freezes.push({ from, to: scene.moment(), kind: "stopped" });
  run.abort = scene.moment();
  caught(checkLeases, scene);
});

test("a lease that is renewed is not over, and one that is regained is as good as new", () => {
  const { scene, life } = member();
  life.renewals.push({ member: "m1", sentAt: scene.now + 100_000, knownAt: scene.now + 100_010 });
  scene.now += 100_020;
  scene.ended(scene.run(life, "a:1:0:1"));
  caught(checkLeases, scene);
});

test("a job that goes on, on a worker that nobody has answered for its patience", () => {
  const { scene, worker } = withWorker();
  const run = scene.run(worker, "a:1:0:1");
  scene.now += patienceMs + 1;
  run.abort = scene.moment();
  caught(checkLeases, scene);
  scene.now += 100;
  run.abort = scene.moment();
  caught(checkLeases, scene, /a:1:0:1 ran on for 101 ms on life 2, whose patience was over/);
});

test("a job that starts on a worker when its patience is over", () => {
  const { scene, worker } = withWorker();
  scene.now += patienceMs + 50;
  scene.run(worker, "a:1:0:1");
  caught(checkLeases, scene, /a:1:0:1 ran on life 2, whose patience had been over for 50 ms/);
});

test("an answer counts from when the sign of life was sent, for what it is about", () => {
  const { scene, worker } = withWorker();
  const run = scene.run(worker, "a:1:0:1");
  scene.now += 20_000;
  scene.vouch(worker);
  scene.now += 10_000;
  scene.vouch(worker, { "a:1:0:1": Infinity });
  scene.vouch(worker, { "a:1:0:1": 8000 });
  scene.now = 1000 + 30_000 - 8000 + patienceMs + 1;
  run.abort = scene.moment();
  caught(checkLeases, scene);
  scene.now += 1000;
  run.abort = scene.moment();
  caught(checkLeases, scene, /a:1:0:1 ran on for 1001 ms on life 2, whose patience was over/);
});

test("a worker does not have to know that its member's lease is over", () => {
  const { scene, worker, life } = withWorker();
  life.renewals.push({ member: "m1", sentAt: scene.now, knownAt: scene.now });
  const run = scene.run(worker, "a:1:0:1");
  for (let i = 0; i < 10; i++) {
    scene.now += 10_000;
    scene.vouch(worker);
  }
  run.abort = scene.moment();
  caught(checkLeases, scene);
});

test("a worker whose wall clock says that it slept stops at its next look", () => {
  const { scene, worker } = withWorker();
  const run = scene.run(worker, "a:1:0:1");
  scene.now++;
  scene.lists.clockSettings.push({ ...scene.moment(), machine: "w1", wallOffsetMs: 60_000 });
  scene.now += 2500;
  run.abort = scene.moment();
  caught(checkLeases, scene);
  scene.now += 100;
  run.abort = scene.moment();
  caught(checkLeases, scene, /a:1:0:1 ran on for 2600 ms on life 2, whose patience was over/);
});

/** A worker with a first answer, and an instance for it. */
function withWorker(): { scene: Scene; life: ReturnType<Scene["life"]>; worker: ReturnType<Scene["life"]> } {
  const scene = new Scene({ isCluster: true });
  const life = scene.life();
  scene.turn(life, 1, created(scene, solo));
  const worker = scene.life("w1", "worker");
  scene.vouch(worker);
  return { scene, life, worker };
}

function member(): { scene: Scene; life: ReturnType<Scene["life"]> } {
  const scene = new Scene({ isCluster: true });
  const life = scene.life();
  life.renewals.push({ member: "m1", sentAt: scene.now, knownAt: scene.now });
  scene.turn(life, 1, created(scene, solo));
  return { scene, life };
}
