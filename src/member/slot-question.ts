import type { AttemptClass } from "../dispatch/attempt-class.ts";
import type { AttemptDescriptor } from "../dispatch/attempt-descriptor.ts";
import type { GrantFence } from "../dispatch/grant-fence.ts";
import type { ClassDemand } from "../dispatch/slot-exchange.ts";
import type { TaskInputs } from "../dispatch/task-run.ts";

/**
 * The questions by which members use each other's slots, with their arguments and answers, all JSON. Each may come twice, and
 * late. Slots do not travel: the host takes and frees them, and the owner asks for them.
 */
export interface SlotQuestions {
  /** An owner says how many of its attempts wait; that replaces what it said before, and is forgotten after a while. */
  readonly RequestSlots: {
    readonly args: {
      readonly owner: string;
      readonly wants: readonly ClassDemand[];
      /** Tickets of the host under which starts are being made durable. */
      readonly held: readonly string[];
    };
    readonly result: SlotsAnswer;
  };
  /** A host offers a slot that it has reserved. */
  readonly OfferSlot: {
    readonly args: {
      readonly host: string;
      readonly ticket: string;
      readonly class: AttemptClass;
      /** The address of the worker that has the slot. */
      readonly worker: string;
    };
    readonly result: "bound" | "declined";
  };
  /** An owner grants an attempt, whose start with that worker is durable. A refusal holds for ever. */
  readonly GrantAttempt: {
    readonly args: {
      readonly ticket: string;
      readonly descriptor: AttemptDescriptor;
      readonly params: string;
      readonly inputs: TaskInputs;
      readonly completionToken?: string | undefined;
      readonly fence: GrantFence;
    };
    readonly result: "accepted" | "refused";
  };
  /** A new owner asks for attempts that started there. The result is those that the host does not have. */
  readonly FindAttempts: {
    readonly args: { readonly fence: GrantFence; readonly attemptIds: readonly string[] };
    readonly result: readonly string[];
  };
}

export interface SlotsAnswer {
  readonly slots: number;
  readonly free: number;
  /** Indexes of the classes that no worker there may run. */
  readonly lacking: readonly number[];
}

export type SlotQuestionType = keyof SlotQuestions;
export type SlotQuestionOf<T extends SlotQuestionType> = { readonly type: T } & SlotQuestions[T]["args"];
export type SlotAnswerOf<T extends SlotQuestionType> = SlotQuestions[T]["result"];

/** Asks another member. Throws if it does not answer in time. */
export type AskSlots = <T extends SlotQuestionType>(
  member: string,
  question: SlotQuestionOf<T>,
  timeoutMs: number,
) => Promise<SlotAnswerOf<T>>;

/** Timings of tickets. Without a bus, questions wait in mailboxes that are polled. */
export interface SlotTimings {
  /** Time for which a ticket holds its slot unless the owner names it again. */
  readonly ticketMs: number;
  /** Interval at which an owner repeats its requests. */
  readonly requestMs: number;
  /** Time after which a request that was not repeated is forgotten. */
  readonly forgetMs: number;
}

export function slotTimings(isBusConnected: boolean): SlotTimings {
  return isBusConnected
    ? { ticketMs: 2000, requestMs: 1000, forgetMs: 3000 }
    : { ticketMs: 5000, requestMs: 2000, forgetMs: 8000 };
}
