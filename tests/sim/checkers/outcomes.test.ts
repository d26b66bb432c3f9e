import { test } from "node:test";
import type { Scenario } from "../workload.ts";
import { caught } from "./caught.ts";
import { checkOutcomes } from "./outcomes.ts";
import { created, goodRun, solo } from "./scene.ts";

const scenario: Scenario = {
  number: 1,
  kind: "chain",
  workflow: solo,
  instanceId: "a",
  params: {},
  maxConcurrentTasks: undefined,
  submitAt: 0,
  acts: [],
  errand: undefined,
  ends: ["Success"],
  outputs: { t: { sum: 1, name: "x" } },
  afterlife: "none",
};

test("an instance that ends in another way than it should", () => {
  const { scene } = goodRun();
  scene.lists.scenarios.push({ ...scenario, ends: ["Failed"] });
  caught(checkOutcomes, scene, /a ended in Success, not in Failed/);
});

test("an instance that was terminated, and nobody had asked for it", () => {
  const { scene } = goodRun();
  scene.lists.scenarios.push({ ...scenario, ends: ["Terminated"] });
  const [instance] = scene.instances.values();
  scene.instances.set(1, { ...instance!, status: "Terminated", reason: "because" });
  caught(checkOutcomes, scene, /for a reason that nobody gave: because/);
});

test("an instance that its workflow's maximum refused, where that may be", () => {
  const { scene } = goodRun();
  const [instance] = scene.instances.values();
  scene.instances.set(1, { ...instance!, status: "Failed", reason: "too many instances(3>2)" });
  scene.lists.scenarios.push({ ...scenario, refusedAs: "Failed" });
  caught(checkOutcomes, scene);
  scene.lists.scenarios.splice(0, 1, scenario);
  caught(checkOutcomes, scene, /a ended in Failed, not in Success: too many instances/);
});

test("a result that is not what the tasks gave; the order of keys does not matter", () => {
  const { scene, life } = goodRun();
  scene.lists.scenarios.push(scenario);
  scene.answer(scene.ask(life, "await"), { value: { t: { name: "x", sum: 1 } } });
  caught(checkOutcomes, scene);
  scene.answer(scene.ask(life, "await"), { value: { t: { sum: 2, name: "x" } } });
  caught(checkOutcomes, scene, /a gave .*"sum":2.* not .*"sum":1/);
});

test("somebody who waits is told what is not true", () => {
  const { scene, life } = goodRun();
  scene.lists.scenarios.push(scenario);
  scene.answer(scene.ask(life, "await"), { outcome: "refused", code: "INSTANCE_UNKNOWN", value: "no such" });
  caught(checkOutcomes, scene, /whoever waited for a was told INSTANCE_UNKNOWN/);
});

test("an instance that nobody has submitted", () => {
  const { scene, life } = goodRun();
  scene.turn(life, 2, created(scene, solo, { context: { marker: '"s9-9"' } }));
  caught(checkOutcomes, scene, /b exists and was never submitted/);
});
