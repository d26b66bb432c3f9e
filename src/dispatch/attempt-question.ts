import { EngineError, type ErrorCode, errorCodes, messageOf } from "../base/error.ts";
import type { Failure } from "../kernel/failure.ts";
import type { AttemptIdentity } from "./task-run.ts";

/** A question of a running job to its instance, whichever member owns that. It may come more than once. */
export type AttemptQuestion =
  /** The results of the items of the map that the attempt belongs to, from an index on. Answered by a `ResultsPage`. */
  { readonly type: "ListResults"; readonly from: number } | ItemsHandedIn;

/**
 * Items for the map that the attempt belongs to: those of one of its calls, numbered from 0, from an index on. Answered
 * when they are durable.
 */
export interface ItemsHandedIn {
  readonly type: "AddItems";
  readonly call: number;
  readonly from: number;
  /** A JSON array. */
  readonly items: string;
}

/** The items are durable. */
export interface ItemsTaken {
  readonly areDurable: true;
}

/** How an item ended. */
export interface ItemResult {
  readonly index: number;
  readonly item?: unknown;
  readonly status: string;
  readonly output?: unknown;
  readonly failure?: Failure;
}

export interface ResultsPage {
  readonly items: readonly ItemResult[];
  /** The index with which the next page begins; absent on the last. */
  readonly next?: number;
}

/** The answer to each question, as JSON has it. */
export interface AttemptAnswers {
  readonly ListResults: ResultsPage;
  readonly AddItems: ItemsTaken;
}

export type AttemptAnswer = AttemptAnswers[AttemptQuestion["type"]];

/** The attempt that asks. */
export type AskingAttempt = Pick<AttemptIdentity, "attemptId" | "instanceId" | "task" | "attempt" | "generation">;

/** Asks the owner of an instance on behalf of one of its attempts. */
export type AskOwner = (attempt: AskingAttempt, question: AttemptQuestion) => Promise<AttemptAnswer>;

/** A question with a number, from a process or thread that runs jobs. It is sent again, unchanged, until it is answered. */
export interface NumberedQuestion {
  readonly question: number;
  readonly attemptId: string;
  readonly body: AttemptQuestion;
}

/** Answers the question of that number; with a failure, it was refused. */
export interface NumberedAnswer {
  readonly question: number;
  readonly answer?: AttemptAnswer;
  readonly failure?: QuestionFailure;
}

/** Why a question was refused; without a code for an error that is none of the engine's. */
export interface QuestionFailure {
  readonly code?: string;
  readonly message: string;
}

/** Asks on behalf of a job that is in a thread, or in another process. Never rejects. */
export async function answerQuestion(
  ask: AskOwner | undefined,
  attempt: AskingAttempt | undefined,
  { question, body }: Omit<NumberedQuestion, "attemptId">,
): Promise<NumberedAnswer> {
  try {
    if (ask === undefined || attempt === undefined)
      throw new EngineError("TASK_INVALID", "the task is part of no workflow");
    return { question, answer: await ask(attempt, body) };
  } catch (error) {
    const message = messageOf(error);
    return { question, failure: error instanceof EngineError ? { code: error.code, message } : { message } };
  }
}

/** The error that the job gets. */
export function errorOfQuestion({ code, message }: QuestionFailure): Error {
  return code !== undefined && Object.hasOwn(errorCodes, code)
    ? new EngineError(code as ErrorCode, message)
    : new Error(message);
}
