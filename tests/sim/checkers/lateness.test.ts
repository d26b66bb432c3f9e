import { test } from "node:test";
import type { Event } from "../../../src/kernel/event.ts";
import { epochMs } from "../clock.ts";
import { code } from "../code-workflows.ts";
import type { LifeRecord } from "../evidence.ts";
import { expectViolations } from "./expect-violations.ts";
import { checkLateness } from "./lateness.ts";
import { createdCode, EvidenceBuilder } from "./evidence-builder.ts";

/** It is set at 1000, and due ten seconds later. */
function asleep(): { builder: EvidenceBuilder; life: LifeRecord } {
  const builder = new EvidenceBuilder();
  const life = builder.life();
  builder.claim(life);
  const set: Event = { type: "TimerSet", timer: 0, dueAt: epochMs + builder.now + 10_000 };
  builder.turn(life, 1, createdCode(builder, code.sleeper, { napsMs: [], togetherMs: [] }, set));
  return { builder, life };
}

const fired: Event = { type: "TimerFired", timer: 0 };

test("a timer that fires in time, and one that fires too late", () => {
  const { builder, life } = asleep();
  builder.now += 12_000;
  builder.turn(life, 1, [fired]);
  expectViolations(checkLateness, builder);
  const late = asleep();
  late.builder.now += 21_000;
  late.builder.turn(late.life, 1, [fired]);
  expectViolations(checkLateness, late.builder, /a: timer 0 came \d+ ms too late/);
});

test("a wait that starts over with the claim of another process", () => {
  const { builder } = asleep();
  builder.now += 9000;
  const next = builder.life();
  builder.claim(next);
  builder.now += 10_000;
  builder.turn(next, 1, [fired]);
  expectViolations(checkLateness, builder, /a: timer 0 came \d+ ms too late/);
});

test("a timer that is late because its owner was frozen, kept from the store, or came late", () => {
  const frozen = asleep();
  const from = frozen.builder.moment();
  frozen.builder.now += 21_000;
  frozen.life.freezes.push({ from, to: frozen.builder.moment(), kind: "stopped" });
  frozen.builder.turn(frozen.life, 1, [fired]);
  expectViolations(checkLateness, frozen.builder);
  const cut = asleep();
  cut.builder.lists.storeOutages.push({ machine: "m1", from: 2000, to: 20_000 });
  cut.builder.now += 21_000;
  cut.builder.turn(cut.life, 1, [fired]);
  expectViolations(checkLateness, cut.builder);
  const taken = asleep();
  taken.builder.now += 20_000;
  const next = taken.builder.life();
  taken.builder.claim(next);
  taken.builder.now += 1000;
  taken.builder.turn(next, 1, [fired]);
  expectViolations(checkLateness, taken.builder);
});

test("a timer that falls due while its instance is paused is met when it is resumed", () => {
  const { builder, life } = asleep();
  builder.turn(life, 1, [{ type: "InstancePaused" }]);
  builder.now += 30_000;
  builder.turn(life, 1, [{ type: "InstanceResumed" }, fired]);
  expectViolations(checkLateness, builder);
});

test("a timer of code that was lost with its process waits for suspect attempts; one of code that was not does not", () => {
  for (const losses of [0, 1]) {
    const { builder, life } = asleep();
    builder.now += 40_000;
    builder.turn(life, 1, [{ type: "ReactionStarted", losses }]);
    builder.turn(life, 1, [fired, { type: "ReactionEnded", losses: 0 }]);
    expectViolations(checkLateness, builder, ...(losses === 0 ? [/a: timer 0 came \d+ ms too late/] : []));
  }
});
