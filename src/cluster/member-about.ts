/** `server`: it takes calls and owns shards. `worker`: tasks run in its process. */
export type MemberRole = "server" | "worker";

/** Facts that a member publishes with every heartbeat, for people to read. Nothing is decided by them. */
export interface MemberAbout {
  readonly roles: readonly MemberRole[];
  /** True while the member takes no new tasks. */
  readonly isDraining: boolean;
  /** The version of Heddle that it runs; empty if it is not known. */
  readonly version: string;
}

/** `isLeaving`: the member is about to leave, so others place no shards on it. That is for members, not for people. */
export function formatAbout(about: MemberAbout, isLeaving: boolean): string {
  return JSON.stringify(isLeaving ? { ...about, isLeaving } : about);
}

/** The ids of the members that publish that they are about to leave. */
export function leaversAmong(members: readonly { readonly id: string; readonly about: string }[]): string[] {
  return members.filter(({ about }) => objectOf(about)["isLeaving"] === true).map(({ id }) => id);
}

/** A text of another version of Heddle may lack something, or hold more. */
export function parseAbout(text: string): MemberAbout {
  const { roles, isDraining, version } = objectOf(text);
  return {
    roles: Array.isArray(roles) ? roles.filter((role) => role === "server" || role === "worker") : [],
    isDraining: isDraining === true,
    version: typeof version === "string" ? version : "",
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
