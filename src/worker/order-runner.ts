import type { LogLevel } from "../base/context-log.ts";
import type { LogFields, Logger } from "../base/logger.ts";
import type { Outcome } from "../kernel/input.ts";
import { Abort } from "../dispatch/abort.ts";
import { AttemptContext } from "./attempt-context.ts";
import { callJob, failureOutcome } from "./call-job.ts";
import { loadJob } from "./load-job.ts";
import type { FromRunner, JobOrder, ToRunner } from "./order-message.ts";
import { SentQuestions } from "./sent-questions.ts";
import { printedFields } from "./writable-fields.ts";

/** Runs the jobs of a thread or a child process: one attempt at a time, whose outcome it sends. */
export class OrderRunner {
  readonly #send: (message: FromRunner) => void;
  readonly #questions: SentQuestions;
  #abort = new Abort();

  constructor(send: (message: FromRunner) => void) {
    this.#send = send;
    this.#questions = new SentQuestions((asked) => send({ type: "asked", ...asked }));
  }

  receive(message: ToRunner): void {
    if (message.type === "abort") this.#abort.abort(new DOMException(message.reason.message, message.reason.name));
    else if (message.type === "answered") this.#questions.onAnswered(message);
    else void this.#run(message.order);
  }

  async #run(order: JobOrder): Promise<void> {
    this.#abort = new Abort();
    this.#send({ type: "ended", outcome: await this.#outcome(order, this.#abort) });
  }

  async #outcome({ run, source, params, inputs, subTasksMax, isWatched }: JobOrder, abort: Abort): Promise<Outcome> {
    try {
      const job = await loadJob(source);
      const context = new AttemptContext(run, inputs, abort, {
        logger: this.#loggerOf(run.attemptId),
        subTasksMax,
        onReport: (attemptId, report) => this.#send({ type: "report", attemptId, report }),
        ask: (attempt, question) => this.#questions.ask(attempt, question),
      });
      if (isWatched) context.heartbeat();
      return await callJob(job, params, context);
    } catch (error) {
      return failureOutcome(error);
    }
  }

  #loggerOf(attemptId: string): Logger {
    const log = (level: LogLevel) => (fields: LogFields, message: string) =>
      this.#log({ type: "log", attemptId, level, fields, message });
    return { debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error") };
  }

  /** Sends fields that cannot be cloned as printed text. */
  #log(line: Extract<FromRunner, { type: "log" }>): void {
    try {
      this.#send(line);
    } catch {
      this.#send({ ...line, fields: printedFields(line.fields) });
    }
  }
}
