import { MessageChannel, type MessagePort, type ResourceLimits, Worker as Thread } from "node:worker_threads";
import { EngineError } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { Outcome } from "../kernel/input.ts";
import { failureOutcome } from "./call-job.ts";
import type { FromRunner, JobOrder, ThreadData, ToRunner } from "./order-message.ts";
import { type OrderServices, SentOrder } from "./sent-order.ts";

/** Sources and built package alike: the thread's main file stands beside this one and has the same ending. */
const mainFile = new URL(`./thread-main${import.meta.url.slice(import.meta.url.lastIndexOf("."))}`, import.meta.url);

/** Node refuses to run a file under this flag, which a thread of `node --input-type=module --eval` would inherit. */
const isEvalFlagged = process.execArgv.some((argument) => argument.startsWith("--input-type"));

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
  #sent: SentOrder | undefined;
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
    this.#port.on("message", (message: FromRunner) => this.#receive(message));
    this.#port.on("messageerror", () => void this.kill());
    this.#unref();
    this.#thread.on("error", (error) => this.#onCrash(error));
    this.#thread.on("exit", () => this.#onExit());
  }

  get alive(): boolean {
    return this.#alive;
  }

  /** Runs an attempt. Never rejects; the attempt is lost if the thread dies or is killed. */
  run(order: JobOrder, services: OrderServices): Promise<Outcome> {
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    this.#sent = new SentOrder(order, services, (message) => this.#post(message));
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

  #post(message: ToRunner): void {
    this.#port.postMessage(message, []);
  }

  #receive(message: FromRunner): void {
    if (message.type === "ended") return this.#end(message.outcome);
    if (message.type === "log") this.#logger[message.level](message.fields, message.message);
    this.#sent?.receive(message);
  }

  #onCrash(error: unknown): void {
    this.#alive = false;
    const { taskName, attemptId } = this.#sent?.order.run ?? {};
    this.#logger.warn({ error, taskName, attemptId }, "a thread crashed");
  }

  #onExit(): void {
    this.#alive = false;
    this.#end({ kind: "lost" });
  }

  #end(outcome: Outcome): void {
    const settle = this.#settle;
    this.#sent?.end();
    this.#sent = undefined;
    this.#settle = undefined;
    this.#unref();
    settle?.(outcome);
  }

  #unref(): void {
    this.#thread.unref();
    this.#port.unref();
  }
}
