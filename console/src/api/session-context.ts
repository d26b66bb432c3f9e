import { createContext, useContext } from "react";
import type { Role } from "../../../src/api/route.ts";
import type { Session } from "../../../src/api/session.ts";

export interface SessionState {
  readonly session: Session;
  readonly signOut: () => void;
}

export const SessionContext = createContext<SessionState | null>(null);

export function useSession(): SessionState {
  const state = useContext(SessionContext);
  if (state === null) throw new Error("a page is shown within a session");
  return state;
}

/** True if the caller has the role: what would be refused is not shown. */
export function useMay(needed: Extract<Role, "operator" | "admin">): boolean {
  const { role } = useSession().session;
  return role === "admin" || role === needed;
}
