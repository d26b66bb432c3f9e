import { test } from "node:test";
import type { Event } from "../../../src/kernel/event.ts";
import { epochMs } from "../clock.ts";
import { code } from "../code-workflows.ts";
import { caughtInTime } from "./caught.ts";
import { checkReplays } from "./replays.ts";
import { createdCode, Scene } from "./scene.ts";

const output = JSON.stringify({ naps: 1, woken: [] });
const ended: Event = { type: "InstanceEnded", status: "Success", output };

test("code that does again what is on record", async () => {
  await caughtInTime(checkReplays, slept(100, [{ type: "TimerFired", timer: 0 }, ended]));
});

test("a step with another value", async () => {
  const scene = slept(99, [{ type: "TimerFired", timer: 0 }, ended]);
  await caughtInTime(checkReplays, scene, /a, event 2 of generation 1: .*TimerSet.* now asks for .*"timer"/);
});

test("a step that the code does not take", async () => {
  const mark: Event = { type: "PatchMarked", patch: "p" };
  await caughtInTime(checkReplays, slept(100, [mark]), /PatchMarked.* is on record, and its code now asks for nothing/);
});

test("a step before its cause", async () => {
  const scene = slept(100, [ended, { type: "TimerFired", timer: 0 }]);
  await caughtInTime(checkReplays, scene, /it ended with .*, and its code now does not end/);
});

test("another end", async () => {
  const other: Event = { ...ended, output: "{}" };
  const scene = slept(100, [{ type: "TimerFired", timer: 0 }, other]);
  await caughtInTime(checkReplays, scene, /it ended with .*, and its code now ends with .*complete/);
});

test("an end that somebody asked for", async () => {
  const scene = slept(100, []);
  scene.ask(scene.life(), "terminate", { marker: "m" });
  scene.turn(scene.life(), 1, [{ type: "InstanceEnded", status: "Terminated", reason: "m" }]);
  await caughtInTime(checkReplays, scene);
});

function slept(ms: number, events: readonly Event[]): Scene {
  const scene = new Scene();
  const life = scene.life();
  const input = { napsMs: [100], togetherMs: [] };
  const dueAt = epochMs + scene.now + ms;
  scene.turn(life, 1, createdCode(scene, code.sleeper, input, { type: "TimerSet", timer: 0, dueAt }));
  scene.now += 100;
  if (events.length > 0) scene.turn(life, 1, events);
  return scene;
}
