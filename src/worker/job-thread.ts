import { type ResourceLimits, Worker as Thread } from "node:worker_threads";
import { EngineError } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { OnTaskLog } from "../dispatch/task-log.ts";
import type { OnProgress } from "../dispatch/task-progress.ts";
import type { Outcome } from "../kernel/input.ts";
import { failureOutcome } from "./call-job.ts";
import type { FromThread, ThreadOrder, ToThread } from "./thread-message.ts";

/** Sources and built package alike: the thread's main file stands beside this one and has the same ending. */
const mainFile = new URL(`./thread-main${import.meta.url.slice(import.meta.url.lastIndexOf("."))}`, import.meta.url);

/** Node refuses to run a file under this flag, which a thread of `node --input-type=module --eval` would inherit. */
const isEvalFlagged = process.execArgv.some((argument) => argument.startsWith("--input-type"));

export interface JobThreadOptions {
  readonly logger: Logger;
  readonly resourceLimits?: ResourceLimits;
}

/** A thread that runs one attempt at a time, and keeps the process alive only while it does. */
export class JobThread {
  readonly #thread: Thread;
  readonly #logger: Logger;
  #order: ThreadOrder | undefined;
  #onTaskLog: OnTaskLog | undefined;
  #onProgress: OnProgress | undefined;
  #settle: ((outcome: Outcome) => void) | undefined;
  #alive = true;

  constructor({ logger, resourceLimits }: JobThreadOptions) {
    this.#logger = logger;
    this.#thread = new Thread(mainFile, {
      ...(resourceLimits === undefined ? {} : { resourceLimits }),
      ...(isEvalFlagged ? { execArgv: [] } : {}),
    });
    this.#thread.unref();
    this.#thread.on("message", (message: FromThread) => this.#receive(message));
    this.#thread.on("messageerror", () => void this.kill());
    this.#thread.on("error", (error) => this.#crashed(error));
    this.#thread.on("exit", () => this.#exited());
  }

  get alive(): boolean {
    return this.#alive;
  }

  /** Never rejects. A thread that dies, or is killed, meanwhile has lost the attempt. */
  run(order: ThreadOrder, onTaskLog?: OnTaskLog, onProgress?: OnProgress): Promise<Outcome> {
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    this.#order = order;
    this.#onTaskLog = onTaskLog;
    this.#onProgress = onProgress;
    this.#settle = resolve;
    this.#thread.ref();
    try {
      this.#post({ type: "run", order });
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      const message = `the params of task "${order.run.taskName}" cannot be copied to a thread: ${problem}`;
      this.#end(failureOutcome(new EngineError("VALUE_NOT_SERIALIZABLE", message, { cause: error })));
    }
    return promise;
  }

  /** The job sees its signal abort, if it lets the thread look. */
  abort({ name, message }: Error): void {
    this.#post({ type: "abort", reason: { name, message } });
  }

  /** Ends the thread whatever it does, even if it spins. */
  async kill(): Promise<void> {
    this.#alive = false;
    await this.#thread.terminate();
  }

  #post(message: ToThread): void {
    this.#thread.postMessage(message, []);
  }

  #receive(message: FromThread): void {
    if (message.type === "ended") this.#end(message.outcome);
    else if (message.type === "log") this.#log(message);
    else if (this.#order !== undefined) this.#onProgress?.(this.#order.run.attemptId, message.progress);
  }

  /** The job's own fields have its attempt's among them; a line that comes after the attempt's end is only logged. */
  #log({ level, fields, message }: Extract<FromThread, { type: "log" }>): void {
    this.#logger[level](fields, message);
    if (this.#order === undefined) return;
    const { attemptId, instanceId, workflowName, taskName, attempt } = this.#order.run;
    const bound = { instanceId, workflowName, taskName, attempt };
    const own = Object.fromEntries(Object.entries(fields).filter(([name]) => !(name in bound)));
    this.#onTaskLog?.({ attemptId, ...bound, at: Date.now(), level, message, fields: own });
  }

  #crashed(error: unknown): void {
    this.#alive = false;
    const { taskName, attemptId } = this.#order?.run ?? {};
    this.#logger.warn({ error, taskName, attemptId }, "a thread crashed");
  }

  #exited(): void {
    this.#alive = false;
    this.#end({ kind: "lost" });
  }

  #end(outcome: Outcome): void {
    const settle = this.#settle;
    this.#order = undefined;
    this.#settle = undefined;
    this.#thread.unref();
    settle?.(outcome);
  }
}
