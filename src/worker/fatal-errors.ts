import { AsyncLocalStorage } from "node:async_hooks";

/** Listens to the fatal errors of some running code, for example of an attempt's job. */
export interface FatalErrorListener {
  /** Called when that code threw where nothing catches it, or left an unhandled rejection: the process ends. */
  onFatalError(error: unknown): void;
}

// Process-wide, as uncaught errors end the process: the running code's listener, and the number of listeners.
const current = new AsyncLocalStorage<FatalErrorListener>();
let listening = 0;

/** Calls code whose fatal errors, and those of whatever follows from the call, are reported to the listener. */
export function callWithListener<T>(listener: FatalErrorListener, call: () => T): T {
  return current.run(listener, call);
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
