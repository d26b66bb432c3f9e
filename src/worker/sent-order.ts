import type { LogLevel } from "../base/context-log.ts";
import type { LogFields, Logger } from "../base/logger.ts";
import { localName, namespaceOf } from "../base/namespace.ts";
import { answerQuestion, type AskOwner, type NumberedQuestion } from "../dispatch/attempt-question.ts";
import type { OnReport } from "../dispatch/attempt-report.ts";
import type { OnTaskLog } from "../dispatch/task-log.ts";
import type { FromRunner, JobOrder, ToRunner } from "./order-message.ts";

/** Receives what the job of an attempt logs, reports and asks. */
export interface OrderServices {
  readonly onTaskLog?: OnTaskLog | undefined;
  readonly onReport?: OnReport | undefined;
  readonly ask?: AskOwner | undefined;
}

/** An attempt that was sent to a thread or a child process: handles what its job sends until the attempt has ended. */
export class SentOrder {
  readonly order: JobOrder;
  readonly #services: OrderServices;
  readonly #send: (message: ToRunner) => void;
  #isOver = false;

  constructor(order: JobOrder, services: OrderServices, send: (message: ToRunner) => void) {
    this.order = order;
    this.#services = services;
    this.#send = send;
  }

  end(): void {
    this.#isOver = true;
  }

  /** Ignores what comes from the job of an earlier attempt, which keeps running beside this one. */
  receive(message: Exclude<FromRunner, { type: "ended" }>): void {
    if (this.#isOver || message.attemptId !== this.order.run.attemptId) return;
    if (message.type === "log") this.log(message.level, message.fields, message.message);
    else if (message.type === "asked") void this.#answer(message);
    else this.#services.onReport?.(message.attemptId, message.report);
  }

  /** Passes a line on without the fields of the attempt. */
  log(level: LogLevel, fields: LogFields, message: string): void {
    const { run } = this.order;
    const bound = boundFields(this.order);
    const own = Object.fromEntries(Object.entries(fields).filter(([name]) => !(name in bound)));
    this.#services.onTaskLog?.({ attemptId: run.attemptId, ...bound, at: Date.now(), level, message, fields: own });
  }

  async #answer({ question, body }: NumberedQuestion): Promise<void> {
    const answered = await answerQuestion(this.#services.ask, this.order.run, { question, body });
    if (!this.#isOver) this.#send({ type: "answered", ...answered });
  }
}

/** Logs a line of a process as `ctx.log` would. */
export function logOutput(
  sent: SentOrder,
  logger: Logger,
  line: { level: LogLevel; stream: string; text: string },
): void {
  logger[line.level]({ stream: line.stream, ...boundFields(sent.order) }, line.text);
  sent.log(line.level, { stream: line.stream }, line.text);
}

function boundFields({ run }: JobOrder) {
  const names = { namespace: namespaceOf(run.instanceId), instanceId: localName(run.instanceId) };
  return { ...names, workflowName: localName(run.workflowName), taskName: run.taskName, attempt: run.attempt };
}
