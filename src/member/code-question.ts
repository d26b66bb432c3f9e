import type { NeededCode } from "../dispatch/code-hosts.ts";
import type { TurnAnswer, TurnQuestion } from "../kernel/code/turn-question.ts";

/**
 * The questions by which members use each other's hosts of code, with their arguments and answers, all JSON. Each may come
 * twice, and late.
 */
export interface CodeQuestions {
  /** An owner looks for hosts of code. */
  readonly FindCode: {
    readonly args: { readonly needed: readonly NeededCode[] };
    readonly result: {
      /** Indexes of the code that some host of the member has. */
      readonly able: readonly number[];
      readonly free: number;
    };
  };
  /** Puts a question about code to a host of the member, or asks again for its answer. Answered within two seconds. */
  readonly AskCode: {
    readonly args: {
      readonly owner: string;
      /** Names the question among all of its owner. */
      readonly number: number;
      /** Left out once the member has shown that it has the question. */
      readonly asked?: ForeignQuestion;
    };
    readonly result: CodeReply;
  };
}

export interface ForeignQuestion {
  readonly question: TurnQuestion;
  readonly key: number;
  readonly losses: number;
}

export interface CodeReply {
  /**
   * `open`: it has no answer yet. `stalled`: nor has it, and its worker is out of touch. `lost`: its worker was lost.
   * `refused`: no host of the member has the code. `unreadable`: its history could not be read there. `unknown`: the
   * member does not have the question, which is to be sent.
   */
  readonly state: "answered" | "open" | "stalled" | "lost" | "refused" | "unreadable" | "unknown";
  readonly answer?: TurnAnswer;
  /** The number of questions that hosts of the member take in addition. */
  readonly free: number;
}

export type CodeQuestionType = keyof CodeQuestions;
export type CodeQuestionOf<T extends CodeQuestionType> = { readonly type: T } & CodeQuestions[T]["args"];
export type CodeAnswerOf<T extends CodeQuestionType> = CodeQuestions[T]["result"];

/** Asks another member. Throws if it does not answer in time. */
export type AskMemberCode = <T extends CodeQuestionType>(
  member: string,
  question: CodeQuestionOf<T>,
  holdMs: number,
) => Promise<CodeAnswerOf<T>>;

/** A question without an answer is replied to after this time, and asked again. */
export const replyMs = 2000;
