import type { LogFields, Logger } from "../base/logger.ts";
import type { RunIdentity } from "./attempt-context.ts";

/** A logger whose every line says which attempt it comes from. */
export class AttemptLog implements Logger {
  readonly #logger: Logger;
  readonly #bound: LogFields;

  constructor(logger: Logger, { instanceId, workflowName, taskName, attempt }: RunIdentity) {
    this.#logger = logger;
    this.#bound = { instanceId, workflowName, taskName, attempt };
  }

  debug(fields: LogFields, message: string): void {
    this.#logger.debug({ ...fields, ...this.#bound }, message);
  }

  info(fields: LogFields, message: string): void {
    this.#logger.info({ ...fields, ...this.#bound }, message);
  }

  warn(fields: LogFields, message: string): void {
    this.#logger.warn({ ...fields, ...this.#bound }, message);
  }

  error(fields: LogFields, message: string): void {
    this.#logger.error({ ...fields, ...this.#bound }, message);
  }
}
