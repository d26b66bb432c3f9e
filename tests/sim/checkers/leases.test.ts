import { test } from "node:test";
import { caught } from "./caught.ts";
import { checkLeases } from "./leases.ts";
import { created, Scene, solo } from "./scene.ts";

/** 0.9 of the others' patience. */
const leaseMs = 36_000;

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
  caught(checkLeases, scene, /a:1:0:1 ran on for 10001 ms after the lease of life 1 was over/);
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

function member(): { scene: Scene; life: ReturnType<Scene["life"]> } {
  const scene = new Scene({ isCluster: true });
  const life = scene.life();
  life.renewals.push({ member: "m1", sentAt: scene.now, knownAt: scene.now });
  scene.turn(life, 1, created(scene, solo));
  return { scene, life };
}
