import { test } from "node:test";
import { caught } from "./caught.ts";
import { checkFencing } from "./fencing.ts";
import { goodRun } from "./scene.ts";

test("a batch of an earlier owner, after the next has claimed the shard", () => {
  const { scene, life } = goodRun();
  scene.claim(scene.life("m2"));
  scene.commit(life, {}, { epoch: 1 });
  caught(checkFencing, scene, /batch 3 of shard 0 under epoch 1, by life 1, was taken; the shard is at epoch 2/);
});

test("two writers under one epoch", () => {
  const { scene } = goodRun();
  scene.commit(scene.life("m2"), {});
  caught(checkFencing, scene, /by life 2, was taken; life 1 had claimed it/);
});

test("a batch that is not the next; one that is sent again is", () => {
  const { scene, life } = goodRun();
  scene.commit(life, {}, { number: 2 });
  caught(checkFencing, scene);
  scene.commit(life, {}, { number: 4 });
  caught(checkFencing, scene, /batch 4 .* the last was 2/);
});

test("an epoch that does not go up", () => {
  const { scene, life } = goodRun();
  scene.claim(life, { epoch: 1 });
  caught(checkFencing, scene, /claimed with epoch 1 after 1/);
});

test("a claim of what a living member has", () => {
  const { scene } = goodRun({ isCluster: true });
  scene.lists.memberships.push({ ...scene.moment(), life: 1, what: "joined", member: "owner 1" });
  scene.claim(scene.life("m2"));
  caught(checkFencing, scene, /claimed by owner 2 while owner 1 lives and has it/);
});

test("nothing is wrong with a claim of what a lost member had", () => {
  const { scene } = goodRun({ isCluster: true });
  scene.lists.memberships.push({ ...scene.moment(), life: 1, what: "joined", member: "owner 1" });
  scene.lists.memberships.push({ ...scene.moment(), life: 2, what: "removed", member: "owner 1" });
  const other = scene.life("m2");
  scene.claim(other);
  scene.commit(other, {});
  caught(checkFencing, scene);
});
