import type { ErrorCode } from "../../base/error.ts";
import type { Event } from "../event.ts";
import type { Step } from "./step.ts";

/**
 * A question about a durable prefix of one instance's history: which steps does its code take, having seen these events?
 * Code is a function of its history, so any answer to the question is right.
 *
 * Events are numbered through the whole life of an instance; a generation begins with `first`.
 */
export interface TurnQuestion {
  /** Qualified, like the names of workflows. */
  readonly instanceId: string;
  readonly workflow: string;
  readonly version: string;
  readonly generation: number;
  /** The number of the generation's first event. */
  readonly first: number;
  /** The prefix ends before this event. */
  readonly events: number;
  /** How many events of the prefix, from `first` on, are steps of the code. */
  readonly steps: number;
  /** The code has seen the events before this one; those from it on are news, and no replay to the code. */
  readonly seen: number;
  /** The events from `seen` on. Undefined if they take too much room: they are read with the history. */
  readonly news: readonly TurnEvents[] | undefined;
  /** Answered after the steps, from the code's variables. */
  readonly queries: readonly TurnQuery[];
  /** An update that is let in or refused after the steps. It is not part of the history yet. */
  readonly update?: TurnUpdate;
}

/** Events of one turn, in order. Large values are in them as text, never by reference. */
export interface TurnEvents {
  readonly turn: number;
  readonly at: number;
  /** The number of the first of these events. */
  readonly firstEvent: number;
  readonly events: readonly Event[];
}

export interface TurnQuery {
  readonly name: string;
  /** JSON text. */
  readonly input?: string;
}

export interface TurnUpdate {
  readonly name: string;
  /** JSON text. */
  readonly data?: string;
}

/** A part of a history, from the event that was asked for. */
export interface HistoryPage {
  readonly turns: readonly TurnEvents[];
  /** The number of the first event of the next page; that of the question if this is the last page. */
  readonly next: number;
}

export type TurnAnswer = TurnSteps | TurnFailure;

/** What the code did. The owner trusts neither form nor numbers of the steps. */
export interface TurnSteps {
  readonly steps: readonly Step[];
  /** One for each query, in their order. */
  readonly queries: readonly QueryReply[];
  /** Why the update must not be let in; absent if it may be, or if there is none. */
  readonly updateRefusal?: TurnError;
  /** False while the code compensates a saga or is on its way to its end: a cancel that is held has to wait. */
  readonly canCancel: boolean;
}

export type QueryReply = { readonly output?: string } | { readonly error: TurnError };

export interface TurnError {
  readonly code: ErrorCode;
  readonly message: string;
}

/** The code cannot go on: `WORKFLOW_CHANGED`, `WORKFLOW_NOT_DURABLE`, `WORKFLOW_UNKNOWN`. */
export interface TurnFailure {
  readonly failure: TurnError;
}
