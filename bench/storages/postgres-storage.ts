import { randomUUID } from "node:crypto";
import { Client } from "pg";
import type { BareDriver, BenchStorage } from "./bench-storage.ts";
import { PostgresDriver } from "./postgres-driver.ts";

const endSessions = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = $1";

/** Databases on one server. */
export class PostgresStorage implements BenchStorage {
  readonly place: string;

  /** The address of a user who may make databases. */
  constructor(place: string) {
    this.place = place;
  }

  async inDatabase<T>(work: (address: string) => Promise<T>, copyOf?: string): Promise<T> {
    const name = `bench_${randomUUID().replaceAll("-", "")}`;
    await (copyOf === undefined ? this.#execute(`CREATE DATABASE ${name}`) : this.#copy(databaseOf(copyOf), name));
    try {
      return await work(this.#addressOf(name));
    } finally {
      await this.#execute(`DROP DATABASE ${name} WITH (FORCE)`);
    }
  }

  async openDriver(address: string, use: { shards: Iterable<number>; atOnce: number }): Promise<BareDriver> {
    return await PostgresDriver.open(address, use);
  }

  /** A process that was killed may have left sessions behind, and a database that is in use is not copied. */
  async #copy(from: string, to: string): Promise<void> {
    await this.#execute(endSessions, from);
    await this.#execute(`CREATE DATABASE ${to} TEMPLATE ${from}`);
  }

  #addressOf(database: string): string {
    const url = new URL(this.place);
    url.pathname = `/${database}`;
    return url.href;
  }

  async #execute(sql: string, ...values: string[]): Promise<void> {
    const client = new Client({ connectionString: this.place });
    await client.connect();
    try {
      await client.query(sql, values);
    } finally {
      await client.end();
    }
  }
}

function databaseOf(address: string): string {
  return new URL(address).pathname.slice(1);
}
