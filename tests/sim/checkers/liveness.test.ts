import { test } from "node:test";
import { expectViolations } from "./expect-violations.ts";
import { checkLiveness } from "./liveness.ts";
import { created, goodRun, solo } from "./evidence-builder.ts";

test("an instance that never ends", () => {
  const { builder, life } = goodRun();
  builder.turn(life, 2, created(builder, solo));
  expectViolations(checkLiveness, builder, /b is still Running/);
});

test("an instance out of service", () => {
  const { builder } = goodRun();
  const [instance] = builder.instances.values();
  builder.instances.set(1, { ...instance!, quarantined: "an invariant broke" });
  expectViolations(checkLiveness, builder, /a is quarantined: an invariant broke/);
});

test("an instance that was accepted and is lost", () => {
  const { builder } = goodRun();
  builder.instances.clear();
  expectViolations(checkLiveness, builder, /a was accepted and is lost/);
});

test("a call that nobody answers", () => {
  const { builder, life } = goodRun();
  builder.ask(life, "pause");
  expectViolations(checkLiveness, builder, /call 2, pause a, was never answered/);
});

test("trouble in the run itself", () => {
  const { builder } = goodRun();
  builder.lists.problems.push("it did not stop");
  expectViolations(checkLiveness, builder, /it did not stop/);
});
