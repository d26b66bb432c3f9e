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

/** Runs statements on a connection of their own, as an administrator would. Gives what the last one gave. */
export async function execute(url: string, ...statements: readonly string[]): Promise<unknown[]> {
  let rows: unknown[] = [];
  if (url.startsWith("postgres")) {
    const client = new Client({ connectionString: url });
    // A server that goes away ends the connection; the statement that uses it hears of that.
    client.on("error", () => undefined);
    await client.connect();
    try {
      for (const sql of statements) ({ rows } = await client.query<Record<string, unknown>>(sql));
      return rows;
    } finally {
      await client.end();
    }
  }
  const connection = await createConnection(url);
  connection.on("error", () => undefined);
  try {
    for (const sql of statements) {
      const [result] = await connection.query(sql);
      rows = Array.isArray(result) ? result : [];
    }
    return rows;
  } finally {
    await connection.end();
  }
}
