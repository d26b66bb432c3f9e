import type { Role } from "./route.ts";

/** Path of the console's session: GET reads it, POST with `{token}` opens it, DELETE ends it. */
export const sessionPath = "/api/session";

/** The caller behind a browser's requests, and what the console needs to know of the server. */
export interface Session {
  readonly name: string;
  readonly role: Role;
  /** The namespace that the token is bound to, or `default`. */
  readonly namespace: string;
  /** True if the token acts in no other namespace. */
  readonly isBound: boolean;
  /** True if no token exists, and every local user is an admin. */
  readonly isOpen: boolean;
  readonly version: string;
  /** The server's time, in epoch milliseconds: running durations are counted by its clock. */
  readonly now: number;
}
