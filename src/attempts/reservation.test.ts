import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Reservation, type ReservationEvent, reservationStep } from "./reservation.ts";

const ticketMs = 2000;
const queued: Reservation = { state: "queued" };
const reserved: Reservation = { state: "reserved", until: 3000 };
const running: Reservation = { state: "running" };
const used: Reservation = { state: "over", hasRun: true };
const unused: Reservation = { state: "over", hasRun: false };

const grant: ReservationEvent = { type: "Granted", now: 2999, isStale: false };

const events: readonly ReservationEvent[] = [
  { type: "Reserved", now: 1000, ticketMs },
  { type: "Named", now: 2000, ticketMs },
  { type: "Freed" },
  { type: "Expired", now: 2999 },
  { type: "Expired", now: 3000 },
  { type: "Withdrawn" },
  grant,
  { ...grant, now: 3000 },
  { ...grant, isStale: true },
  { type: "Ended" },
  { type: "Lapsed" },
];

function after(reservation: Reservation, event: ReservationEvent): string {
  const { next, actions } = reservationStep(reservation, event);
  const state = next.state === "over" && next.hasRun ? "used" : next.state === "over" ? "unused" : next.state;
  return [state, ...(next.state === "reserved" ? [next.until] : []), ...actions].join(" ");
}

function row(reservation: Reservation): string[] {
  return events.map((event) => after(reservation, event));
}

describe("the host's side of a ticket", () => {
  test("waits in the queue, and is offered when it has a slot", () => {
    assert.deepEqual(row(queued), [
      "reserved 3000 offer",
      "queued",
      "queued",
      "queued",
      "queued",
      "unused free",
      "queued refuse",
      "queued refuse",
      "queued refuse",
      "queued",
      "unused",
    ]);
  });

  test("V3, V4 keeps its slot until it is granted, freed or expires", () => {
    assert.deepEqual(row(reserved), [
      "reserved 3000",
      "reserved 4000",
      "unused free",
      "reserved 3000",
      "unused free",
      "reserved 3000",
      "running run accept",
      "unused free refuse",
      "unused free refuse",
      "reserved 3000",
      "unused",
    ]);
  });

  test("V1 runs once, and gives every copy of the grant the same answer", () => {
    assert.deepEqual(row(running), [
      "running",
      "running",
      "running",
      "running",
      "running",
      "running",
      "running accept",
      "running accept",
      "running accept",
      "used",
      "running",
    ]);
    for (const event of events) assert.equal(after(used, event), event.type === "Granted" ? "used accept" : "used");
  });

  test("V2 refuses for ever if it is over without a run", () => {
    for (const event of events) {
      assert.equal(after(unused, event), event.type === "Granted" ? "unused refuse" : "unused");
    }
  });
});
