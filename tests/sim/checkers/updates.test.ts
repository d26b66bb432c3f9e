import { test } from "node:test";
import type { Event, UpdateAnswered } from "../../../src/kernel/event.ts";
import { epochMs } from "../clock.ts";
import { code } from "../code-workflows.ts";
import type { LifeRecord } from "../evidence.ts";
import { expectViolations } from "./expect-violations.ts";
import { createdCode, EvidenceBuilder } from "./evidence-builder.ts";
import { checkUpdates } from "./updates.ts";

test("an update that is let in, answered and told", () => {
  const { builder, life } = desk(requested("m", 3), answered("m", 3));
  builder.answer(builder.ask(life, "update", { marker: "m", given: { value: 3 } }), { value: { sum: 3, marker: "m" } });
  builder.answer(builder.ask(life, "query"), { value: 3 });
  expectViolations(checkUpdates, builder);
});

test("an update that is let in twice, or answered twice, or out of nothing", () => {
  expectViolations(checkUpdates, desk(requested("m", 3), requested("m", 3)).builder, /update m was let in twice/);
  const twice = desk(requested("m", 3), answered("m", 3), answered("m", 6)).builder;
  expectViolations(checkUpdates, twice, /update m was answered twice/);
  expectViolations(checkUpdates, desk(answered("m", 0)).builder, /update m was answered, and had not been let in/);
});

test("an answer that is not on record, is another one, or is told before it is durable", () => {
  const { builder, life } = desk(requested("m", 3));
  const call = builder.ask(life, "update", { marker: "m", given: { value: 3 } });
  builder.answer(call, { value: { sum: 3, marker: "m" } });
  expectViolations(checkUpdates, builder, /update m was answered, and that is not on record/);
  builder.turn(life, 1, [answered("m", 3)]);
  expectViolations(checkUpdates, builder, /update m was answered before that was durable/);
  builder.answer(call, { value: { sum: 4, marker: "m" } });
  expectViolations(checkUpdates, builder, /update m was answered with .*"sum":4.*, not .*"sum":3/);
});

test("an update that should have been refused, and one that was", () => {
  const { builder, life } = desk(requested("m", -1));
  builder.answer(builder.ask(life, "update", { marker: "m", given: { value: -1 } }), { outcome: "unknown" });
  expectViolations(checkUpdates, builder, /update m was let in, and should have been refused/);
  const other = desk(requested("m", 1));
  const call = other.builder.ask(other.life, "update", { marker: "m", given: { value: 1 } });
  other.builder.answer(call, { outcome: "refused", code: "INPUT_INVALID" });
  expectViolations(checkUpdates, other.builder, /update m was refused and let in/);
});

test("sums that do not follow one from the other, and a query that goes back", () => {
  const { builder, life } = desk(requested("m", 3), answered("m", 4));
  expectViolations(checkUpdates, builder, /update m was answered with the sum 4, not 3/);
  const good = desk(requested("m", 3), answered("m", 3));
  good.builder.answer(good.builder.ask(life, "update", { marker: "m", given: { value: 3 } }), {
    value: { sum: 3, marker: "m" },
  });
  good.builder.answer(good.builder.ask(life, "query"), { value: 0 });
  expectViolations(checkUpdates, good.builder, /query 2 was answered with 0, not with one of 3/);
});

test("a query between two updates that are answered in the turn in which the code begins anew", () => {
  const { builder, life } = desk(requested("a", 3), requested("b", 4));
  builder.turn(life, 1, [continued(7, answered("a", 3), answered("b", 7))]);
  const query = builder.ask(life, "query");
  builder.answer(query, { value: 3 });
  expectViolations(checkUpdates, builder);
  builder.answer(query, { value: 4 });
  expectViolations(checkUpdates, builder, /query 1 was answered with 4, not with one of 0 3 7/);
});

test("code that begins anew with another sum than it has answered", () => {
  const { builder, life } = desk(requested("a", 3));
  builder.turn(life, 1, [continued(4, answered("a", 3))]);
  expectViolations(checkUpdates, builder, /it began anew with the sum 4, not 3/);
});

function desk(...events: readonly Event[]): { builder: EvidenceBuilder; life: LifeRecord } {
  const builder = new EvidenceBuilder();
  const life = builder.life();
  builder.turn(life, 1, createdCode(builder, code.desk, {}, ...events));
  return { builder, life };
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
