import { test } from "node:test";
import type { Event } from "../../../src/kernel/event.ts";
import { epochMs } from "../clock.ts";
import { code } from "../code-workflows.ts";
import { expectAsyncViolations } from "./expect-violations.ts";
import { checkReplays } from "./replays.ts";
import { createdCode, EvidenceBuilder } from "./evidence-builder.ts";

const output = JSON.stringify({ naps: 1, woken: [] });
const ended: Event = { type: "InstanceEnded", status: "Success", output };

test("code that does again what is on record", async () => {
  await expectAsyncViolations(checkReplays, slept(100, [{ type: "TimerFired", timer: 0 }, ended]));
});

test("a step with another value", async () => {
  const builder = slept(99, [{ type: "TimerFired", timer: 0 }, ended]);
  await expectAsyncViolations(checkReplays, builder, /a, event 2 of generation 1: .*TimerSet.* now asks for .*"timer"/);
});

test("a step that the code does not take", async () => {
  const mark: Event = { type: "PatchMarked", patch: "p" };
  await expectAsyncViolations(
    checkReplays,
    slept(100, [mark]),
    /PatchMarked.* is on record, and its code now asks for nothing/,
  );
});

test("a step before its cause", async () => {
  const builder = slept(100, [ended, { type: "TimerFired", timer: 0 }]);
  await expectAsyncViolations(checkReplays, builder, /it ended with .*, and its code now does not end/);
});

test("another end", async () => {
  const other: Event = { ...ended, output: "{}" };
  const builder = slept(100, [{ type: "TimerFired", timer: 0 }, other]);
  await expectAsyncViolations(checkReplays, builder, /it ended with .*, and its code now ends with .*complete/);
});

test("an end that somebody asked for", async () => {
  const builder = slept(100, []);
  builder.ask(builder.life(), "terminate", { marker: "m" });
  builder.turn(builder.life(), 1, [{ type: "InstanceEnded", status: "Terminated", reason: "m" }]);
  await expectAsyncViolations(checkReplays, builder);
});

function slept(ms: number, events: readonly Event[]): EvidenceBuilder {
  const builder = new EvidenceBuilder();
  const life = builder.life();
  const input = { napsMs: [100], togetherMs: [] };
  const dueAt = epochMs + builder.now + ms;
  builder.turn(life, 1, createdCode(builder, code.sleeper, input, { type: "TimerSet", timer: 0, dueAt }));
  builder.now += 100;
  if (events.length > 0) builder.turn(life, 1, events);
  return builder;
}
