import { createHash } from "node:crypto";
import type { SessionUse } from "../sql/sql-driver.ts";

/** The server keeps 63 bytes of `application_name`, in plain ASCII. */
const nameLengthMax = 63;
const plain = /^[\x21-\x7e]+$/;

/** Returns the `application_name` of a session in `pg_stat_activity`, unique per member, also for ids that it cannot hold. */
export function sessionName(use: SessionUse, member: string | undefined): string {
  if (member === undefined) return `heddle ${use}`;
  const name = `heddle ${use} ${member}`;
  if (plain.test(member) && name.length <= nameLengthMax) return name;
  return `heddle ${use} #${createHash("sha256").update(member, "utf16le").digest("hex").slice(0, 32)}`;
}
