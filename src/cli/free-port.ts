import { createServer } from "node:net";

const triesMax = 50;

/** The port, or the next one after it that nobody listens on. */
export async function freePort(host: string, port: number): Promise<number> {
  for (let candidate = port; candidate < port + triesMax && candidate <= 65_535; candidate++) {
    if (await isFree(host, candidate)) return candidate;
  }
  // The server says best what is the matter.
  return port;
}

function isFree(host: string, port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const probe = createServer();
  // Any other problem is not one of the port.
  probe.once("error", (error: NodeJS.ErrnoException) => resolve(error.code !== "EADDRINUSE"));
  probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(true)));
  return promise;
}
