import { test } from "node:test";
import { expectViolations } from "./expect-violations.ts";
import { checkFencing } from "./fencing.ts";
import { goodRun } from "./evidence-builder.ts";

test("a batch of an earlier owner, after the next has claimed the shard", () => {
  const { builder, life } = goodRun();
  builder.claim(builder.life("m2"));
  builder.commit(life, {}, { epoch: 1 });
  expectViolations(
    checkFencing,
    builder,
    /batch 3 of shard 0 under epoch 1, by life 1, was taken; the shard is at epoch 2/,
  );
});

test("two writers under one epoch", () => {
  const { builder } = goodRun();
  builder.commit(builder.life("m2"), {});
  expectViolations(checkFencing, builder, /by life 2, was taken; life 1 had claimed it/);
});

test("a batch that is not the next; one that is sent again is", () => {
  const { builder, life } = goodRun();
  builder.commit(life, {}, { number: 2 });
  expectViolations(checkFencing, builder);
  builder.commit(life, {}, { number: 4 });
  expectViolations(checkFencing, builder, /batch 4 .* the last was 2/);
});

test("an epoch that does not go up", () => {
  const { builder, life } = goodRun();
  builder.claim(life, { epoch: 1 });
  expectViolations(checkFencing, builder, /claimed with epoch 1 after 1/);
});

test("a claim of what a living member has", () => {
  const { builder } = goodRun({ isCluster: true });
  builder.lists.memberships.push({ ...builder.moment(), life: 1, what: "joined", member: "owner 1" });
  builder.claim(builder.life("m2"));
  expectViolations(checkFencing, builder, /claimed by owner 2 while owner 1 lives and has it/);
});

test("nothing is wrong with a claim of what a lost member had", () => {
  const { builder } = goodRun({ isCluster: true });
  builder.lists.memberships.push({ ...builder.moment(), life: 1, what: "joined", member: "owner 1" });
  builder.lists.memberships.push({ ...builder.moment(), life: 2, what: "removed", member: "owner 1" });
  const other = builder.life("m2");
  builder.claim(other);
  builder.commit(other, {});
  expectViolations(checkFencing, builder);
});
