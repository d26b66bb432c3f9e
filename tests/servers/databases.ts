import { randomUUID } from "node:crypto";
import { createConnection } from "mysql2/promise";
import { Client } from "pg";

export type ServerKind = "postgres" | "mysql";

/** The part of a test's context, or of `node:test` itself, that cleans up. */
interface Cleaner {
  after(work: () => Promise<void>): void;
}

const variables: Readonly<Record<ServerKind, string>> = {
  postgres: "HEDDLE_TEST_POSTGRES_URL",
  mysql: "HEDDLE_TEST_MYSQL_URL",
};

/** The address of a new, empty database on the test server; it is dropped when the test is over. */
export async function newDatabase(kind: ServerKind, t: Cleaner): Promise<string> {
  const server = serverUrl(kind);
  const name = `t_${randomUUID().replaceAll("-", "")}`;
  await execute(server, `CREATE DATABASE ${name}`);
  t.after(
    async () => void (await execute(server, `DROP DATABASE ${name}${kind === "postgres" ? " WITH (FORCE)" : ""}`)),
  );
  return urlOf(server, name);
}

/** The address of the test server itself, of a user who may do everything. */
export function serverUrl(kind: ServerKind): string {
  const url = process.env[variables[kind]];
  if (url) return url;
  throw new Error(`${variables[kind]} is not set: "npm test -- <file>" starts the servers that tests need`);
}

export function urlOf(server: string, database: string): string {
  const url = new URL(server);
  url.pathname = `/${database}`;
  return url.href;
}

/** Runs one statement on a connection of its own, as an administrator would. */
export async function execute(url: string, sql: string): Promise<unknown[]> {
  if (url.startsWith("postgres")) {
    const client = new Client({ connectionString: url });
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(sql)).rows;
    } finally {
      await client.end();
    }
  }
  const connection = await createConnection(url);
  try {
    const [rows] = await connection.query(sql);
    return Array.isArray(rows) ? rows : [];
  } finally {
    await connection.end();
  }
}
