import type { MemberRole } from "./member-about.ts";

/** A member of the cluster, as people see it. */
export interface MemberView {
  readonly id: string;
  readonly address: string;
  readonly isSuspected: boolean;
  /** Empty until its first heartbeat with roles. */
  readonly roles: readonly MemberRole[];
  /** True while the member takes no new tasks. */
  readonly isDraining: boolean;
  /** The version of Heddle that it runs; empty until its first heartbeat with one. */
  readonly version: string;
  /** Number of shards it owns, as far as this member knows. */
  readonly shards: number;
  /** True for the member that answers the query. */
  readonly isSelf: boolean;
  /** True for the member that joined first. It has no special duties. */
  readonly isOldest: boolean;
}
