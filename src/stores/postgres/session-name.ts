import { createHash } from "node:crypto";
import type { SessionUse } from "../sql/sql-driver.ts";

/** The server keeps so many bytes of `application_name`, and plain ASCII only. */
const nameLengthMax = 63;
const plain = /^[\x21-\x7e]+$/;

/** Under this name a session stands in `pg_stat_activity`. It tells members apart, also those with odd ids. */
export function sessionName(use: SessionUse, member: string | undefined): string {
  if (member === undefined) return `heddle ${use}`;
  const name = `heddle ${use} ${member}`;
  if (plain.test(member) && name.length <= nameLengthMax) return name;
  return `heddle ${use} #${createHash("sha256").update(member, "utf16le").digest("hex").slice(0, 32)}`;
}
