import { findChromium } from "./chromium.ts";
import { startMariadb } from "./mariadb-server.ts";
import { startNats } from "./nats-server.ts";
import { type DatabaseServer, startPostgres } from "./postgres-server.ts";

const servers: Readonly<Record<string, () => Promise<DatabaseServer>>> = {
  HEDDLE_TEST_POSTGRES_URL: startPostgres,
  HEDDLE_TEST_MYSQL_URL: startMariadb,
  HEDDLE_TEST_NATS_URL: startNats,
};

/** A terminal tells everybody at once; the servers are stopped in order, once the work has ended. */
const onSignal = (): void => undefined;

/**
 * Does the work with the addresses of real servers in the environment: those that are given there already, or
 * else servers of our own, which are gone afterwards, whatever came of the work.
 */
export async function withTestServers<T>(work: () => T | Promise<T>): Promise<T> {
  const started: DatabaseServer[] = [];
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, onSignal);
  try {
    await Promise.all(
      Object.entries(servers).map(async ([variable, start]) => {
        if (process.env[variable]) return;
        const server = await start();
        started.push(server);
        process.env[variable] = server.url;
      }),
    );
    // The tests of the console start the browser themselves; here it is installed where it is missing.
    process.env["HEDDLE_TEST_CHROMIUM"] ??= findChromium();
    return await work();
  } finally {
    for (const { process: server } of started) {
      await server.stop();
      server.remove();
    }
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, onSignal);
  }
}
