/** `server`: it takes calls and owns shards. `worker`: tasks run in its process. */
export type MemberRole = "server" | "worker";

/** Facts that a member publishes with every heartbeat, for people to read. Nothing is decided by it. */
export interface MemberAbout {
  readonly roles: readonly MemberRole[];
  /** True while the member takes no new tasks. */
  readonly isDraining: boolean;
}

export function formatAbout(about: MemberAbout): string {
  return JSON.stringify(about);
}

/** A text of another version of Heddle may lack something, or hold more. */
export function parseAbout(text: string): MemberAbout {
  const { roles, isDraining } = objectOf(text);
  return {
    roles: Array.isArray(roles) ? roles.filter((role) => role === "server" || role === "worker") : [],
    isDraining: isDraining === true,
  };
}

function objectOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
