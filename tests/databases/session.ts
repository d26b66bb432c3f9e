import { createConnection } from "mysql2/promise";
import { Client } from "pg";

/** A connection of a test's own: what it has locked stays locked until it ends its transaction, or itself. */
export interface Session {
  run(sql: string): Promise<unknown[]>;
  end(): Promise<void>;
}

export async function newSession(url: string): Promise<Session> {
  return url.startsWith("postgres") ? await postgresSession(url) : await mysqlSession(url);
}

async function postgresSession(url: string): Promise<Session> {
  const client = new Client({ connectionString: url });
  // A server that goes away ends the session; whoever uses it next hears of that.
  client.on("error", () => undefined);
  await client.connect();
  return {
    run: async (sql) => (await client.query<Record<string, unknown>>(sql)).rows,
    end: () => client.end(),
  };
}

async function mysqlSession(url: string): Promise<Session> {
  const connection = await createConnection(url);
  connection.on("error", () => undefined);
  return {
    run: async (sql) => {
      const [rows] = await connection.query(sql);
      return Array.isArray(rows) ? rows : [];
    },
    end: () => connection.end(),
  };
}
