import { test } from "node:test";
import type { LifeRecord } from "../evidence.ts";
import { caught } from "./caught.ts";
import { created, Scene, solo } from "./scene.ts";
import { checkStandstills } from "./standstills.ts";

test("an owner that has stood still does not count an attempt as interrupted at once", () => {
  const { scene, owner } = heldResult();
  stoodStill(scene, owner, 50_000);
  scene.now += 10;
  interrupt(scene, owner);
  caught(checkStandstills, scene, /a:1:0:1 was counted as interrupted by life 1, which had stood still/);
});

test("it does so after half of its patience, or if it stood still for less than that", () => {
  const late = heldResult();
  stoodStill(late.scene, late.owner, 50_000);
  late.scene.now += 30_000;
  interrupt(late.scene, late.owner);
  caught(checkStandstills, late.scene);
  const short = heldResult();
  stoodStill(short.scene, short.owner, 20_000);
  interrupt(short.scene, short.owner);
  caught(checkStandstills, short.scene);
});

test("a worker that is gone, or that the owner hears itself, is another matter", () => {
  const gone = heldResult();
  stoodStill(gone.scene, gone.owner, 50_000);
  gone.worker.end = { ...gone.scene.moment(), how: "crashed" };
  interrupt(gone.scene, gone.owner);
  caught(checkStandstills, gone.scene);
  const own = heldResult();
  stoodStill(own.scene, own.owner, 50_000);
  own.scene.vouch(own.worker, {}, own.owner.number);
  interrupt(own.scene, own.owner);
  caught(checkStandstills, own.scene);
});

/** A worker has run an attempt, and another member than the owner speaks for it. */
function heldResult(): { scene: Scene; owner: LifeRecord; worker: LifeRecord } {
  const scene = new Scene({ isCluster: true });
  const [owner, holder, worker] = [scene.life("m1"), scene.life("m2"), scene.life("w1", "worker")];
  scene.turn(owner, 1, created(scene, solo));
  scene.vouch(worker, {}, holder.number);
  scene.ended(scene.run(worker, "a:1:0:1"));
  scene.now += 1000;
  return { scene, owner, worker };
}

function stoodStill(scene: Scene, owner: LifeRecord, ms: number): void {
  const from = scene.moment();
  scene.now += ms;
  owner.freezes.push({ from, to: scene.moment(), kind: "stopped" });
}

function interrupt(scene: Scene, owner: LifeRecord): void {
  scene.turn(owner, 1, [{ type: "TaskInterrupted", task: 0, attempt: 1 }]);
}
