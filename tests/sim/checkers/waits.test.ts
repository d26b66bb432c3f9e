import { test } from "node:test";
import { goodRun } from "./evidence-builder.ts";
import { expectViolations } from "./expect-violations.ts";
import { checkWaits } from "./waits.ts";

const wait = { kind: "timer", text: "its timer", since: 1, line: undefined, dueAt: 2 } as const;

test("an unfinished instance that says nothing, one that has ended and waits, and a wrong count", () => {
  for (const [about, ...what] of [
    [{ status: "Running", waiting: [wait], waitingTotal: 1 }],
    [{ status: "Success", waiting: [], waitingTotal: 0 }],
    [{ status: "Running", waiting: [], waitingTotal: 0 }, /a is Running and, says call \d+, waits for nothing/],
    [{ status: "Paused", waiting: [], waitingTotal: 0 }, /a is Paused .* waits for nothing/],
    [{ status: "Failed", waiting: [wait], waitingTotal: 1 }, /a is Failed .* waits for its timer/],
    [{ status: "Running", waiting: [wait, wait], waitingTotal: 1 }, /waits for 1 of 2 things/],
  ] as const) {
    const { builder, life } = goodRun();
    builder.answer(builder.ask(life, "status"), { value: { ...builder.view(1), ...about } });
    expectViolations(checkWaits, builder, ...what);
  }
});
