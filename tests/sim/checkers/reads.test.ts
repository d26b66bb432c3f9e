import { test } from "node:test";
import { expectViolations } from "./expect-violations.ts";
import { checkReads } from "./reads.ts";
import { created, goodRun, EvidenceBuilder, solo, succeeded } from "./evidence-builder.ts";

test("an answer that is older than an answer before it", () => {
  const builder = new EvidenceBuilder();
  const life = builder.life();
  builder.turn(life, 1, created(builder, solo));
  const old = builder.view(1);
  builder.turn(life, 1, succeeded);
  builder.answer(builder.ask(life, "status"), { value: builder.view(1) });
  expectViolations(checkReads, builder);
  builder.answer(builder.ask(life, "status"), { value: old });
  expectViolations(
    checkReads,
    builder,
    /status, call 2, was answered with what was true before status, call 1, had been answered/,
  );
});

test("an answer that is older than a request that was granted", () => {
  const builder = new EvidenceBuilder();
  const life = builder.life();
  builder.turn(life, 1, created(builder, solo));
  const old = builder.view(1);
  builder.turn(life, 1, succeeded);
  builder.answer(builder.ask(life, "await"));
  builder.answer(builder.ask(life, "status"), { value: old });
  expectViolations(checkReads, builder, /status, call 2, was answered with what was true before await, call 1/);
});

test("an answer that is ahead of what is durable", () => {
  const { builder, life } = goodRun();
  const ended = builder.view(1);
  const other = new EvidenceBuilder();
  const early = other.life();
  other.turn(early, 1, created(other, solo));
  other.answer(other.ask(early, "status"), { value: ended });
  other.turn(early, 1, succeeded);
  expectViolations(checkReads, other, /status, call 1, was answered, and that was not durable yet/);
  builder.answer(builder.ask(life, "status"), { value: { ...ended, reason: "who knows" } });
  expectViolations(checkReads, builder, /status, call 2, was answered, and it was never like that/);
});

test("a history that is shorter than one that was shown before", () => {
  const { builder, life } = goodRun();
  builder.answer(builder.ask(life, "history"), { value: [0, 1] });
  builder.answer(builder.ask(life, "history"), { value: [0] });
  expectViolations(checkReads, builder, /history, call 3, was answered with what was true before history, call 2/);
});

test("a list without an instance that was accepted", () => {
  const { builder, life } = goodRun();
  builder.answer(builder.ask(life, "list", { instanceId: undefined }), { value: ["a"] });
  expectViolations(checkReads, builder);
  builder.answer(builder.ask(life, "list", { instanceId: undefined }), { value: [] });
  expectViolations(checkReads, builder, /list, call 3, does not have a, which had been accepted/);
});
