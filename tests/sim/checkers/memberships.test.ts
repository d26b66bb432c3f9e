import { test } from "node:test";
import { defaultTimings } from "../../../src/cluster/timings.ts";
import type { LifeRecord } from "../evidence.ts";
import { caught } from "./caught.ts";
import { checkMemberships } from "./memberships.ts";
import { Scene } from "./scene.ts";

const { beatMs, suspectMs, lostMs } = defaultTimings;

function beat(scene: Scene, life: LifeRecord, member: string): void {
  life.renewals.push({ member, sentAt: scene.now, knownAt: scene.now });
}

/** Two that have given a sign of life. */
function pair(): { scene: Scene; remover: LifeRecord } {
  const scene = new Scene();
  const remover = scene.life("m1");
  beat(scene, remover, "m1");
  beat(scene, scene.life("m2"), "m2");
  return { scene, remover };
}

function remove(scene: Scene, remover: LifeRecord): void {
  scene.lists.memberships.push({ ...scene.moment(), life: remover.number, what: "removed", member: "m2" });
}

test("a member that was watched being silent is removed", () => {
  const { scene, remover } = pair();
  for (const end = scene.now + suspectMs + lostMs; scene.now < end; scene.now += beatMs) beat(scene, remover, "m1");
  remove(scene, remover);
  caught(checkMemberships, scene);
});

test("a member that is removed by one that did not see the store itself", () => {
  const { scene, remover } = pair();
  scene.now += suspectMs + lostMs;
  beat(scene, remover, "m1");
  remove(scene, remover);
  caught(checkMemberships, scene, /m2 was removed by life 1, which had watched it for \d+ of \d+ ms/);
});
