import { test } from "node:test";
import { caught } from "./caught.ts";
import { checkFamilies } from "./families.ts";
import { created, nest, Scene, solo, succeeded } from "./scene.ts";

const parent = { id: "a", key: 1, generation: 1, task: 0, attempt: 1, depth: 1 };

test("nothing is wrong with a child that its parent knows", () => {
  caught(checkFamilies, family());
});

test("a child that failed and for its parent did not", () => {
  const scene = family();
  const child = scene.instances.get(2);
  scene.instances.set(2, { ...child!, status: "Failed" });
  caught(checkFamilies, scene, /b ended in Failed, and for its parent it succeeded/);
});

test("a child that is lost", () => {
  const scene = family();
  scene.instances.delete(2);
  caught(checkFamilies, scene, /a started b, which is lost/);
});

test("a child that goes on without its parent", () => {
  const scene = family();
  scene.instances.set(2, { ...scene.instances.get(2)!, status: "Running" });
  caught(checkFamilies, scene, /b is Running although its parent has ended/);
});

test("a child that is there before its parent has said so", () => {
  const scene = new Scene();
  const life = scene.life();
  scene.turn(life, 1, created(scene, nest));
  scene.turn(life, 2, created(scene, solo, { parent, trigger: "nested" }));
  scene.turn(life, 1, [{ type: "ChildStarted", task: 0, attempt: 1, childId: "b" }]);
  caught(checkFamilies, scene, /b was there before its parent had started it/);
});

function family(): Scene {
  const scene = new Scene();
  const life = scene.life();
  scene.turn(life, 1, created(scene, nest));
  scene.turn(life, 1, [{ type: "ChildStarted", task: 0, attempt: 1, childId: "b" }]);
  scene.turn(life, 2, created(scene, solo, { parent, trigger: "nested" }));
  scene.turn(life, 2, succeeded);
  scene.turn(life, 1, succeeded);
  return scene;
}
