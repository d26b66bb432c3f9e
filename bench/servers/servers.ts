import { type DatabaseServer, startPostgres } from "../../scripts/servers/postgres-server.ts";
import { startMysql } from "./mysql-server.ts";
import { startRedis } from "./redis-server.ts";
import { startRestate } from "./restate-server.ts";

const starts = {
  postgresql: startPostgres,
  mysql: startMysql,
  redis: startRedis,
  restate: startRestate,
} as const satisfies Record<string, () => Promise<DatabaseServer>>;

export type ServerName = keyof typeof starts;

/** Servers of our own, each started when it is first asked for, with its own port and temporary folder. */
export class Servers {
  readonly #started = new Map<ServerName, DatabaseServer>();

  /** Its address. */
  async urlOf(name: ServerName): Promise<string> {
    const server = this.#started.get(name) ?? (await starts[name]());
    this.#started.set(name, server);
    return server.url;
  }

  async stop(): Promise<void> {
    for (const { process: server } of this.#started.values()) await server.stop();
    this.#started.clear();
  }

  /** For a process that is about to exit: they get the signal before it returns. */
  kill(): void {
    for (const { process: server } of this.#started.values()) void server.kill();
  }
}
