import type { Clock, Timer } from "../base/clock.ts";
import type { Abort } from "../dispatch/abort.ts";

/** What runs a job outside the event loop of its worker. */
export interface StoppableRunner {
  /** Aborts the job's signal. */
  abort(reason: Error): void;
  kill(): Promise<void>;
}

/** Kills the runner of an aborted attempt that does not end within the grace period. The returned function ends the watch. */
export function stopOnAbort(
  abort: Abort,
  runner: StoppableRunner,
  { clock, graceMs }: { clock: Clock; graceMs: number },
): () => void {
  let grace: Timer | undefined;
  const stop = (): void => {
    runner.abort(abort.signal.reason as Error);
    grace = clock.after(graceMs, () => void runner.kill());
  };
  abort.signal.addEventListener("abort", stop, { once: true });
  return () => {
    abort.signal.removeEventListener("abort", stop);
    grace?.cancel();
  };
}
