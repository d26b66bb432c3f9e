import { AsyncLocalStorage } from "node:async_hooks";
import { messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";

// Process-wide, as unhandled rejections are: the code that runs, and the number of listeners.
const current = new AsyncLocalStorage<UnhandledRejections>();
let listening = 0;
let reportFatalError: ((error: unknown) => void) | undefined;

/**
 * Handles promises in the code of workflows that are rejected while nothing awaits them. Code that starts two things
 * and awaits them one after the other may come to the second one days later, so such a rejection must not end the
 * process, which is what Node does.
 */
export class UnhandledRejections {
  readonly #logger: Logger;
  readonly #onFatalError: (error: unknown) => void;
  /**
   * The async context of this object, entered once: each further `run` would copy all async storages of the process.
   */
  readonly #surroundings = current.run(this, () => AsyncLocalStorage.snapshot());
  #isListening = false;

  /** `onFatalError` is called, in the surroundings of the code at fault, with what is about to end the process. */
  constructor(logger: Logger, onFatalError: (error: unknown) => void) {
    this.#logger = logger;
    this.#onFatalError = onFatalError;
  }

  start(): void {
    this.#isListening = true;
    reportFatalError = this.#onFatalError;
    if (listening++ === 0) process.on("unhandledRejection", onUnhandledRejection);
  }

  stop(): void {
    if (!this.#isListening) return;
    this.#isListening = false;
    if (--listening === 0) process.off("unhandledRejection", onUnhandledRejection);
  }

  /** Marks the call, and whatever follows from it, as a workflow's code. */
  within<T>(call: () => T): T {
    return this.#surroundings(call);
  }

  heard(reason: unknown): void {
    this.#logger.warn(
      { error: messageOf(reason) },
      "a promise in the code of a workflow failed while nobody waited for it: await what is started, or gather it with ctx.all()",
    );
  }
}

/** Treats any other code's rejection as Node would without this listener. */
function onUnhandledRejection(reason: unknown): void {
  const owner = current.getStore();
  if (owner !== undefined) return owner.heard(reason);
  const isDecidedByUser = process.execArgv.some((arg) => arg.startsWith("--unhandled-rejections"));
  if (isDecidedByUser || process.listenerCount("unhandledRejection") > 1) return;
  // Reported here, because an error that a listener throws has lost its async context.
  reportFatalError?.(reason);
  throw reason instanceof Error
    ? reason
    : new Error(`a promise was rejected with ${String(reason)}`, { cause: reason });
}
