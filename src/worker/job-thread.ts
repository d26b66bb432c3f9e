import { MessageChannel, type MessagePort, type ResourceLimits, Worker as Thread } from "node:worker_threads";
import { EngineError } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import { localName, namespaceOf } from "../base/namespace.ts";
import type { OnTaskLog } from "../dispatch/task-log.ts";
import { answerQuestion, type AskOwner, type NumberedQuestion } from "../dispatch/attempt-question.ts";
import type { OnReport } from "../dispatch/attempt-report.ts";
import type { Outcome } from "../kernel/input.ts";
import { failureOutcome } from "./call-job.ts";
import type { FromThread, ThreadData, ThreadOrder, ToThread } from "./thread-message.ts";

/** Sources and built package alike: the thread's main file stands beside this one and has the same ending. */
const mainFile = new URL(`./thread-main${import.meta.url.slice(import.meta.url.lastIndexOf("."))}`, import.meta.url);

/** Node refuses to run a file under this flag, which a thread of `node --input-type=module --eval` would inherit. */
const isEvalFlagged = process.execArgv.some((argument) => argument.startsWith("--input-type"));

/** Receives what the job of an attempt logs, reports and asks. */
export interface ThreadServices {
  readonly onTaskLog?: OnTaskLog | undefined;
  readonly onReport?: OnReport | undefined;
  readonly ask?: AskOwner | undefined;
}

export interface JobThreadOptions {
  readonly logger: Logger;
  readonly resourceLimits?: ResourceLimits;
}

/**
 * A thread that runs one attempt at a time, and keeps the process alive only while it does. It uses a message port of its
 * own, so messages that a job posts to its parent thread have no effect.
 */
export class JobThread {
  readonly #thread: Thread;
  readonly #port: MessagePort;
  readonly #logger: Logger;
  #order: ThreadOrder | undefined;
  #services: ThreadServices = {};
  #settle: ((outcome: Outcome) => void) | undefined;
  #alive = true;

  constructor({ logger, resourceLimits }: JobThreadOptions) {
    this.#logger = logger;
    const { port1, port2: port } = new MessageChannel();
    this.#port = port1;
    this.#thread = new Thread(mainFile, {
      workerData: { port } satisfies ThreadData,
      transferList: [port],
      ...(resourceLimits === undefined ? {} : { resourceLimits }),
      ...(isEvalFlagged ? { execArgv: [] } : {}),
    });
    this.#port.on("message", (message: FromThread) => this.#receive(message));
    this.#port.on("messageerror", () => void this.kill());
    this.#unref();
    this.#thread.on("error", (error) => this.#onCrash(error));
    this.#thread.on("exit", () => this.#onExit());
  }

  get alive(): boolean {
    return this.#alive;
  }

  /** Runs an attempt. Never rejects; the attempt is lost if the thread dies or is killed. */
  run(order: ThreadOrder, services: ThreadServices): Promise<Outcome> {
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    this.#order = order;
    this.#services = services;
    this.#settle = resolve;
    this.#thread.ref();
    this.#port.ref();
    try {
      this.#post({ type: "run", order });
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      const message = `the params of task "${order.run.taskName}" cannot be copied to a thread: ${problem}`;
      this.#end(failureOutcome(new EngineError("VALUE_NOT_SERIALIZABLE", message, { cause: error })));
    }
    return promise;
  }

  /** Aborts the job's signal, which it notices when it yields to its event loop. */
  abort({ name, message }: Error): void {
    this.#post({ type: "abort", reason: { name, message } });
  }

  /** Terminates the thread, even if it is in an endless loop. */
  async kill(): Promise<void> {
    this.#alive = false;
    await this.#thread.terminate();
  }

  #post(message: ToThread): void {
    this.#port.postMessage(message, []);
  }

  #receive(message: FromThread): void {
    if (message.type === "ended") this.#end(message.outcome);
    else if (message.type === "log") this.#log(message);
    else if (!this.#isRunning(message.attemptId)) return;
    else if (message.type === "asked") void this.#answer(message);
    else this.#services.onReport?.(message.attemptId, message.report);
  }

  async #answer({ attemptId, question, body }: NumberedQuestion): Promise<void> {
    const answered = await answerQuestion(this.#services.ask, this.#order?.run, { question, body });
    if (this.#isRunning(attemptId)) this.#post({ type: "answered", ...answered });
  }

  /** False for a job that keeps running after the end of its attempt, beside the next one in the same thread. */
  #isRunning(attemptId: string): boolean {
    return this.#order?.run.attemptId === attemptId;
  }

  /** Logs a line. Passes it on without the fields of the attempt, unless the attempt has ended. */
  #log({ attemptId, level, fields, message }: Extract<FromThread, { type: "log" }>): void {
    this.#logger[level](fields, message);
    if (this.#order === undefined || !this.#isRunning(attemptId)) return;
    const { run } = this.#order;
    const { taskName, attempt } = run;
    const names = { namespace: namespaceOf(run.instanceId), instanceId: localName(run.instanceId) };
    const bound = { ...names, workflowName: localName(run.workflowName), taskName, attempt };
    const own = Object.fromEntries(Object.entries(fields).filter(([name]) => !(name in bound)));
    this.#services.onTaskLog?.({ attemptId, ...bound, at: Date.now(), level, message, fields: own });
  }

  #onCrash(error: unknown): void {
    this.#alive = false;
    const { taskName, attemptId } = this.#order?.run ?? {};
    this.#logger.warn({ error, taskName, attemptId }, "a thread crashed");
  }

  #onExit(): void {
    this.#alive = false;
    this.#end({ kind: "lost" });
  }

  #end(outcome: Outcome): void {
    const settle = this.#settle;
    this.#order = undefined;
    this.#settle = undefined;
    this.#unref();
    settle?.(outcome);
  }

  #unref(): void {
    this.#thread.unref();
    this.#port.unref();
  }
}
