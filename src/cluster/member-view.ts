import type { MemberRole } from "./member-about.ts";

/** A member of the cluster, as people see it. */
export interface MemberView {
  readonly id: string;
  readonly address: string;
  readonly isSuspected: boolean;
  /** Empty until it has said so. */
  readonly roles: readonly MemberRole[];
  /** It takes no new tasks. */
  readonly isDraining: boolean;
  /** Number of shards it owns, as far as this member knows. */
  readonly shards: number;
  /** The one that was asked. */
  readonly isSelf: boolean;
  /** It has been there longest. It has no special duties. */
  readonly isOldest: boolean;
}
