import { randomUUID } from "node:crypto";
import type { TestContext } from "node:test";
import { execute, serverUrl } from "../databases/databases.ts";

export interface PostgresUser {
  readonly name: string;
  readonly password: string;
  /** The database, as that user reaches it. */
  readonly url: string;
}

/** Somebody who may log in and nothing else. Goes after the database, which must be made before. */
export async function newPostgresUser(t: TestContext, database: string): Promise<PostgresUser> {
  const [name, password] = [`u_${randomUUID().replaceAll("-", "")}`, randomUUID()];
  const server = serverUrl("postgres");
  await execute(server, `CREATE ROLE ${name} LOGIN PASSWORD '${password}'`);
  t.after(async () => void (await execute(server, `DROP ROLE ${name}`)));
  const url = new URL(database);
  url.username = name;
  url.password = password;
  return { name, password, url: url.href };
}
