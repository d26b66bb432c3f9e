import { type MessagePort, parentPort } from "node:worker_threads";
import type { LogLevel } from "../base/context-log.ts";
import type { LogFields, Logger } from "../base/logger.ts";
import type { Outcome } from "../kernel/input.ts";
import { Abort } from "../dispatch/abort.ts";
import { AttemptContext } from "./attempt-context.ts";
import { callJob, failureOutcome } from "./call-job.ts";
import { loadJob } from "./load-job.ts";
import type { FromThread, ThreadOrder, ToThread } from "./thread-message.ts";
import { printedFields } from "./writable-fields.ts";

/** The inside of a thread: runs one order at a time and answers each with its outcome. */
class ThreadMain {
  readonly #port: MessagePort;
  readonly #logger: Logger;
  #abort = new Abort();

  constructor(port: MessagePort) {
    this.#port = port;
    this.#logger = {
      debug: (fields, message) => this.#log("debug", fields, message),
      info: (fields, message) => this.#log("info", fields, message),
      warn: (fields, message) => this.#log("warn", fields, message),
      error: (fields, message) => this.#log("error", fields, message),
    };
  }

  listen(): void {
    this.#port.on("message", (message: ToThread) => this.#receive(message));
  }

  #receive(message: ToThread): void {
    if (message.type === "abort") this.#abort.abort(new DOMException(message.reason.message, message.reason.name));
    else void this.#run(message.order);
  }

  async #run(order: ThreadOrder): Promise<void> {
    this.#abort = new Abort();
    this.#send({ type: "ended", outcome: await this.#outcome(order, this.#abort) });
  }

  async #outcome({ run, source, params, inputs, subTasksMax }: ThreadOrder, abort: Abort): Promise<Outcome> {
    try {
      const job = await loadJob(source);
      const context = new AttemptContext({
        run,
        inputs,
        abort,
        logger: this.#logger,
        subTasksMax,
        onProgress: (_, progress) => this.#send({ type: "progress", progress }),
      });
      return await callJob(job, params, context);
    } catch (error) {
      return failureOutcome(error);
    }
  }

  /** Fields that cannot be copied to the other side are sent as they would be printed. */
  #log(level: LogLevel, fields: LogFields, message: string): void {
    try {
      this.#send({ type: "log", level, fields, message });
    } catch {
      this.#send({ type: "log", level, fields: printedFields(fields), message });
    }
  }

  #send(message: FromThread): void {
    this.#port.postMessage(message, []);
  }
}

if (parentPort !== null) new ThreadMain(parentPort).listen();
