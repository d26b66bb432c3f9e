import { test } from "node:test";
import type { Event } from "../../../src/kernel/event.ts";
import { created, EvidenceBuilder, solo } from "./evidence-builder.ts";
import { expectViolations } from "./expect-violations.ts";
import { checkStarts } from "./starts.ts";

const started: Event = { type: "TaskStarted", task: 0, attempt: 1, worker: "m1/w1", startedAt: 1 };
const lost: Event = { type: "TaskInterrupted", task: 0, attempt: 1 };

test("an attempt that runs on a worker before its start is on record, or after that was counted as lost", () => {
  for (const { before, isRecorded } of [
    { before: [], isRecorded: false },
    { before: [started], isRecorded: true },
    { before: [started, lost], isRecorded: false },
    { before: [started, lost, started], isRecorded: true },
  ]) {
    const builder = new EvidenceBuilder({ isCluster: true });
    const life = builder.life();
    builder.claim(life);
    builder.turn(life, 1, created(builder, solo));
    for (const event of before) builder.turn(life, 1, [event]);
    builder.run(builder.life("w1", "worker"), "a:1:0:1");
    builder.turn(life, 1, [started]);
    if (isRecorded) expectViolations(checkStarts, builder);
    else expectViolations(checkStarts, builder, /a:1:0:1 ran on life 2 before its start was on record/);
  }
});
