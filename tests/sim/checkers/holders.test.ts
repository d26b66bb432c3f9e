import { test } from "node:test";
import { caught } from "./caught.ts";
import { checkHolders } from "./holders.ts";
import { goodRun } from "./scene.ts";

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
