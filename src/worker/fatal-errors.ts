import { AsyncLocalStorage } from "node:async_hooks";

/** Listens to the fatal errors of some running code, for example of an attempt's job. */
export interface FatalErrorListener<T = unknown> {
  /** Calls that code. */
  call(): T;
  /** Called when that code threw where nothing catches it, or left an unhandled rejection: the process ends. */
  onFatalError(error: unknown): void;
}

// Process-wide, as uncaught errors end the process: the running code's listener, and the number of listeners.
const current = new AsyncLocalStorage<FatalErrorListener>();
let listening = 0;

/** Calls a function without the async context of whoever happens to call. */
const outside = AsyncLocalStorage.snapshot();

/**
 * Makes the listener's call; fatal errors of the code, and of whatever follows from the call, are reported to it.
 * (`AsyncLocalStorage.run` would copy the async context of the caller twice, to enter and to leave.)
 */
export function callWithListener<T>(listener: FatalErrorListener<T>): T {
  return outside(enterAndCall<T>, listener);
}

function enterAndCall<T>(listener: FatalErrorListener<T>): T {
  current.enterWith(listener);
  return listener.call();
}

/** Reports the error to the listener of the code that runs, if it has one. */
export function reportFatalError(error: unknown): void {
  current.getStore()?.onFatalError(error);
}

/** Starts to notify listeners of fatal errors. This does not change how the process ends. */
export function startListening(): void {
  if (listening++ === 0) process.on("uncaughtExceptionMonitor", reportFatalError);
}

export function stopListening(): void {
  if (--listening === 0) process.off("uncaughtExceptionMonitor", reportFatalError);
}
