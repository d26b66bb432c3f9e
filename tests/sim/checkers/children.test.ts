import { test } from "node:test";
import { expectViolations } from "./expect-violations.ts";
import { checkChildren } from "./children.ts";
import { created, nest, EvidenceBuilder, solo, succeeded } from "./evidence-builder.ts";

const parent = { id: "a", key: 1, generation: 1, task: 0, attempt: 1, depth: 1 };

test("nothing is wrong with a child that its parent knows", () => {
  expectViolations(checkChildren, family());
});

test("a child that failed and for its parent did not", () => {
  const builder = family();
  const child = builder.instances.get(2);
  builder.instances.set(2, { ...child!, status: "Failed" });
  expectViolations(checkChildren, builder, /b ended in Failed, and for its parent it succeeded/);
});

test("a child that is lost", () => {
  const builder = family();
  builder.instances.delete(2);
  expectViolations(checkChildren, builder, /a started b, which is lost/);
});

test("a child that goes on without its parent", () => {
  const builder = family();
  builder.instances.set(2, { ...builder.instances.get(2)!, status: "Running" });
  expectViolations(checkChildren, builder, /b is Running although its parent has ended/);
});

test("a child that is there before its parent has said so", () => {
  const builder = new EvidenceBuilder();
  const life = builder.life();
  builder.turn(life, 1, created(builder, nest));
  builder.turn(life, 2, created(builder, solo, { parent, trigger: "nested" }));
  builder.turn(life, 1, [{ type: "ChildStarted", task: 0, attempt: 1, childId: "b" }]);
  expectViolations(checkChildren, builder, /b was there before its parent had started it/);
});

test("an instance that is ended because code took its id for that of a child", () => {
  const builder = family();
  const other = { ...builder.instances.get(2)!, key: 3, id: "a/1.0:taken:leave" };
  builder.instances.set(3, other);
  expectViolations(checkChildren, builder);
  builder.instances.set(3, { ...other, status: "Terminated" });
  expectViolations(checkChildren, builder, /taken:leave ended in Terminated, not in Success/);
});

function family(): EvidenceBuilder {
  const builder = new EvidenceBuilder();
  const life = builder.life();
  builder.turn(life, 1, created(builder, nest));
  builder.turn(life, 1, [{ type: "ChildStarted", task: 0, attempt: 1, childId: "b" }]);
  builder.turn(life, 2, created(builder, solo, { parent, trigger: "nested" }));
  builder.turn(life, 2, succeeded);
  builder.turn(life, 1, succeeded);
  return builder;
}
