import { createHash } from "node:crypto";
import { join, list, type Literal, sql, text, whole } from "./literal.ts";
import { statements } from "./statement.ts";

/** Number of names per member: more than it has connections for commits, because the server may not have noticed lost ones. */
const namesPerMember = 16;

/**
 * Connections have no names on these servers, but can hold named locks, whose holders are visible to all. So a connection
 * for commits takes the first free lock with its member's name, by which the member that removes it finds the connection.
 * The lock ends with the connection. Names of locks are shared by the whole server, and at most 64 characters long.
 */
function namesOf(member: string, database: string): Literal[] {
  const hash = createHash("sha256").update(JSON.stringify([database, member]));
  const prefix = `heddle:${hash.digest("hex").slice(0, 32)}`;
  return Array.from({ length: namesPerMember }, (_, index) => text(`${prefix}:${index}`));
}

/** Returns the SQL by which a connection takes its member's name. */
export function takeName(member: string, database: string): Literal {
  const taken = namesOf(member, database).map((name) => sql`WHEN GET_LOCK(${name}, 0) = 1 THEN 1`);
  return statements.get("name-session").with(join(taken, sql` `));
}

/** Returns the SQL for the ids of a member's connections, if the member's heartbeat is still that number. */
export function findNamed(who: { member: string; ifHeartbeat: number; database: string }): Literal {
  const ids = namesOf(who.member, who.database).map((name) => sql`IS_USED_LOCK(${name})`);
  return statements.get("find-sessions").with(list(ids), text(who.member), whole(who.ifHeartbeat));
}
