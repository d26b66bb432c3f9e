import { createHash } from "node:crypto";
import { joined, list, type Literal, sql, text, whole } from "./literal.ts";
import { statements } from "./statement.ts";

/** More than a member has connections for commits, because the server may not have noticed yet that some are gone. */
const namesPerMember = 16;

/**
 * Connections have no names on these servers, but may hold named locks, and anybody may ask which connection holds one.
 * So a connection for commits takes the first lock that is free of those with its member's name, and whoever removes the
 * member finds it by that. The lock goes with the connection. Names of locks are the whole server's, and short.
 */
function namesOf(member: string, database: string): Literal[] {
  const hash = createHash("sha256").update(JSON.stringify([database, member]));
  const prefix = `heddle:${hash.digest("hex").slice(0, 32)}`;
  return Array.from({ length: namesPerMember }, (_, index) => text(`${prefix}:${index}`));
}

/** Names the connection that runs it. */
export function takeName(member: string, database: string): Literal {
  const taken = namesOf(member, database).map((name) => sql`WHEN GET_LOCK(${name}, 0) = 1 THEN 1`);
  return statements.get("name-session").with(joined(taken, sql` `));
}

/** Gives the ids of a member's connections, if the member is there and has not moved on. */
export function findNamed(who: { member: string; ifBeat: number; database: string }): Literal {
  const ids = namesOf(who.member, who.database).map((name) => sql`IS_USED_LOCK(${name})`);
  return statements.get("find-sessions").with(list(ids), text(who.member), whole(who.ifBeat));
}
