import { AsyncLocalStorage } from "node:async_hooks";

/** The owner of running code, for example the attempt of a job. */
export interface FatalErrorOwner {
  /** Called when the owner's code threw where nothing catches it, or left an unhandled rejection: the process ends. */
  onFatalError(error: unknown): void;
}

// Process-wide, as uncaught errors end the process: the running code's owner, and the number of listeners.
const current = new AsyncLocalStorage<FatalErrorOwner>();
let listening = 0;

/** Calls code of the owner: its errors, and those of whatever follows from the call, are reported to the owner. */
export function callOwned<T>(owner: FatalErrorOwner, call: () => T): T {
  return current.run(owner, call);
}

/** Reports the error to the owner of the code that runs, if it has one. */
export function reportFatalError(error: unknown): void {
  current.getStore()?.onFatalError(error);
}

/** Starts to notify owners of fatal errors. This does not change how the process ends. */
export function startListening(): void {
  if (listening++ === 0) process.on("uncaughtExceptionMonitor", reportFatalError);
}

export function stopListening(): void {
  if (--listening === 0) process.off("uncaughtExceptionMonitor", reportFatalError);
}
