/** `server`: it takes calls and owns shards. `worker`: tasks run in its process. */
export type MemberRole = "server" | "worker";

/** Facts that a member publishes with every heartbeat, for people to read. Only the roles decide something: where shards are placed. */
export interface MemberAbout {
  readonly roles: readonly MemberRole[];
  /** True while the member takes no new tasks. */
  readonly isDraining: boolean;
  /** The version of Heddle that it runs; empty if it is not known. */
  readonly version: string;
}

export function rolesOf(ownsShards: boolean, runsJobs: boolean): MemberRole[] {
  return [...(ownsShards ? (["server"] as const) : []), ...(runsJobs ? (["worker"] as const) : [])];
}

/** Facts that a member publishes for other members, not for people. */
export interface MemberFacts {
  /** The member is about to leave, so others place no shards on it. */
  readonly isLeaving: boolean;
  /** Its pool, from which others may ask for slots. */
  readonly pool: PublishedPool;
  /** The number of hosts of code that have connected to it so far; absent or 0 while none is connected. */
  readonly code?: number;
}

export interface PublishedPool {
  readonly slots: number;
  readonly free: number;
}

export function formatAbout(about: MemberAbout, { isLeaving, pool, code = 0 }: MemberFacts): string {
  return JSON.stringify({ ...about, ...(isLeaving && { isLeaving }), pool, ...(code > 0 && { code }) });
}

/** The members to which hosts of code are connected, and how many have connected so far. */
export function codeAmong(
  members: readonly { readonly id: string; readonly about: string }[],
): { readonly member: string; readonly code: number }[] {
  return members.flatMap(({ id, about }) => {
    const { code } = objectOf(about);
    return typeof code === "number" && code > 0 ? [{ member: id, code }] : [];
  });
}

/** The pools of the members that take tasks of others. */
export function poolsAmong(
  members: readonly { readonly id: string; readonly about: string }[],
): ({ readonly member: string } & PublishedPool)[] {
  return members.flatMap(({ id, about }) => {
    const { pool, isDraining, isLeaving } = objectOf(about);
    if (isDraining === true || isLeaving === true || typeof pool !== "object" || pool === null) return [];
    const { slots, free } = pool as Partial<PublishedPool>;
    return typeof slots === "number" && typeof free === "number" && slots > 0 ? [{ member: id, slots, free }] : [];
  });
}

/** The members that shards are placed on: those with the role `server`. If no member publishes it, those without any role. */
export function serversAmong(members: readonly { readonly id: string; readonly about: string }[]): string[] {
  const published = members.map(({ id, about }) => ({ id, roles: parseAbout(about).roles }));
  const servers = published.filter(({ roles }) => roles.includes("server"));
  return (servers.length > 0 ? servers : published.filter(({ roles }) => roles.length === 0)).map(({ id }) => id);
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
