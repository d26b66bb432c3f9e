import { test } from "node:test";
import type { Event } from "../../../src/kernel/event.ts";
import { epochMs } from "../clock.ts";
import { code } from "../code-workflows.ts";
import type { LifeRecord } from "../evidence.ts";
import { caught } from "./caught.ts";
import { checkLateness } from "./lateness.ts";
import { createdCode, Scene } from "./scene.ts";

/** It is set at 1000, and due ten seconds later. */
function asleep(): { scene: Scene; life: LifeRecord } {
  const scene = new Scene();
  const life = scene.life();
  scene.claim(life);
  const set: Event = { type: "TimerSet", timer: 0, dueAt: epochMs + scene.now + 10_000 };
  scene.turn(life, 1, createdCode(scene, code.sleeper, { napsMs: [], togetherMs: [] }, set));
  return { scene, life };
}

const fired: Event = { type: "TimerFired", timer: 0 };

test("a timer that fires in time, and one that fires too late", () => {
  const { scene, life } = asleep();
  scene.now += 12_000;
  scene.turn(life, 1, [fired]);
  caught(checkLateness, scene);
  const late = asleep();
  late.scene.now += 21_000;
  late.scene.turn(late.life, 1, [fired]);
  caught(checkLateness, late.scene, /a: timer 0 came \d+ ms too late/);
});

test("a wait that starts over with the claim of another process", () => {
  const { scene } = asleep();
  scene.now += 9000;
  const next = scene.life();
  scene.claim(next);
  scene.now += 10_000;
  scene.turn(next, 1, [fired]);
  caught(checkLateness, scene, /a: timer 0 came \d+ ms too late/);
});

test("a timer that is late because its owner was frozen, kept from the store, or came late", () => {
  const frozen = asleep();
  const from = frozen.scene.moment();
  frozen.scene.now += 21_000;
  frozen.life.freezes.push({ from, to: frozen.scene.moment(), kind: "stopped" });
  frozen.scene.turn(frozen.life, 1, [fired]);
  caught(checkLateness, frozen.scene);
  const cut = asleep();
  cut.scene.lists.storeTroubles.push({ machine: "m1", from: 2000, to: 20_000 });
  cut.scene.now += 21_000;
  cut.scene.turn(cut.life, 1, [fired]);
  caught(checkLateness, cut.scene);
  const taken = asleep();
  taken.scene.now += 20_000;
  const next = taken.scene.life();
  taken.scene.claim(next);
  taken.scene.now += 1000;
  taken.scene.turn(next, 1, [fired]);
  caught(checkLateness, taken.scene);
});

test("a timer that falls due while its instance is paused is met when it is resumed", () => {
  const { scene, life } = asleep();
  scene.turn(life, 1, [{ type: "InstancePaused" }]);
  scene.now += 30_000;
  scene.turn(life, 1, [{ type: "InstanceResumed" }, fired]);
  caught(checkLateness, scene);
});

test("a timer of code that was lost with its process waits for suspect attempts; one of code that was not does not", () => {
  for (const losses of [0, 1]) {
    const { scene, life } = asleep();
    scene.now += 40_000;
    scene.turn(life, 1, [{ type: "ReactionStarted", losses }]);
    scene.turn(life, 1, [fired, { type: "ReactionEnded", losses: 0 }]);
    caught(checkLateness, scene, ...(losses === 0 ? [/a: timer 0 came \d+ ms too late/] : []));
  }
});
