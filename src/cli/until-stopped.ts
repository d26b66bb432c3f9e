import { exitCodes } from "./exit-code.ts";

const signals = ["SIGINT", "SIGTERM"] as const;

/** Started by npm, a process hears each Ctrl-C twice: from the terminal and from npm. */
const echoMs = 1000;

/** What is asked to end, and ends in good order. */
interface Stoppable {
  stop(): Promise<void>;
}

/**
 * Waits for a signal, or for the server to end by itself, and then for everything to be put down in good order. A second
 * signal ends the process at once: what runs is then found and done again by the next start.
 */
export async function untilStopped(
  running: Stoppable,
  { ended, onSignal }: { ended?: Promise<unknown>; onSignal: () => void },
): Promise<void> {
  const { promise: signalled, resolve } = Promise.withResolvers<void>();
  let askedAt: number | undefined;
  const hear = (): void => {
    const now = performance.now();
    if (askedAt === undefined) {
      askedAt = now;
      onSignal();
      resolve();
    } else if (now - askedAt > echoMs) {
      process.exit(exitCodes.interrupted);
    }
  };
  for (const signal of signals) process.on(signal, hear);
  try {
    await Promise.race(ended === undefined ? [signalled] : [signalled, ended]);
    await running.stop();
  } finally {
    for (const signal of signals) process.removeListener(signal, hear);
  }
}
