import { execFileSync } from "node:child_process";

/** Whom a server runs as; empty for whoever runs this. */
export interface Account {
  readonly uid?: number;
  readonly gid?: number;
}

/** Root runs a server as the user that its package made. */
export function accountFor(user: string): Account {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string): number => Number(execFileSync("id", [flag, user], { encoding: "utf8" }));
  return { uid: id("-u"), gid: id("-g") };
}
