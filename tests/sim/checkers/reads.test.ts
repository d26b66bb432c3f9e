import { test } from "node:test";
import { caught } from "./caught.ts";
import { checkReads } from "./reads.ts";
import { created, goodRun, Scene, solo, succeeded } from "./scene.ts";

test("an answer that is older than an answer before it", () => {
  const scene = new Scene();
  const life = scene.life();
  scene.turn(life, 1, created(scene, solo));
  const old = scene.view(1);
  scene.turn(life, 1, succeeded);
  scene.answer(scene.ask(life, "status"), { value: scene.view(1) });
  caught(checkReads, scene);
  scene.answer(scene.ask(life, "status"), { value: old });
  caught(checkReads, scene, /status, call 2, was answered with what was true before status, call 1, had been answered/);
});

test("an answer that is older than a request that was granted", () => {
  const scene = new Scene();
  const life = scene.life();
  scene.turn(life, 1, created(scene, solo));
  const old = scene.view(1);
  scene.turn(life, 1, succeeded);
  scene.answer(scene.ask(life, "await"));
  scene.answer(scene.ask(life, "status"), { value: old });
  caught(checkReads, scene, /status, call 2, was answered with what was true before await, call 1/);
});

test("an answer that is ahead of what is durable", () => {
  const { scene, life } = goodRun();
  const ended = scene.view(1);
  const other = new Scene();
  const early = other.life();
  other.turn(early, 1, created(other, solo));
  other.answer(other.ask(early, "status"), { value: ended });
  other.turn(early, 1, succeeded);
  caught(checkReads, other, /status, call 1, was answered, and that was not durable yet/);
  scene.answer(scene.ask(life, "status"), { value: { ...ended, reason: "who knows" } });
  caught(checkReads, scene, /status, call 2, was answered, and it was never like that/);
});

test("a history that is shorter than one that was shown before", () => {
  const { scene, life } = goodRun();
  scene.answer(scene.ask(life, "history"), { value: [0, 1] });
  scene.answer(scene.ask(life, "history"), { value: [0] });
  caught(checkReads, scene, /history, call 3, was answered with what was true before history, call 2/);
});

test("a list without an instance that was accepted", () => {
  const { scene, life } = goodRun();
  scene.answer(scene.ask(life, "list", { instanceId: undefined }), { value: ["a"] });
  caught(checkReads, scene);
  scene.answer(scene.ask(life, "list", { instanceId: undefined }), { value: [] });
  caught(checkReads, scene, /list, call 3, does not have a, which had been accepted/);
});
