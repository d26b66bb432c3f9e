import { randomUUID } from "node:crypto";
import { type Connection, createConnection, type RowDataPacket } from "mysql2/promise";
import type { BareDriver, BenchStorage } from "./bench-storage.ts";
import { MysqlDriver } from "./mysql-driver.ts";

/** Of every table of a database those columns that are written, and not made by the server from others. */
const writtenColumns = `
  SELECT table_name AS name, GROUP_CONCAT('\`', column_name, '\`' ORDER BY ordinal_position) AS columns
  FROM information_schema.columns
  WHERE table_schema = ? AND extra NOT LIKE '%GENERATED%'
  GROUP BY table_name`;

interface Table extends RowDataPacket {
  readonly name: string;
  readonly columns: string;
}

/** Databases on one server. */
export class MysqlStorage implements BenchStorage {
  readonly place: string;

  /** The address of a user who may make databases. */
  constructor(place: string) {
    this.place = place;
  }

  async inDatabase<T>(work: (address: string) => Promise<T>, copyOf?: string): Promise<T> {
    const name = `bench_${randomUUID().replaceAll("-", "")}`;
    await this.#withConnection(async (connection) => {
      await connection.query(`CREATE DATABASE ${name}`);
      if (copyOf !== undefined) await copy(connection, databaseOf(copyOf), name);
    });
    try {
      return await work(this.#addressOf(name));
    } finally {
      await this.#withConnection(async (connection) => await connection.query(`DROP DATABASE ${name}`));
    }
  }

  async openDriver(address: string, use: { shards: Iterable<number>; atOnce: number }): Promise<BareDriver> {
    return await MysqlDriver.open(address, use);
  }

  #addressOf(database: string): string {
    const url = new URL(this.place);
    url.pathname = `/${database}`;
    return url.href;
  }

  async #withConnection(work: (connection: Connection) => Promise<unknown>): Promise<void> {
    const connection = await createConnection(this.place);
    try {
      await work(connection);
    } finally {
      await connection.end();
    }
  }
}

async function copy(connection: Connection, from: string, to: string): Promise<void> {
  const [tables] = await connection.query<Table[]>(writtenColumns, [from]);
  for (const { name, columns } of tables) {
    await connection.query(`CREATE TABLE ${to}.${name} LIKE ${from}.${name}`);
    await connection.query(`INSERT INTO ${to}.${name} (${columns}) SELECT ${columns} FROM ${from}.${name}`);
  }
}

function databaseOf(address: string): string {
  return new URL(address).pathname.slice(1);
}
