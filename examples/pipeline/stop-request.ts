/** Longer than npm and the terminal take to deliver the same Ctrl-C twice. */
const patienceMs = 1000;

/** The wish to stop, from the terminal or from whoever runs this. Who insists gets an end at once: nothing is lost by it. */
export class StopRequest {
  readonly requested: Promise<NodeJS.Signals>;

  constructor() {
    const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
    this.requested = promise;
    let firstAt: number | undefined;
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
      process.on(signal, () => {
        firstAt ??= Date.now();
        if (Date.now() - firstAt > patienceMs) process.exit(1);
        resolve(signal);
      });
    }
    // Whoever reads our output has left, as `head` does.
    process.stdout.on("error", () => resolve("SIGHUP"));
  }
}
