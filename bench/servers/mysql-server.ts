import { createConnection } from "mysql2/promise";
import { startMariadb } from "../../scripts/servers/mariadb-server.ts";
import type { DatabaseServer } from "../../scripts/servers/postgres-server.ts";

/** The definition of 100,000 nodes has 19 MB, and as MariaDB comes it takes in 16 at once. */
const packetBytes = 64 * 2 ** 20;

export async function startMysql(): Promise<DatabaseServer> {
  const server = await startMariadb();
  const connection = await createConnection(server.url);
  await connection.query(`SET GLOBAL max_allowed_packet = ${packetBytes}`);
  await connection.end();
  return server;
}
