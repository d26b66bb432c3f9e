import { test } from "node:test";
import type { Event, UpdateAnswered } from "../../../src/kernel/event.ts";
import { epochMs } from "../clock.ts";
import { code } from "../code-workflows.ts";
import type { LifeRecord } from "../evidence.ts";
import { caught } from "./caught.ts";
import { createdCode, Scene } from "./scene.ts";
import { checkUpdates } from "./updates.ts";

test("an update that is let in, answered and told", () => {
  const { scene, life } = desk(requested("m", 3), answered("m", 3));
  scene.answer(scene.ask(life, "update", { marker: "m", given: { value: 3 } }), { value: { sum: 3, marker: "m" } });
  scene.answer(scene.ask(life, "query"), { value: 3 });
  caught(checkUpdates, scene);
});

test("an update that is let in twice, or answered twice, or out of nothing", () => {
  caught(checkUpdates, desk(requested("m", 3), requested("m", 3)).scene, /update m was let in twice/);
  const twice = desk(requested("m", 3), answered("m", 3), answered("m", 6)).scene;
  caught(checkUpdates, twice, /update m was answered twice/);
  caught(checkUpdates, desk(answered("m", 0)).scene, /update m was answered, and had not been let in/);
});

test("an answer that is not on record, is another one, or is told before it is durable", () => {
  const { scene, life } = desk(requested("m", 3));
  const call = scene.ask(life, "update", { marker: "m", given: { value: 3 } });
  scene.answer(call, { value: { sum: 3, marker: "m" } });
  caught(checkUpdates, scene, /update m was answered, and that is not on record/);
  scene.turn(life, 1, [answered("m", 3)]);
  caught(checkUpdates, scene, /update m was answered before that was durable/);
  scene.answer(call, { value: { sum: 4, marker: "m" } });
  caught(checkUpdates, scene, /update m was answered with .*"sum":4.*, not .*"sum":3/);
});

test("an update that should have been refused, and one that was", () => {
  const { scene, life } = desk(requested("m", -1));
  scene.answer(scene.ask(life, "update", { marker: "m", given: { value: -1 } }), { outcome: "unknown" });
  caught(checkUpdates, scene, /update m was let in, and should have been refused/);
  const other = desk(requested("m", 1));
  const call = other.scene.ask(other.life, "update", { marker: "m", given: { value: 1 } });
  other.scene.answer(call, { outcome: "refused", code: "INPUT_INVALID" });
  caught(checkUpdates, other.scene, /update m was refused and let in/);
});

test("sums that do not follow one from the other, and a query that goes back", () => {
  const { scene, life } = desk(requested("m", 3), answered("m", 4));
  caught(checkUpdates, scene, /update m was answered with the sum 4, not 3/);
  const good = desk(requested("m", 3), answered("m", 3));
  good.scene.answer(good.scene.ask(life, "update", { marker: "m", given: { value: 3 } }), {
    value: { sum: 3, marker: "m" },
  });
  good.scene.answer(good.scene.ask(life, "query"), { value: 0 });
  caught(checkUpdates, good.scene, /query 2 was answered with 0, not with one of 3/);
});

test("a query between two updates that are answered in the turn in which the code begins anew", () => {
  const { scene, life } = desk(requested("a", 3), requested("b", 4));
  scene.turn(life, 1, [continued(7, answered("a", 3), answered("b", 7))]);
  const query = scene.ask(life, "query");
  scene.answer(query, { value: 3 });
  caught(checkUpdates, scene);
  scene.answer(query, { value: 4 });
  caught(checkUpdates, scene, /query 1 was answered with 4, not with one of 0 3 7/);
});

test("code that begins anew with another sum than it has answered", () => {
  const { scene, life } = desk(requested("a", 3));
  scene.turn(life, 1, [continued(4, answered("a", 3))]);
  caught(checkUpdates, scene, /it began anew with the sum 4, not 3/);
});

function desk(...events: readonly Event[]): { scene: Scene; life: LifeRecord } {
  const scene = new Scene();
  const life = scene.life();
  scene.turn(life, 1, createdCode(scene, code.desk, {}, ...events));
  return { scene, life };
}

function requested(update: string, value: number): Event {
  return { type: "UpdateRequested", update, name: "add", data: JSON.stringify({ marker: update, value }) };
}

function continued(sum: number, ...answers: readonly UpdateAnswered[]): Event {
  return {
    type: "InstanceContinued",
    workflow: code.desk.name,
    version: "1",
    generation: 2,
    createdAt: epochMs,
    trigger: "api",
    input: JSON.stringify({ sum }),
    answers: answers.map((answer) => ({ ...answer, at: epochMs })),
  };
}

function answered(update: string, sum: number): UpdateAnswered {
  return { type: "UpdateAnswered", update, output: JSON.stringify({ sum, marker: update }) };
}
