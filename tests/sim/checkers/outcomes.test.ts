import { test } from "node:test";
import type { Scenario } from "../workload.ts";
import { expectViolations } from "./expect-violations.ts";
import { checkOutcomes } from "./outcomes.ts";
import { created, goodRun, solo } from "./evidence-builder.ts";

const scenario: Scenario = {
  number: 1,
  kind: "chain",
  workflow: solo,
  instanceId: "a",
  params: {},
  maxConcurrentTasks: undefined,
  submitAt: 0,
  acts: [],
  script: undefined,
  ends: ["Success"],
  outputs: { t: { sum: 1, name: "x" } },
  afterlife: "none",
};

test("an instance that ends in another way than it should", () => {
  const { builder } = goodRun();
  builder.lists.scenarios.push({ ...scenario, ends: ["Failed"] });
  expectViolations(checkOutcomes, builder, /a ended in Success, not in Failed/);
});

test("an instance that was terminated, and nobody had asked for it", () => {
  const { builder } = goodRun();
  builder.lists.scenarios.push({ ...scenario, ends: ["Terminated"] });
  const [instance] = builder.instances.values();
  builder.instances.set(1, { ...instance!, status: "Terminated", reason: "because" });
  expectViolations(checkOutcomes, builder, /for a reason that nobody gave: because/);
});

test("an instance that its workflow's maximum refused, where that may be", () => {
  const { builder } = goodRun();
  const [instance] = builder.instances.values();
  builder.instances.set(1, { ...instance!, status: "Failed", reason: "too many instances(3>2)" });
  builder.lists.scenarios.push({ ...scenario, refusedAs: "Failed" });
  expectViolations(checkOutcomes, builder);
  builder.lists.scenarios.splice(0, 1, scenario);
  expectViolations(checkOutcomes, builder, /a ended in Failed, not in Success: too many instances/);
});

test("a result that is not what the tasks gave; the order of keys does not matter", () => {
  const { builder, life } = goodRun();
  builder.lists.scenarios.push(scenario);
  builder.answer(builder.ask(life, "await"), { value: { t: { name: "x", sum: 1 } } });
  expectViolations(checkOutcomes, builder);
  builder.answer(builder.ask(life, "await"), { value: { t: { sum: 2, name: "x" } } });
  expectViolations(checkOutcomes, builder, /a gave .*"sum":2.* not .*"sum":1/);
});

test("somebody who waits is told what is not true", () => {
  const { builder, life } = goodRun();
  builder.lists.scenarios.push(scenario);
  builder.answer(builder.ask(life, "await"), { outcome: "refused", code: "INSTANCE_UNKNOWN", value: "no such" });
  expectViolations(checkOutcomes, builder, /whoever waited for a was told INSTANCE_UNKNOWN/);
});

test("an instance that nobody has submitted", () => {
  const { builder, life } = goodRun();
  builder.turn(life, 2, created(builder, solo, { context: { marker: '"s9-9"' } }));
  expectViolations(checkOutcomes, builder, /b exists and was never submitted/);
});
