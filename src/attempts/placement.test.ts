import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type PlacementEvent, type PlacementState, placementStep } from "./placement.ts";

const events: readonly PlacementEvent[] = [
  "Recorded",
  "Cancelled",
  "Held",
  "Accepted",
  "AcceptedLate",
  "Refused",
  "RefusedLate",
  "Unanswered",
];

function after(state: PlacementState, event: PlacementEvent): string {
  const step = placementStep(state, event);
  return [step.state, ...step.actions].join(" ");
}

describe("the owner's side of a ticket", () => {
  test("P1 grants when the start is durable, and frees the slot if the attempt is not wanted by then", () => {
    assert.deepEqual(
      events.map((event) => after("recording", event)),
      [
        "granting grant",
        "over free",
        "over free withdraw",
        "recording",
        "recording",
        "recording",
        "recording",
        "recording",
      ],
    );
  });

  test("P2, P3 leaves the attempt to its host until there is an answer, and withdraws it only if it was refused", () => {
    assert.deepEqual(
      events.map((event) => after("granting", event)),
      ["granting", "granting", "granting", "over", "over abort", "over withdraw", "over", "over"],
    );
  });

  test("is over for ever", () => {
    for (const event of events) assert.equal(after("over", event), "over");
  });
});
