import type { OwnerTable } from "../cluster/owner-table.ts";
import type { ShardKeeper } from "../cluster/shard-keeper.ts";
import type { Hint } from "../runtime/call.ts";
import type { HostedAttempts } from "../runtime/hosted-attempts.ts";
import type { Region } from "../runtime/region.ts";
import type { MemberSharing } from "./member-sharing.ts";

/** The parts of a member that hints of others are for. */
export interface HintTakers {
  readonly region: Pick<Region, "receive" | "noteProgress">;
  readonly hosted: Pick<HostedAttempts, "drop">;
  readonly sharing: MemberSharing;
  readonly keeper: Pick<ShardKeeper, "onFreed" | "onLeaving" | "onOpened">;
  readonly owners: Pick<OwnerTable, "onOpened">;
}

export function takeHint(hint: Hint, { region, hosted, sharing, keeper, owners }: HintTakers): void {
  switch (hint.type) {
    case "OutboxMessage":
      return region.receive(hint.row);
    case "AbortAttempts":
      return hosted.drop(hint.attemptIds);
    case "AttemptProgress":
      return region.noteProgress(hint.host, hint.reports);
    case "FreeSlot":
      return sharing.slots.free(hint.ticket);
    case "CodeTurnsOver":
      return sharing.code?.drop(hint.owner, hint.numbers);
    case "MemberLeaving":
      return keeper.onLeaving(hint.member);
    case "ShardFreed":
      return keeper.onFreed(hint.shard);
    case "ShardOpened":
      for (const opened of [hint, ...(hint.more ?? [])]) {
        owners.onOpened({ ...opened, owner: hint.owner });
        keeper.onOpened(opened.shard);
      }
  }
}
