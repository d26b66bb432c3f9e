import { test } from "node:test";
import type { Event } from "../../../src/kernel/event.ts";
import { code, type Note } from "../code-workflows.ts";
import type { LifeRecord } from "../evidence.ts";
import { expectViolations } from "./expect-violations.ts";
import { checkDeliveries } from "./deliveries.ts";
import { createdCode, EvidenceBuilder } from "./evidence-builder.ts";

test("notes that come once and in order, also over a new beginning", () => {
  const { builder, life } = inbox();
  for (const number of [0, 1]) acknowledged(builder, life, number);
  builder.turn(life, 1, [anew([note(0)], [note(1)])]);
  builder.turn(life, 1, [seen(note(0), note(1))]);
  expectViolations(checkDeliveries, builder);
});

test("an event that is acknowledged and never comes, or comes twice", () => {
  const { builder, life } = inbox();
  builder.answer(builder.ask(life, "raise", { marker: "m0" }));
  expectViolations(checkDeliveries, builder, /event m0 for a was acknowledged and never came/);
  builder.turn(life, 1, [raised(0)]);
  builder.turn(life, 1, [raised(0)]);
  expectViolations(checkDeliveries, builder, /event m0 for a came 2 times/);
});

test("an event that is refused and comes, and one that is acknowledged before it is durable", () => {
  const { builder, life } = inbox();
  const call = builder.ask(life, "raise", { marker: "m0" });
  builder.answer(call);
  builder.turn(life, 1, [raised(0)]);
  expectViolations(checkDeliveries, builder, /event m0 for a was acknowledged before it was durable/);
  builder.answer(call, { outcome: "refused", code: "INSTANCE_STATE" });
  expectViolations(checkDeliveries, builder, /event m0 for a was refused \(INSTANCE_STATE\) and came/);
});

test("notes that are seen twice, out of order, or not at all", () => {
  expectViolations(
    checkDeliveries,
    told([note(0), note(0), note(1)]),
    /saw the notes 0 0 1 of sender 0, some of them twice/,
  );
  expectViolations(checkDeliveries, told([note(1), note(0)]), /saw the notes 1 0 of sender 0, out of order/);
  expectViolations(checkDeliveries, told([note(1)]), /a has not seen note 0 of sender 0, which was acknowledged/);
});

test("a note that an earlier instance of the id had received before it was terminated, and one that none received", () => {
  for (const received of [[raised(0)], []]) {
    const { builder, life } = inbox();
    const call = builder.ask(life, "signal", { marker: "m0", given: { name: "note", ...note(0) } });
    builder.turn(life, 1, [...received, { type: "InstanceEnded", status: "Terminated" }]);
    builder.answer(call);
    builder.ids.set(2, "a");
    builder.turn(life, 2, createdCode(builder, code.inbox, { perGeneration: 1, seen: [] }));
    builder.turn(life, 2, [seen()]);
    if (received.length > 0) expectViolations(checkDeliveries, builder);
    else expectViolations(checkDeliveries, builder, /m0 for a was acknowledged and never came/, /has not seen note 0/);
  }
});

test("what one instance sends to another, with a gap", () => {
  const from = (number: number): Note => ({ sender: "b", number });
  expectViolations(checkDeliveries, told([note(0), note(1), from(0), from(1)]));
  expectViolations(
    checkDeliveries,
    told([note(0), note(1), from(0), from(2)]),
    /saw the notes 0 2 of b, with a gap or out of order/,
  );
});

/** Two notes were acknowledged, and this is what the code says it has seen. */
function told(notes: readonly Note[]): EvidenceBuilder {
  const { builder, life } = inbox();
  for (const number of [0, 1]) acknowledged(builder, life, number);
  builder.turn(life, 1, [seen(...notes)]);
  return builder;
}

function inbox(): { builder: EvidenceBuilder; life: LifeRecord } {
  const builder = new EvidenceBuilder();
  const life = builder.life();
  builder.turn(life, 1, createdCode(builder, code.inbox, { perGeneration: 1, seen: [] }));
  return { builder, life };
}

function acknowledged(builder: EvidenceBuilder, life: LifeRecord, number: number): void {
  const given = { name: "note", ...note(number) };
  const call = builder.ask(life, "raise", { marker: `m${number}`, given });
  builder.turn(life, 1, [raised(number)]);
  builder.answer(call);
}

function note(number: number): Note {
  return { sender: "sender 0", number };
}

function raised(number: number): Event {
  return { type: "EventRaised", name: "note", data: JSON.stringify({ ...note(number), marker: `m${number}` }) };
}

function anew(notes: readonly Note[], kept: readonly Note[]): Event {
  const { name: workflow, version } = code.inbox;
  const events = kept.map((each) => ({ name: "note", data: JSON.stringify({ ...each, marker: `m${each.number}` }) }));
  const input = JSON.stringify({ perGeneration: 1, seen: notes });
  return { type: "InstanceContinued", workflow, version, generation: 2, createdAt: 0, trigger: "api", input, events };
}

function seen(...notes: readonly Note[]): Event {
  return { type: "InstanceEnded", status: "Success", output: JSON.stringify({ seen: notes }) };
}
