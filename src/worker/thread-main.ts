import { type MessagePort, workerData } from "node:worker_threads";
import type { LogLevel } from "../base/context-log.ts";
import type { LogFields, Logger } from "../base/logger.ts";
import type { Outcome } from "../kernel/input.ts";
import { Abort } from "../dispatch/abort.ts";
import { AttemptContext } from "./attempt-context.ts";
import { callJob, failureOutcome } from "./call-job.ts";
import { loadJob } from "./load-job.ts";
import { SentQuestions } from "./sent-questions.ts";
import type { FromThread, ThreadOrder, ToThread } from "./thread-message.ts";
import { printedFields } from "./writable-fields.ts";

/** The main loop of a thread: runs one attempt at a time and answers with its outcome. */
class ThreadMain {
  readonly #port: MessagePort;
  readonly #questions = new SentQuestions((asked) => this.#send({ type: "asked", ...asked }));
  #abort = new Abort();

  constructor(port: MessagePort) {
    this.#port = port;
  }

  listen(): void {
    this.#port.on("message", (message: ToThread) => this.#receive(message));
  }

  #receive(message: ToThread): void {
    if (message.type === "abort") this.#abort.abort(new DOMException(message.reason.message, message.reason.name));
    else if (message.type === "answered") this.#questions.onAnswered(message);
    else void this.#run(message.order);
  }

  async #run(order: ThreadOrder): Promise<void> {
    this.#abort = new Abort();
    this.#send({ type: "ended", outcome: await this.#outcome(order, this.#abort) });
  }

  async #outcome({ run, source, params, inputs, subTasksMax }: ThreadOrder, abort: Abort): Promise<Outcome> {
    try {
      const job = await loadJob(source);
      const context = new AttemptContext(run, inputs, abort, {
        logger: this.#loggerOf(run.attemptId),
        subTasksMax,
        onReport: (attemptId, report) => this.#send({ type: "report", attemptId, report }),
        ask: (attempt, question) => this.#questions.ask(attempt, question),
      });
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
  #log(line: Extract<FromThread, { type: "log" }>): void {
    try {
      this.#send(line);
    } catch {
      this.#send({ ...line, fields: printedFields(line.fields) });
    }
  }

  #send(message: FromThread): void {
    this.#port.postMessage(message, []);
  }
}

/** The worker data is removed below, because jobs in this thread can read it and must not find the port. */
const data = workerData as { port?: MessagePort } | null;
if (data?.port !== undefined) new ThreadMain(data.port).listen();
delete data?.port;
