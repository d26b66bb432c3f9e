import { test } from "node:test";
import { caught } from "./caught.ts";
import { created, Scene, solo } from "./scene.ts";
import { checkVouches } from "./vouches.ts";

test("a member vouches for an attempt from when it asked the owner, and no later", () => {
  const scene = new Scene({ isCluster: true });
  const [owner, holder, worker] = [scene.life("m1"), scene.life("m2"), scene.life("w1", "worker")];
  scene.claim(owner);
  scene.turn(owner, 1, created(scene, solo));
  scene.lists.holdQuestions.push({ life: holder.number, at: 2000, attemptIds: ["a:1:0:1"] });
  scene.now = 2500;
  scene.vouch(worker, { "a:1:0:1": 500 }, holder.number);
  caught(checkVouches, scene);
  scene.vouch(worker, { "a:1:0:1": 400 }, holder.number);
  caught(checkVouches, scene, /life 2 vouched for a:1:0:1 from 100 ms after it had asked its owner/);
});

test("a member that has owned the shard vouches for what it runs from then on", () => {
  const scene = new Scene({ isCluster: true });
  const [owner, holder, worker] = [scene.life("m1"), scene.life("m2"), scene.life("w1", "worker")];
  scene.claim(holder);
  scene.turn(holder, 1, created(scene, solo));
  scene.now = 2000;
  scene.claim(owner);
  scene.now = 2500;
  scene.vouch(worker, { "a:1:0:1": 500 }, holder.number);
  caught(checkVouches, scene);
  scene.vouch(worker, { "a:1:0:1": 300 }, holder.number);
  caught(checkVouches, scene, /from 200 ms after/);
});
