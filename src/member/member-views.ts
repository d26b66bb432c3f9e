import { type MemberAbout, parseAbout } from "../cluster/member-about.ts";
import type { MemberView } from "../cluster/member-view.ts";
import type { MemberRow } from "../stores/store.ts";
import { oldestOf } from "./join-stamp.ts";

/** What the member that answers knows beyond the rows. */
export interface KnownToMember {
  readonly self: { readonly id: string; readonly about: MemberAbout; readonly shards: number };
  readonly isSuspected: (member: string) => boolean;
  readonly shardsOf: (member: string) => number;
}

export function memberViews(
  members: readonly MemberRow[],
  { self, isSuspected, shardsOf }: KnownToMember,
): MemberView[] {
  const oldest = oldestOf(members);
  return members.map(({ id, address, about }) => ({
    id,
    address,
    ...(id === self.id ? self.about : parseAbout(about)),
    isSuspected: isSuspected(id),
    shards: id === self.id ? self.shards : shardsOf(id),
    isSelf: id === self.id,
    isOldest: id === oldest,
  }));
}
