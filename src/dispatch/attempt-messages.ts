import { type AttemptDescriptor, localNames } from "./attempt-descriptor.ts";
import { answerQuestion, type AskOwner } from "./attempt-question.ts";
import type { OnReport } from "./attempt-report.ts";
import type { LoggedLine, QuestionAnswered, QuestionAsked, ReportOfAttempt } from "./session-message.ts";
import type { OnTaskLog } from "./task-log.ts";

export interface AttemptMessagesParts {
  readonly onTaskLog?: OnTaskLog | undefined;
  readonly onReport?: OnReport | undefined;
  /** Asks the owner of an instance on behalf of an attempt that runs on the worker. */
  readonly ask?: AskOwner | undefined;
}

/** The attempts of the session, as far as messages about them need it. */
export interface MessageSources {
  /** Of an attempt that runs on the worker and that an owner follows. */
  followed(attemptId: string): AttemptDescriptor | undefined;
  /** Of an attempt that has ended or was aborted, while that is being settled. */
  ended(attemptId: string): AttemptDescriptor | undefined;
}

/** What attempts on a remote worker send while they run. A worker speaks for attempts that were granted to it only. */
export class AttemptMessages {
  readonly #parts: AttemptMessagesParts;
  readonly #sources: MessageSources;
  readonly #answer: (message: QuestionAnswered) => void;
  /** Questions that are being answered, by number. */
  readonly #questions = new Set<number>();

  constructor(parts: AttemptMessagesParts, sources: MessageSources, answer: (message: QuestionAnswered) => void) {
    this.#parts = parts;
    this.#sources = sources;
    this.#answer = answer;
  }

  /** The worker repeats a question that it finds unanswered. */
  async onQuestion({ question, attemptId, body }: QuestionAsked): Promise<void> {
    const descriptor = this.#sources.followed(attemptId);
    if (descriptor === undefined || this.#questions.has(question)) return;
    this.#questions.add(question);
    const answer = await answerQuestion(this.#parts.ask, descriptor, { question, body });
    this.#questions.delete(question);
    this.#answer({ type: "QuestionAnswered", ...answer });
  }

  onLogged(lines: readonly LoggedLine[]): void {
    for (const { attemptId, at, level, message, fields } of lines) {
      const descriptor = this.#sources.followed(attemptId) ?? this.#sources.ended(attemptId);
      if (descriptor === undefined) continue;
      this.#parts.onTaskLog?.({ attemptId, ...localNames(descriptor), at, level, message, fields });
    }
  }

  onReported(reports: readonly ReportOfAttempt[]): void {
    for (const { attemptId, ...report } of reports) {
      if (this.#sources.followed(attemptId) !== undefined) this.#parts.onReport?.(attemptId, report);
    }
  }
}
