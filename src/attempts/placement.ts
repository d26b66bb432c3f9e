/**
 * The owner's side of one ticket: an attempt is placed on a slot that another member, the host, has reserved for it.
 *
 * - P1 A grant leaves only when the start, with the host in it, is durable (`recording` comes before `granting`).
 * - P2 From the grant on the attempt is delegated to the host. It leaves that state by an answer that the host gives for ever,
 *   `accepted` or `refused`, by a report, or when its lease expires; never because an answer is missing.
 * - P3 A refused attempt is withdrawn before it starts anywhere else. An attempt that is not wanted any more is never withdrawn.
 */
export type PlacementState = "recording" | "granting" | "over";

/**
 * `Recorded`: the start is durable. `Cancelled`: the attempt was aborted, or its shard moves, before that. `Held`: its instance
 * is paused, or its inputs cannot be read, after that. `Accepted`, `Refused`: answers of the host about an attempt that is
 * delegated. `AcceptedLate`, `RefusedLate`: about one that is not delegated any more. `Unanswered`: the host has not
 * answered, and is not asked any more.
 */
export type PlacementEvent =
  | "Recorded"
  | "Cancelled"
  | "Held"
  | "Accepted"
  | "AcceptedLate"
  | "Refused"
  | "RefusedLate"
  | "Unanswered";

/** `abort`: makes the host stop the attempt. `free`: tells the host that the slot is not needed. */
export type PlacementAction = "grant" | "free" | "withdraw" | "abort";

export interface PlacementStep {
  readonly state: PlacementState;
  readonly actions: readonly PlacementAction[];
}

type Row = Readonly<Partial<Record<PlacementEvent, PlacementStep>>>;

const table: Readonly<Record<PlacementState, Row>> = {
  recording: {
    Recorded: { state: "granting", actions: ["grant"] },
    Cancelled: { state: "over", actions: ["free"] },
    Held: { state: "over", actions: ["free", "withdraw"] },
  },
  granting: {
    Accepted: { state: "over", actions: [] },
    // The abort that was sent before may have arrived before the grant.
    AcceptedLate: { state: "over", actions: ["abort"] },
    Refused: { state: "over", actions: ["withdraw"] },
    RefusedLate: { state: "over", actions: [] },
    Unanswered: { state: "over", actions: [] },
  },
  over: {},
};

/** What has no entry in the table changes nothing: it comes late, or twice. */
export function placementStep(state: PlacementState, event: PlacementEvent): PlacementStep {
  return table[state][event] ?? { state, actions: [] };
}
