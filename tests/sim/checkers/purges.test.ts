import { test } from "node:test";
import type { Event } from "../../../src/kernel/event.ts";
import type { FinalInstance } from "../evidence.ts";
import { created, EvidenceBuilder, goodRun, nest, solo, succeeded } from "./evidence-builder.ts";
import { expectViolations } from "./expect-violations.ts";
import { checkPurgedFamilies, checkPurges } from "./purges.ts";

const reopened: readonly Event[] = [
  { type: "InstanceReopened", generation: 2, reset: [0] },
  { type: "TasksScheduled", tasks: [0] },
];

test("nothing is wrong with the purge of an instance that has ended", () => {
  const { builder, life } = goodRun();
  builder.commit(life, { purged: [1] });
  expectViolations(checkPurges, builder);
});

test("an instance that is purged before it has ended", () => {
  const builder = new EvidenceBuilder();
  const life = builder.life();
  builder.claim(life);
  builder.turn(life, 1, created(builder, solo));
  builder.commit(life, { purged: [1] });
  expectViolations(checkPurges, builder, /a was purged before it had ended/);
});

test("an instance that is purged after it was reopened", () => {
  const { builder, life } = goodRun();
  builder.turn(life, 1, reopened);
  builder.commit(life, { purged: [1] });
  expectViolations(checkPurges, builder, /a was purged before it had ended/);
});

test("an instance that continues after its purge", () => {
  const { builder, life } = goodRun();
  builder.commit(life, { purged: [1] });
  builder.turn(life, 1, reopened);
  expectViolations(checkPurges, builder, /a was written to after it had been purged/);
});

test("nothing is wrong with another life of a purged id", () => {
  const { builder, life } = goodRun();
  builder.commit(life, { purged: [1] });
  builder.ids.set(2, "a");
  builder.turn(life, 2, created(builder, solo, { generation: 2 }));
  builder.turn(life, 2, succeeded);
  expectViolations(checkPurges, builder);
});

test("an instance that lacks a payload of its history", () => {
  const { builder } = goodRun();
  builder.instances.set(1, { ...(builder.instances.get(1) as FinalInstance), missingPayloads: [7] });
  expectViolations(checkPurges, builder, /a: payload 7, which its history refers to, is missing/);
});

/** "b" is a child of "a", "c" has no parent. */
function familyAndOther(): EvidenceBuilder {
  const builder = new EvidenceBuilder();
  const life = builder.life();
  const parent = { id: "a", key: 1, generation: 1, task: 0, attempt: 1, depth: 1 };
  builder.turn(life, 1, created(builder, nest));
  builder.turn(life, 2, created(builder, solo, { parent, trigger: "nested" }));
  builder.turn(life, 3, created(builder, solo));
  builder.commit(life, { purged: [1, 2] });
  return builder;
}

test("an instance is purged with its children where a client wants it so", () => {
  const builder = familyAndOther();
  expectViolations(checkPurgedFamilies, builder, /a was purged, although nobody/, /b was purged, although nobody/);
  builder.ask(builder.life(), "purge");
  expectViolations(checkPurgedFamilies, builder, /b was purged, although nobody/);
  builder.ask(builder.life(), "purge", { given: { recursive: true } });
  expectViolations(checkPurgedFamilies, builder);
});

test("an instance that is purged with one that is not its parent", () => {
  const builder = familyAndOther();
  builder.ask(builder.life(), "purge", { given: { recursive: true } });
  builder.commit(builder.life(), { purged: [3] });
  expectViolations(checkPurgedFamilies, builder, /c was purged, although nobody asked for it/);
});
