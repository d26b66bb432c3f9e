import { exitCodes } from "./exit-code.ts";

const signals = ["SIGINT", "SIGTERM"] as const;

/** A second signal within this time may be the first one, passed on. People press a key again later than that. */
const echoMs = 300;

/** A server or worker with a graceful stop. */
interface Stoppable {
  stop(): Promise<void>;
}

/** A process started by npm or by `dev --watch` receives each Ctrl-C twice: from the terminal and from the one that started it. */
function isEchoPossible(): boolean {
  return process.env["npm_lifecycle_event"] !== undefined || process.connected;
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
    } else if (now - askedAt > echoMs || !isEchoPossible()) {
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
