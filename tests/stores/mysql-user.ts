import { randomUUID } from "node:crypto";
import type { TestContext } from "node:test";
import { execute, serverUrl } from "../databases/databases.ts";

export interface MysqlUser {
  readonly name: string;
  readonly password: string;
  /** The database, as that user reaches it. */
  readonly url: string;
}

/** Somebody who may log in and nothing else. Goes after the database, which must be made before. */
export async function newMysqlUser(t: TestContext, database: string): Promise<MysqlUser> {
  const [name, password] = [`u_${randomUUID().replaceAll("-", "").slice(0, 20)}`, randomUUID()];
  const server = serverUrl("mysql");
  await execute(server, `CREATE USER ${name}@'%' IDENTIFIED BY '${password}'`);
  t.after(async () => void (await execute(server, `DROP USER ${name}@'%'`)));
  const url = new URL(database);
  url.username = name;
  url.password = password;
  return { name, password, url: url.href };
}
