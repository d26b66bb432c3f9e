/**
 * The host's side of one ticket: a reservation waits in the queue of the host's dispatcher like an attempt, takes a slot when
 * its turn comes, and keeps it for the attempt that the owner grants.
 *
 * - V1 A run starts with the first grant that finds its ticket live, and once: every later copy gets the same answer.
 * - V2 A ticket that is over without a run refuses every grant for ever.
 * - V3 A slot that is taken is freed by the end of its run, or with the ticket: when it is declined, freed or expires.
 * - V4 A ticket expires on the clock of the host. The owner prolongs it by naming it, while it records the start.
 */
export type Reservation =
  | { readonly state: "queued" }
  | { readonly state: "reserved"; readonly until: number }
  | { readonly state: "running" }
  /** `hasRun`: a grant was accepted. */
  | { readonly state: "over"; readonly hasRun: boolean };

/**
 * Times are monotonic. `Reserved`: the dispatcher has given it a slot. `Named`: the owner has bound the ticket, or is still
 * recording the start. `Freed`: the owner has declined it. `Expired`: time passes. `Withdrawn`: the owner wants fewer slots.
 * `Granted`: the grant has arrived; `isStale` if its owner is known to have been replaced. `Ended`: the run is over.
 * `Lapsed`: the dispatcher has taken the slot back.
 */
export type ReservationEvent =
  | { readonly type: "Reserved"; readonly now: number; readonly ticketMs: number }
  | { readonly type: "Named"; readonly now: number; readonly ticketMs: number }
  | { readonly type: "Freed" }
  | { readonly type: "Expired"; readonly now: number }
  | { readonly type: "Withdrawn" }
  | { readonly type: "Granted"; readonly now: number; readonly isStale: boolean }
  | { readonly type: "Ended" }
  | { readonly type: "Lapsed" };

/** `free`: gives the slot, or the place in the queue, back. */
export type ReservationAction = "offer" | "free" | "run" | "accept" | "refuse";

export interface ReservationStep {
  readonly next: Reservation;
  readonly actions: readonly ReservationAction[];
}

const unused: Reservation = { state: "over", hasRun: false };

export function reservationStep(reservation: Reservation, event: ReservationEvent): ReservationStep {
  if (reservation.state === "queued") return fromQueued(reservation, event);
  if (reservation.state === "reserved") return fromReserved(reservation, event);
  if (reservation.state === "running" && event.type === "Ended") {
    return { next: { state: "over", hasRun: true }, actions: [] };
  }
  if (event.type !== "Granted") return { next: reservation, actions: [] };
  const hasRun = reservation.state === "running" || reservation.hasRun;
  return { next: reservation, actions: [hasRun ? "accept" : "refuse"] };
}

function fromQueued(reservation: Reservation, event: ReservationEvent): ReservationStep {
  switch (event.type) {
    case "Reserved":
      return { next: { state: "reserved", until: event.now + event.ticketMs }, actions: ["offer"] };
    case "Withdrawn":
      return { next: unused, actions: ["free"] };
    case "Lapsed":
      return { next: unused, actions: [] };
    case "Granted":
      // A ticket that was never offered: not one of this process.
      return { next: reservation, actions: ["refuse"] };
    default:
      return { next: reservation, actions: [] };
  }
}

function fromReserved(
  reservation: Extract<Reservation, { state: "reserved" }>,
  event: ReservationEvent,
): ReservationStep {
  switch (event.type) {
    case "Named":
      return { next: { state: "reserved", until: event.now + event.ticketMs }, actions: [] };
    case "Freed":
      return { next: unused, actions: ["free"] };
    case "Expired":
      return event.now < reservation.until ? { next: reservation, actions: [] } : { next: unused, actions: ["free"] };
    case "Granted":
      return event.isStale || event.now >= reservation.until
        ? { next: unused, actions: ["free", "refuse"] }
        : { next: { state: "running" }, actions: ["run", "accept"] };
    case "Lapsed":
      return { next: unused, actions: [] };
    default:
      // The owner may have bound it before it said that it wants fewer.
      return { next: reservation, actions: [] };
  }
}
