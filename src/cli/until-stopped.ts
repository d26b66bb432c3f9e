import { exitCodes } from "./exit-code.ts";

const signals = ["SIGINT", "SIGTERM"] as const;

/** A process started by npm receives each Ctrl-C twice: from the terminal and from npm. */
const echoMs = 1000;

/** A server or worker with a graceful stop. */
interface Stoppable {
  stop(): Promise<void>;
}

/**
 * Waits for a signal, or for `ended`, then for the graceful stop. A second signal exits at once; the next start then runs
 * the interrupted attempts again.
 */
export async function untilStopped(
  running: Stoppable,
  { ended, onSignal }: { ended?: Promise<unknown>; onSignal: () => void },
): Promise<void> {
  const { promise: signalled, resolve } = Promise.withResolvers<void>();
  let askedAt: number | undefined;
  const onStopSignal = (): void => {
    const now = performance.now();
    if (askedAt === undefined) {
      askedAt = now;
      onSignal();
      resolve();
    } else if (now - askedAt > echoMs) {
      process.exit(exitCodes.interrupted);
    }
  };
  for (const signal of signals) process.on(signal, onStopSignal);
  try {
    await Promise.race(ended === undefined ? [signalled] : [signalled, ended]);
    await running.stop();
  } finally {
    for (const signal of signals) process.removeListener(signal, onStopSignal);
  }
}
