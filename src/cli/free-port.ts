import { createServer } from "node:net";

const triesMax = 50;

/** Finds the first free port, beginning with the given one. */
export async function freePort(host: string, port: number): Promise<number> {
  for (let candidate = port; candidate < port + triesMax && candidate <= 65_535; candidate++) {
    if (await isFree(host, candidate)) return candidate;
  }
  // No port is free: the server reports the problem when it tries to listen.
  return port;
}

function isFree(host: string, port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const probe = createServer();
  // Any other error is not about the port.
  probe.once("error", (error: NodeJS.ErrnoException) => resolve(error.code !== "EADDRINUSE"));
  probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(true)));
  return promise;
}
