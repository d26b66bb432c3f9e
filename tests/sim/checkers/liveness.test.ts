import { test } from "node:test";
import { caught } from "./caught.ts";
import { checkLiveness } from "./liveness.ts";
import { created, goodRun, solo } from "./scene.ts";

test("an instance that never ends", () => {
  const { scene, life } = goodRun();
  scene.turn(life, 2, created(scene, solo));
  caught(checkLiveness, scene, /b is still Running/);
});

test("an instance out of service", () => {
  const { scene } = goodRun();
  const [instance] = scene.instances.values();
  scene.instances.set(1, { ...instance!, quarantined: "an invariant broke" });
  caught(checkLiveness, scene, /a is quarantined: an invariant broke/);
});

test("an instance that was accepted and is lost", () => {
  const { scene } = goodRun();
  scene.instances.clear();
  caught(checkLiveness, scene, /a was accepted and is lost/);
});

test("a call that nobody answers", () => {
  const { scene, life } = goodRun();
  scene.ask(life, "pause");
  caught(checkLiveness, scene, /call 2, pause a, was never answered/);
});

test("trouble in the run itself", () => {
  const { scene } = goodRun();
  scene.lists.troubles.push("it did not stop");
  caught(checkLiveness, scene, /it did not stop/);
});
