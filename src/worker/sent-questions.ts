import {
  type AskingAttempt,
  type AttemptAnswer,
  type AttemptQuestion,
  errorOfQuestion,
  type NumberedAnswer,
  type NumberedQuestion,
} from "../dispatch/attempt-question.ts";

interface SentQuestion {
  readonly asked: NumberedQuestion;
  readonly resolve: (answer: AttemptAnswer) => void;
  readonly reject: (error: unknown) => void;
}

/** The questions of running jobs that are not answered yet. The jobs are in a thread, or in a process of their own. */
export class SentQuestions {
  readonly #send: (asked: NumberedQuestion) => void;
  readonly #open = new Map<number, SentQuestion>();
  #last = 0;

  constructor(send: (asked: NumberedQuestion) => void) {
    this.#send = send;
  }

  ask({ attemptId }: Pick<AskingAttempt, "attemptId">, body: AttemptQuestion): Promise<AttemptAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<AttemptAnswer>();
    const asked = { question: ++this.#last, attemptId, body };
    this.#open.set(asked.question, { asked, resolve, reject });
    this.#send(asked);
    return promise;
  }

  onAnswered({ question, answer, failure }: NumberedAnswer): void {
    const open = this.#open.get(question);
    if (open === undefined) return;
    this.#open.delete(question);
    if (answer === undefined) open.reject(errorOfQuestion(failure ?? { message: "the question was not answered" }));
    else open.resolve(answer);
  }

  /** Forgets the questions of attempts that have ended, and sends all others again. */
  repeat(isRunning: (attemptId: string) => boolean): void {
    for (const [number, { asked }] of this.#open) {
      if (isRunning(asked.attemptId)) this.#send(asked);
      else this.#open.delete(number);
    }
  }
}
